package query_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/query"
)

// short are short names of the notes of the small vault.
var short = strings.NewReplacer("people/freya", "F", "people/thor", "T", "people/loki", "L", "projects/mill", "M",
	"projects/bridge", "B", "projects/idle", "I", "daily/2026-03-02", "D2", "daily/2026-03-03", "D3",
	"notes/größe", "G", "notes/empty", "E")

// labels are what a query finds, as the file of the known answers writes it.
func labels(items []query.Item) string {
	var all []string
	for _, i := range items {
		switch i.Kind {
		case query.Traits:
			t := i.Trait
			all = append(all, short.Replace(fmt.Sprintf("%s/%s:%d", t.Type, t.Note.ID, t.Line())))
		case query.Links:
			all = append(all, short.Replace(fmt.Sprintf("link/%s:%d", i.Object.Note.ID, i.Link.Line)))
		default:
			all = append(all, short.Replace(i.ID()))
		}
	}
	return strings.Join(all, " ")
}

// A knownAnswer is a query, and what it finds or the code of its error.
type knownAnswer struct{ text, want, code string }

func knownAnswers(t testing.TB) []knownAnswer {
	t.Helper()
	data, err := os.ReadFile("testdata/answers.txt")
	require.NoError(t, err)
	return readAnswers(data)
}

// readAnswers reads the lines of a file of known answers.
func readAnswers(data []byte) []knownAnswer {
	var all []knownAnswer
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		if text, want, ok := strings.Cut(line, " => "); ok {
			all = append(all, knownAnswer{text: text, want: strings.TrimSpace(want)})
		} else if text, code, ok := strings.Cut(line, " !! "); ok {
			all = append(all, knownAnswer{text: text, code: code})
		}
	}
	return all
}

func TestKnownAnswers(t *testing.T) {
	answers := knownAnswers(t)
	require.GreaterOrEqual(t, len(answers), 120)
	areAnswered(t, smallVault(t), answers)
}

// TestKnownEdges covers rules that need other notes than those of the small vault.
func TestKnownEdges(t *testing.T) {
	for _, name := range []string{"edges", "tasks"} {
		data, err := os.ReadFile("testdata/" + name + ".txt")
		require.NoError(t, err)
		files := txtar.Parse(data).Files
		last := len(files) - 1
		areAnswered(t, newVault(files[:last]), readAnswers(files[last].Data))
	}
}

// areAnswered covers that each query finds what it is to find.
func areAnswered(t *testing.T, v *testVault, answers []knownAnswer) {
	t.Helper()
	for _, a := range answers {
		q, err := query.Parse(a.text)
		var items []query.Item
		if err == nil {
			items, err = query.Select(q, v.state)
		}
		got, code := labels(items), ""
		if err != nil {
			code = string(fault.Of(err).Code)
		}
		if got != a.want || code != a.code {
			t.Errorf("%s\nwant %s%s\ngot  %s%s %v", a.text, a.want, a.code, got, code, err)
		}
	}
}
