package localapp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/localapp"
)

// TestCapture checks that `add` follows the settings of raven.yaml and schema.yaml for daily notes
// and quick captures.
func TestCapture(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		to    string
		path  string
		want  string
	}{
		{
			name: "plain", path: "daily/2026-03-02.md",
			want: "---\ntype: date\n---\n\n# Monday, March 2, 2026\n\n- x\n",
		},
		{
			name:  "heading and time",
			files: map[string]string{"raven.yaml": "capture: {heading: Log, timestamp: true}\n"},
			path:  "daily/2026-03-02.md",
			want:  "---\ntype: date\n---\n\n# Monday, March 2, 2026\n\n## Log\n\n- 14:30 x\n",
		},
		{
			name: "destination",
			files: map[string]string{
				"raven.yaml": "capture: {destination: inbox.md}\n", "inbox.md": "# Inbox\n\n- a\n",
			},
			path: "inbox.md", want: "# Inbox\n\n- a\n- x\n",
		},
		{
			name:  "template as text, of another day",
			files: map[string]string{"raven.yaml": "daily_template: \"# {{weekday}} {{date}}\\n\"\n"},
			to:    "tomorrow", path: "daily/2026-03-03.md",
			want: "---\ntype: date\n---\n\n# Tuesday 2026-03-03\n\n- x\n",
		},
		{
			name: "template as a note",
			files: map[string]string{
				"raven.yaml":         "daily_template: templates/day.md\ndaily_directory: log\n",
				"templates/day.md":   "---\ntype: page\n---\n# {{title}}\n\n## Notes\n",
				"log/2026-03-01.md":  "---\ntype: date\n---\n",
				"rookery.yaml":       "timezone: Asia/Tokyo\n",
				"log/2026-02-28.md":  "x\n",
				"projects/a-plan.md": "x\n",
			},
			path: "log/2026-03-02.md",
			want: "---\ntype: date\n---\n\n# Monday, March 2, 2026\n\n## Notes\n\n- x\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := time.Date(2026, 3, 2, 14, 30, 0, 0, time.UTC)
			if c.files["rookery.yaml"] != "" {
				now = now.Add(-9 * time.Hour) // the same clock, in that zone
			}
			app, err := openApp(t.Context(), localapp.Config{
				Data: t.TempDir(), Now: func() time.Time { return now },
			})
			require.NoError(t, err)
			defer func() { require.NoError(t, app.Close()) }()
			must(t, local{app}, "team_vault_create", args{"name": "v"})
			var notes []args
			for path, text := range c.files {
				notes = append(notes, args{"path": path, "text": text})
			}
			if notes != nil {
				must(t, local{app}, "team_vault_import", args{"notes": notes})
			}
			in := args{"text": "x"}
			if c.to != "" {
				in["to"] = c.to
			}
			must(t, local{app}, "raven_add", in)
			got := into[struct{ Content string }](t, must(t, local{app}, "raven_read", args{"path": c.path}))
			require.Equal(t, c.want, got.Content)
		})
	}
}

// TestNewDay checks that the template of a daily note which `new` creates uses the day of the note,
// and not today.
func TestNewDay(t *testing.T) {
	app, err := openApp(t.Context(), localapp.Config{
		Data: t.TempDir(), Now: func() time.Time { return time.Date(2026, 3, 2, 14, 30, 0, 0, time.UTC) },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, app.Close()) }()
	must(t, local{app}, "team_vault_create", args{"name": "v"})
	must(t, local{app}, "team_vault_import", args{"notes": []args{
		{"path": "schema.yaml", "text": "core: { date: { default_template: day } }\n" +
			"templates: { day: { file: templates/day.md } }\n"},
		{"path": "templates/day.md", "text": "# {{weekday}} {{datetime}}\n"},
	}})
	must(t, local{app}, "raven_new", args{"type": "daily", "title": "2026-03-04"})
	got := into[struct{ Content string }](t,
		must(t, local{app}, "raven_read", args{"path": "2026-03-04"}))
	require.Equal(t, "---\ntype: date\n---\n\n# Wednesday 2026-03-04T14:30\n", got.Content)
}
