package notes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPagesAreOneList covers that pages of a list, at any offset and of any length, are parts of the list as it is
// sorted in one piece, in each order.
func TestPagesAreOneList(t *testing.T) {
	files := map[string]string{}
	for i := range 330 {
		date := fmt.Sprintf("2026-01-%02d", 1+i*7%28)
		if i%11 == 0 {
			date = "" // undated
		}
		files[fmt.Sprintf("n%03d.md", i)] = fmt.Sprintf("---\ntitle: t\ndate: %s\n---\n", date)
	}
	p := open(t, files)
	tb := t
	list := func(t require.TestingT, order string, offset, limit int) []string {
		var out struct{ Notes []struct{ Path string } }
		answer, err := p.Invoke(context.Background(), "notes_list", marshalled(tb, args{
			"vault": "v", "envelope": false, "fields": "path", "order": order, "offset": offset, "limit": limit,
		}))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(answer, &out))
		paths := []string{}
		for _, n := range out.Notes {
			paths = append(paths, n.Path)
		}
		return paths
	}
	whole := map[string][]string{}
	for _, order := range []string{"date", "date-asc", "path"} {
		for offset := 0; offset < 330; offset += 100 {
			whole[order] = append(whole[order], list(t, order, offset, 100)...)
		}
		require.Len(t, whole[order], 330)
	}
	for i, path := range whole["date-asc"][:30] { // the undated are first, by path
		require.Equal(t, fmt.Sprintf("n%03d.md", i*11), path)
	}
	rapid.Check(t, func(rt *rapid.T) {
		order := rapid.SampledFrom([]string{"date", "date-asc", "path"}).Draw(rt, "order")
		offset, limit := rapid.IntRange(0, 350).Draw(rt, "offset"), rapid.IntRange(0, 100).Draw(rt, "limit")
		want := whole[order][min(offset, 330):min(offset+limit, 330)]
		require.Equal(rt, append([]string{}, want...), list(rt, order, offset, limit))
	})
}
