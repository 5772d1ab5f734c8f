package notes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/table"
)

// A countedTable counts the requests that a table gets.
type countedTable struct {
	table.Table
	calls *atomic.Int64
}

func (c countedTable) Get(ctx context.Context, k table.Key) (table.Item, error) {
	c.calls.Add(1)
	return c.Table.Get(ctx, k)
}

func (c countedTable) Query(ctx context.Context, part, from, to string) iter.Seq2[table.Item, error] {
	c.calls.Add(1)
	return c.Table.Query(ctx, part, from, to)
}

// TestUnsafePathsReadNothing covers A17 64: a path that leads out of the vault costs no request of a store.
func TestUnsafePathsReadNothing(t *testing.T) {
	p := open(t, map[string]string{"a.md": "text"})
	p.bare(t, "notes_get", args{"path": "a.md"})
	before := p.calls.Load()
	for name, in := range map[string]args{
		"notes_get": {"path": "../a.md"}, "notes_outline": {"path": "/a.md"}, "notes_document_tree": {"path": "C:/a.md"},
		"notes_metadata_facets": {"path": "a/../../b"}, "notes_export": {"target": "../a.md"}, "notes_list": {"folder": ".."},
		"notes_search": {"query": "x", "folder": "/a"}, "notes_write": {"path": "../a.md", "content": "x"},
	} {
		f, _ := p.refused(t, name, in)
		require.Equal(t, "INVALID_PATH", string(f.Code))
		require.Equal(t, 400, f.HTTP())
		require.Equal(t, before, p.calls.Load(), name)
	}
	p.bare(t, "notes_get", args{"path": "a.md"})
	require.Greater(t, p.calls.Load(), before, "requests are counted")
}

// TestHaystack covers each field that a search for a text looks into, and those that it does not (A4).
func TestHaystack(t *testing.T) {
	inside := []string{"title", "intent", "source", "proposal_id", "target_path", "description", "summary", "network", "wallet_address",
		"tx_hash", "payment_status", "currency", "direction", "air_id", "tags"}
	outside := []string{"source_id", "entity", "project", "date", "other", "causal_chain_id", "kind"}
	files := map[string]string{"x/zebra-path.md": "", "x/body.md": "a zebra\n"}
	for _, name := range append(inside, outside...) {
		files["x/"+name+".md"] = "---\n" + name + ": a Zebra b\n---\ntext\n"
	}
	p := open(t, files)
	found := strings.Fields(p.pathsFound(t, args{"query": "ZEBRA", "keyword": true, "limit": 100}))
	require.ElementsMatch(t, append(inside, "zebra-path", "body"), found)
}

// TestTitlesOfRows covers titles that are no text (N7): a row has them as text, and null for an empty one.
func TestTitlesOfRows(t *testing.T) {
	p := open(t, map[string]string{
		"a.md": "---\ntitle: 42\n---\n", "b.md": "---\ntitle: [x, y]\n---\n", "c.md": "---\ntitle: ''\n---\n", "d.md": "---\ntitle:\n---\n",
		"e.md": "---\ntitle: true\nproject: ''\n---\n",
	})
	row := func(path, title string) string {
		return fmt.Sprintf(`{"path":%q,"title":%s,"project":null,"tags":[],"date":null}`, path, title)
	}
	require.Equal(t, `{"notes":[`+strings.Join([]string{
		row("a.md", `"42"`), row("b.md", `"x,y"`), row("c.md", "null"), row("d.md", "null"), row("e.md", `"true"`),
	}, ",")+`],"total":5}`, p.bare(t, "notes_list", args{"order": "path"}))
}

// TestFurtherFilters covers the filters that only JSON has at first, and bounds (N9, N10, N13, N15, N16).
func TestFurtherFilters(t *testing.T) {
	p := open(t, map[string]string{
		"a.md": "---\nnetwork: Base\nwallet_address: ' 0xAB '\npayment_status: Paid\n---\nword one\n", "b.md": "---\nnetwork: base2\n---\nword two\n",
		"meta/c.md": "word three\n", "x/Node_Modules/d.md": "word four\n",
		"long.md": "# T\n\nword " + strings.Repeat("日本語😀 ", 400),
	})
	for _, in := range []args{{"network": "bASE"}, {"wallet_address": "0xab"}, {"payment_status": " paid"}} {
		in["count_only"] = true
		require.Equal(t, `{"total":1}`, p.bare(t, "notes_list", in), "%v", in)
		in["query"], in["keyword"] = "word", true
		require.JSONEq(t, `{"count":1,"query":"word","mode":"keyword"}`, p.bare(t, "notes_search", in), "%v", in)
		in["keyword"] = false
		require.JSONEq(t, `{"count":1,"query":"word","mode":"keyword"}`, p.bare(t, "notes_search", in), "%v", in)
	}
	require.JSONEq(t, `{"count":3,"query":"word","mode":"keyword"}`, p.bare(t, "notes_search", args{"query": "word", "count_only": true, "limit": 1}))
	require.JSONEq(t, `{"count":3,"query":"word","mode":"keyword"}`, p.bare(t, "notes_search", args{"query": "word", "count_only": true, "limit": 1, "keyword": true}))
	for _, path := range []string{"meta/c", "x/Node_Modules/d"} {
		for _, name := range []string{"notes_get", "notes_outline", "notes_document_tree", "notes_metadata_facets"} {
			require.Contains(t, p.bare(t, name, args{"path": path}), `"path":"`+path+`.md"`, "%s", name)
		}
		p.bare(t, "notes_write", args{"path": path + ".md", "content": "x\n"})
	}
	for _, chars := range []int{1, 7, 300, 10_000} {
		for _, keyword := range []bool{true, false} {
			var out struct {
				Results []struct{ Path, Snippet string }
			}
			in := args{"query": "word", "snippet_chars": chars, "keyword": keyword, "folder": "long.md"}
			require.NoError(t, json.Unmarshal([]byte(p.bare(t, "notes_search", in)), &out))
			units := 0
			for _, r := range strings.TrimSuffix(out.Results[0].Snippet, "…") {
				if units++; r > 0xffff {
					units++
				}
			}
			require.LessOrEqual(t, units, chars, "%v", in)
		}
	}
	for _, chars := range []int{0, -1, 10_001} {
		f, _ := p.refused(t, "notes_search", args{"query": "word", "snippet_chars": chars})
		require.Equal(t, "INVALID_PARAMETER", string(f.Code))
	}
}

// TestWholeRowsFit covers rows that are more than an answer may have (N17): there are fewer, and the next offset.
func TestWholeRowsFit(t *testing.T) {
	files := map[string]string{}
	for i := range 12 {
		files[fmt.Sprintf("n%02d.md", i)] = strings.Repeat(string(rune('a'+i)), 900_000)
	}
	p := open(t, nil)
	for path, text := range files {
		p.put(t, map[string]string{path: text})
	}
	got, offset := map[string]string{}, 0
	for calls := 0; ; calls++ {
		require.Less(t, calls, 12)
		answer, err := p.Invoke(t.Context(), "notes_list", marshalled(t, args{"vault": "v", "fields": "full", "offset": offset, "order": "path"}))
		require.NoError(t, err)
		require.LessOrEqual(t, len(answer), 4<<20+4<<10)
		var e struct {
			Data struct {
				Notes []struct{ Path, Body string }
				Total int
			}
			Meta struct {
				HasMore bool `json:"has_more"`
				Next    int  `json:"next_offset"`
			}
		}
		require.NoError(t, json.Unmarshal(answer, &e))
		require.Equal(t, 12, e.Data.Total)
		for _, n := range e.Data.Notes {
			got[n.Path] = n.Body
		}
		if offset = e.Meta.Next; !e.Meta.HasMore {
			break
		}
	}
	require.Equal(t, files, got)
}
