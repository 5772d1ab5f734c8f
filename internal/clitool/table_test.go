package clitool_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A birdsOut is a list of birds.
type birdsOut struct {
	tool.Aside `json:"-"`
	Birds      []bird `json:"birds"`
}

type bird struct {
	Name    string         `json:"name"`
	Seen    time.Time      `json:"last_seen_at"`
	Gone    *string        `json:"gone_at,omitempty" format:"date-time"`
	Ringed  int64          `json:"ringed_at,omitempty" format:"unix-ms"`
	Fields  map[string]any `json:"fields,omitempty"`
	Song    string         `json:"song_text" title:"song"`
	Matches [][2]int       `json:"matches,omitempty"`
}

type birdsIn struct {
	tool.Vault
	Kind  string `json:"kind,omitempty"`
	Where string `json:"where,omitempty"`
	tool.Page
}

// now is the time of the shell: a Wednesday, in a zone west of UTC.
var now = time.Date(2026, 3, 4, 15, 30, 0, 0, time.FixedZone("", -3*3600))

// aviary returns a shell with a list of these birds.
func aviary(t *testing.T, width int, birds ...bird) *shell {
	list := tool.New(tool.Spec{
		Name: "birds_list", Title: "List birds", Doc: "Lists birds.", Role: auth.Reader,
		Family:   &tool.Family{Name: "birds"},
		Commands: []tool.Command{{Words: "birds", Args: []string{"kind?"}}},
		Columns:  []string{"name", "last_seen_at", "gone_at", "ringed_at", "fields", "song_text"},
		Marks:    map[string]string{"song_text": "matches"},
		Empty: []tool.Empty{
			{Of: "birds of kind {kind}", Tool: "books_book_new", Args: map[string]string{"title": "{kind} book"}},
			{Of: "birds"},
		},
	}, func(context.Context, auth.Caller, birdsIn) (birdsOut, error) {
		return birdsOut{Birds: append([]bird{}, birds...)}, nil
	})
	s := newShell(t, append(tooltest.SampleTools(), list))
	s.app.Terminal, s.app.Width = true, width
	s.app.Now = func() time.Time { return now }
	s.env["NO_COLOR"] = "1"
	return s
}

func ago(d time.Duration) bird { return bird{Name: "owl", Seen: now.Add(-d).UTC()} }

func TestTimesAreAsPeopleReadThem(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		passed time.Duration
		want   string
	}{
		{0, "just now"}, {59 * time.Second, "just now"}, {-time.Second, "in a moment"},
		{time.Minute, "1 minute ago"}, {59 * time.Minute, "59 minutes ago"},
		{3 * time.Hour, "3 hours ago"}, {-5 * time.Hour, "in 5 hours"},
		{15 * time.Hour, "today 00:30"}, {16 * time.Hour, "yesterday 23:30"},
		{25 * time.Hour, "yesterday 14:30"}, {-13 * time.Hour, "tomorrow 04:30"},
		{2 * day, "Monday 15:30"}, {6 * day, "Thursday 15:30"}, {7 * day, "2026-02-25"},
		{-9 * day, "2026-03-13"},
	} {
		_, out, errs := aviary(t, 80, ago(c.passed)).run("birds")
		require.Contains(t, out, "owl   "+c.want, errs)
	}
	s := aviary(t, 80, ago(time.Hour))
	for _, flags := range [][]string{{"--json"}, {"--bare"}} {
		_, out, _ := s.run(append([]string{"birds"}, flags...)...)
		require.Contains(t, out, `"last_seen_at": "2026-03-04T17:30:00Z"`)
	}
	ringed := bird{Name: "owl", Seen: now, Ringed: now.Add(-2 * time.Hour).UnixMilli()}
	_, out, errs := aviary(t, 80, ringed).run("birds")
	require.Contains(t, out, "owl   just now   2 hours ago", errs)
	require.Contains(t, out, "name  last seen  ringed")
	s.app.Terminal = false
	_, out, _ = s.run("birds")
	require.Equal(t, "name\tlast_seen_at\tsong_text\nowl\t2026-03-04T17:30:00Z\t\n", out)
}

// TestHeadingsAreWords checks that names in the schema are shown as words on a terminal, and that
// names given by people are not changed.
func TestHeadingsAreWords(t *testing.T) {
	gone := "2026-03-04T17:30:00Z"
	s := aviary(t, 100, bird{Name: "owl", Seen: now.AddDate(0, -1, 0), Gone: &gone,
		Fields: map[string]any{"wing_span": "1m", "hatched_at": "2020-01-02T03:04:05Z"}})
	_, out, _ := s.run("birds")
	lines := strings.Split(out, "\n")
	require.Equal(t, "name  last seen   gone        fields                                         song", lines[0])
	require.Equal(t, "owl   2026-02-04  1 hour ago  hatched_at=2020-01-02T03:04:05Z, wing_span=1m", lines[2])
}

// TestTablesFit checks that no line is wider than the terminal, that cut cells are marked, and that
// --wide and pipes cut nothing.
func TestTablesFit(t *testing.T) {
	songs := []bird{
		{Name: "owl", Seen: now, Song: strings.Repeat("hoo ", 50)},
		{Name: strings.Repeat("梟", 9), Seen: now, Song: strings.Repeat("ホウ", 60)},
		{Name: strings.Repeat("e\u0301", 30), Seen: now, Song: strings.Repeat("o\u0302", 80)},
		{Name: "🦉", Seen: now, Song: strings.Repeat("🎵", 70)},
	}
	for _, width := range []int{40, 60, 80, 120} {
		s := aviary(t, width, songs...)
		_, out, errs := s.run("birds")
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		require.Len(t, lines, 2+len(songs), errs)
		for _, line := range lines {
			require.LessOrEqual(t, cells(line), width, line)
		}
		for i, line := range lines[2:] {
			require.True(t, strings.HasSuffix(line, "…"), line)
			require.Contains(t, line, "just now", "a time is whole")
			require.NotContains(t, line, songs[i].Song)
		}
		_, out, _ = s.run("birds", "--wide")
		for _, b := range songs {
			require.Contains(t, out, b.Name)
			require.Contains(t, out, strings.TrimSpace(b.Song))
		}
		s.app.Terminal = false
		_, out, _ = s.run("birds")
		for _, b := range songs {
			require.Contains(t, out, b.Name+"\t")
			require.Contains(t, out, "\t"+strings.TrimSpace(b.Song)+"\n")
		}
	}
}

// cells returns the number of terminal columns of the characters used in the tests.
func cells(line string) int {
	n := 0
	for _, r := range line {
		switch {
		case r >= 0x300 && r < 0x370:
		case r >= 0x1100 && r != '…' && r != '─':
			n += 2
		default:
			n++
		}
	}
	return n
}

// TestNarrowTerminals checks that a table becomes a list if the terminal is too narrow.
func TestNarrowTerminals(t *testing.T) {
	s := aviary(t, 20, bird{Name: "owl", Seen: now.Add(-30 * time.Minute), Song: "hoo hoo"})
	_, out, _ := s.run("birds")
	require.Equal(t, "- name: owl\n  last seen: 30 minutes ago\n  song: hoo hoo\n", out)
}

// TestMarksAreShown checks that the marked part of a text is visible, and in bold if colours are
// used.
func TestMarksAreShown(t *testing.T) {
	song := strings.Repeat("la ", 60) + "cuckoo" + strings.Repeat(" la", 60)
	at := strings.Index(song, "cuckoo")
	s := aviary(t, 60, bird{Name: "cuckoo", Seen: now, Song: song, Matches: [][2]int{{at, at + 6}}})
	_, out, _ := s.run("birds")
	require.Contains(t, out, "…la la la cuckoo la la")
	require.NotContains(t, out, "\x1b")
	s.env["NO_COLOR"] = ""
	_, out, _ = s.run("birds")
	require.Contains(t, out, "la \x1b[1mcuckoo\x1b[0m la")
	require.NotContains(t, out, "\ufffd")
}

// birdsToken is a page token in the form in which an answer of a call without other arguments
// contains it.
const birdsToken = "cDI6QNRFq3OIDs_cTC0WJBESNEQTb6NVs2eKeA"

// TestEmptyListsSayWhatIsMissing checks the message for an empty list: for people, with and without
// filters, and for programs.
func TestEmptyListsSayWhatIsMissing(t *testing.T) {
	s := aviary(t, 80)
	for line, want := range map[string]string{
		"birds":                            "no birds\n",
		"birds owl":                        "no birds of kind owl yet; make one: rookery book new \"owl book\"\n",
		"birds owl --where here":           "no birds of kind owl with --where\n",
		"birds --where here --limit 5":     "no birds with --where\n",
		"birds --page-token " + birdsToken: "",
		"birds owl --json --where here":    "",
	} {
		_, out, errs := s.run(strings.Fields(line)...)
		if strings.Contains(line, "--json") {
			require.True(t, strings.HasPrefix(out, "{"), out)
			continue
		}
		require.Equal(t, want, out, line)
		require.Empty(t, errs)
	}
	s.app.Terminal = false
	_, out, errs := s.run("birds")
	require.Empty(t, out+errs)
	s.app.Progress = true
	_, out, errs = s.run("birds")
	require.Empty(t, out)
	require.Equal(t, "no birds\n", errs)
}

// TestOnlyShowsWhatItNames checks that every selected member of a list is shown, whatever the list
// is called, in the order of the selection.
func TestOnlyShowsWhatItNames(t *testing.T) {
	s := aviary(t, 80, bird{Name: "owl", Seen: now, Song: "hoo"})
	for _, field := range []string{"name", "last_seen_at", "gone_at", "fields", "song_text", "matches"} {
		for _, s.app.Terminal = range []bool{true, false} {
			_, out, errs := s.run("birds", "--only", field)
			require.NotEmpty(t, out, errs)
		}
	}
	s.app.Terminal = false
	_, out, _ := s.run("birds", "--only", "song_text,gone_at", "--only", "name")
	require.Equal(t, "song_text\tgone_at\tname\nhoo\t\towl\n", out)
}
