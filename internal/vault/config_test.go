package vault_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

func TestConfigDefaults(t *testing.T) {
	for _, text := range []string{"", "# none\n", "auto_reindex: true\nworkflows: {a: {b: c}}\n"} {
		c, err := vault.ParseConfig([]byte(text), nil)
		require.NoError(t, err)
		require.Equal(t, vault.Config{
			DailyDirectory: "daily", Capture: vault.Capture{Destination: "daily"},
			Deletion: vault.Deletion{Behavior: "trash", TrashDir: ".trash"},
			Timezone: "UTC", Zone: time.UTC, WeekStart: time.Monday, Language: "english",
		}, c)
	}
}

func TestConfigErasOfDailyDirectory(t *testing.T) {
	for _, text := range []string{
		"daily_directory: journal/days\n",
		"daily_directory: journal/days/\n",
		"directories:\n  type: x\n  pages: y\n  daily: journal/days\n",
		"directories: {daily: journal/days/, type: type, page: page}\n",
	} {
		c, err := vault.ParseConfig([]byte(text), nil)
		require.NoError(t, err)
		require.Equal(t, "journal/days", c.DailyDirectory)
		require.Equal(t, vault.Path("journal/days/2026-03-02.md"), c.DailyPath("2026-03-02"))
		day, ok := c.IsDaily("journal/days/2026-03-02.md")
		require.True(t, ok)
		require.Equal(t, vault.Date("2026-03-02"), day)
		for _, id := range []string{"2026-03-02", "daily/2026-03-02"} {
			to, ok := c.DailyID(id)
			require.True(t, ok)
			require.Equal(t, "journal/days/2026-03-02", to)
		}
	}
}

func TestDirectories(t *testing.T) {
	c, err := vault.ParseConfig([]byte("directories: {type: o, pages: p/, templates: t, daily: /}\n"), nil)
	require.NoError(t, err)
	require.Equal(t, vault.Directories{Type: "o/", Page: "p/", Template: "t/"}, c.Directories)
	require.Equal(t, vault.Path("2026-03-02.md"), c.DailyPath("2026-03-02"))
	require.True(t, c.IsTemplate("T/x.md"), "the case of a folder does not count")
	require.False(t, c.IsTemplate("tx.md"))
	for _, key := range []string{"object", "objects"} {
		_, err := vault.ParseConfig([]byte("directories: {"+key+": x}\n"), nil)
		require.True(t, fault.Is(err, fault.SchemaError), "%v", err)
	}
}

func TestConfig(t *testing.T) {
	c, err := vault.ParseConfig([]byte(`capture:
  destination: inbox.md
  heading: "## Captured"
  timestamp: true
  reindex: false
deletion: {behavior: permanent, trash_dir: .bin}
daily_template: templates/day.md
exclude: [node_modules/, "*.tmp.md"]
protected_prefixes:
  - templates/
queries:
  tasks:
    types: [project]
    traits: [due, status]
    filters: {status: todo, due: past}
    tags: [work]
    description: Open tasks
  open: {query: "trait:status .value==todo", args: [who]}
  short: type:person
`), []byte("timezone: Europe/Vienna\nweek_start: Sunday\n"))
	require.NoError(t, err)
	require.Equal(t, vault.Capture{Destination: "inbox.md", Heading: "## Captured", Timestamp: true},
		c.Capture)
	require.Equal(t, vault.Deletion{Behavior: "permanent", TrashDir: ".bin"}, c.Deletion)
	require.Equal(t, "templates/day.md", c.DailyTemplate)
	require.Equal(t, []string{"node_modules/", "*.tmp.md"}, c.Exclude)
	require.Equal(t, []string{"templates/"}, c.Protected)
	require.Equal(t, []vault.Query{
		{
			Name: "tasks", Description: "Open tasks", Types: []string{"project"},
			Traits:  []string{"due", "status"},
			Filters: map[string]string{"status": "todo", "due": "past"}, Tags: []string{"work"},
		},
		{Name: "open", Query: "trait:status .value==todo", Args: []string{"who"}},
		{Name: "short", Query: "type:person"},
	}, c.Queries)
	require.Equal(t, "Europe/Vienna", c.Zone.String())
	require.Equal(t, time.Sunday, c.Clock(time.Time{}).WeekStart)
}

func TestConfigProblems(t *testing.T) {
	rows := []struct{ raven, rookery, file, says string }{
		{"a: [\n", "", "raven.yaml", "not valid YAML"},
		{"- a\n", "", "raven.yaml", "mapping"},
		{"daily_directory: ../x\n", "", "raven.yaml", "folder of the vault"},
		{"capture: {timestamp: soon}\n", "", "raven.yaml", "true or false"},
		{"deletion: {behavior: shred}\n", "", "raven.yaml", "trash or permanent"},
		{"exclude: {a: b}\n", "", "raven.yaml", "list"},
		{"", "timezone: Mars/Base\n", "rookery.yaml", "IANA"},
		{"", "timezone: Local\n", "rookery.yaml", "IANA"},
		{"", "timezone: ../../etc/passwd\n", "rookery.yaml", "IANA"},
		{"", "timezone:\n", "rookery.yaml", "IANA"},
		{"", "week_start: someday\n", "rookery.yaml", "monday"},
		{"", "language: klingon\n", "rookery.yaml", "english (en), arabic (ar)"},
		{"", "language:\n", "rookery.yaml", "german (de)"},
	}
	for _, r := range rows {
		c, err := vault.ParseConfig([]byte(r.raven), []byte(r.rookery))
		require.True(t, fault.Is(err, fault.SchemaError), "%q %q", r.raven, r.rookery)
		require.Equal(t, r.file, fault.Of(err).Location.File)
		require.Positive(t, fault.Of(err).Location.Line)
		require.Contains(t, fault.Of(err).Message, r.says)
		require.Equal(t, "daily", c.DailyDirectory, "the rest has its defaults")
		require.Equal(t, time.UTC, c.Zone)
		require.Equal(t, vault.DefaultLanguage, c.Language)
	}
}

func TestLanguage(t *testing.T) {
	for text, name := range map[string]string{
		"german": "german", "German": "german", "de": "german", "de-AT": "german",
		"de_CH": "german", "pt-BR": "portuguese", "no": "norwegian", "nb": "norwegian",
		"\"en\"": "english",
	} {
		c, err := vault.ParseConfig(nil, []byte("language: "+text+"\n"))
		require.NoError(t, err, text)
		require.Equal(t, name, c.Language, text)
	}
	for _, name := range vault.Languages() {
		same, ok := vault.ParseLanguage(name)
		require.True(t, ok)
		require.Equal(t, name, same)
	}
	c, err := vault.ParseConfig([]byte("language: de\n"), nil)
	require.NoError(t, err, "raven.yaml has no such key")
	require.Equal(t, "english", c.Language)
	_, err = vault.ParseConfig(nil, []byte("timezone: UTC\n\nlanguage: klingon\n"))
	require.Equal(t, 3, fault.Of(err).Location.Line)
}

func TestSettings(t *testing.T) {
	require.NoError(t, vault.Settings{}.Check())
	require.NoError(t, vault.Settings{
		Timezone: "America/Argentina/Buenos_Aires", WeekStart: "saturday", Language: "de-AT",
	}.Check())
	for _, r := range []vault.Settings{
		{Timezone: "Nowhere"}, {WeekStart: "Mon"}, {Timezone: "Local"}, {Timezone: "a\nb: c"},
		{Language: "klingon"},
	} {
		err := r.Check()
		require.True(t, fault.Is(err, fault.InvalidParameter), "%v", r)
	}
	for _, name := range []string{"Europe/Vienna", "Etc/GMT+5", "UTC", ""} {
		c, err := vault.ParseConfig(nil, vault.Settings{
			Timezone: name, WeekStart: "sunday", Language: "de",
		}.Text())
		require.NoError(t, err)
		require.Equal(t, "german", c.Language)
		require.Equal(t, time.Sunday, c.WeekStart)
		if name != "" {
			require.Equal(t, name, c.Timezone)
		}
	}
	_, err := vault.ParseConfig(nil, vault.Settings{Timezone: "a\nweek_start: \"b"}.Text())
	require.Len(t, fault.Of(err).Errors, 0, "a setting cannot bring another one with it")
	require.Contains(t, err.Error(), "IANA")
	require.Empty(t, vault.Settings{}.Text())
}

func TestDailyNote(t *testing.T) {
	require.Equal(t, "---\ntype: date\n---\n\n# Monday, March 2, 2026\n", vault.DailyText("2026-03-02"))
	c, err := vault.ParseConfig(nil, nil)
	require.NoError(t, err)
	for _, p := range []vault.Path{
		"daily/2026-02-30.md", "daily/notes.md", "2026-03-02.md", "x/daily/2026-03-02.md",
		"daily/2026-03-02/a.md", "daily/2026-03-02",
	} {
		_, ok := c.IsDaily(p)
		require.False(t, ok, p)
	}
	_, ok := c.DailyID("people/freya")
	require.False(t, ok)
}
