package query_test

import (
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/vault"
)

// clock is the time at which queries are asked in the tests: a Monday.
var clock = vault.Clock{Now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Zone: time.UTC, WeekStart: time.Monday}

// begin is when the first file of a test vault came. Each came an hour after the one before it.
var begin = time.Date(2026, 2, 20, 10, 0, 0, 0, time.UTC)

// A testVault is a vault in memory.
type testVault struct {
	files map[string][]byte
	state query.State
}

// newVault makes a vault of files, in their order.
func newVault(files []txtar.File) *testVault {
	v := &testVault{files: map[string][]byte{}}
	idx := index.Empty()
	for i, f := range files {
		v.files[f.Name] = f.Data
		idx = idx.With(index.Commit{
			Seq: uint64(i + 1), Time: begin.Add(time.Duration(i) * time.Hour),
			Changes: []index.Change{{Path: f.Name, Text: f.Data}},
		})
	}
	v.state = query.State{Index: idx, Clock: clock, Search: v.search}
	return v
}

// search is the search index of the vault.
func (v *testVault) search() (*search.Index, func(string) ([]byte, error), error) {
	var changes []search.Change
	for n := range v.state.Index.Notes("") {
		text := v.files[n.Path]
		changes = append(changes, search.Change{Doc: n.Path, Note: &search.Note{
			Title: n.Title, Text: text, Body: n.BodyStart(), Sections: n.SearchSections(text),
		}})
	}
	return search.Empty("english").With(changes), func(path string) ([]byte, error) { return v.files[path], nil }, nil
}

func smallVault(t testing.TB) *testVault {
	t.Helper()
	data, err := os.ReadFile("testdata/vault.txt")
	require.NoError(t, err)
	return newVault(txtar.Parse(data).Files)
}
