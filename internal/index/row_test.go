package index_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
)

func TestIsListed(t *testing.T) {
	for path, want := range map[string]bool{
		"a.md": true, "b/c/a.md": true, "templates.md": true, "metadata/a.md": true, "b/templates.md": true,
		"templates/a.md": false, "b/Templates/c/a.md": false, "META/a.md": false, "b/node_modules/a.md": false, ".git/a.md": false,
	} {
		require.Equal(t, want, index.IsListed(path), path)
	}
}

// rowDays are texts of the field date, and what the row of a note must say of them.
var rowDays = []string{
	"", "2026-01-05", "2026-01-05T10:00:00Z", "'2026-01-05'", "'2026-01-05T00:00:00.000Z and more'", "'2026-01-05T00:00:00.000Z and less'",
	"soon", "日本語", "'12345678日'", "\"2026\\0\"", "2026",
}

// TestRows compares the rows of random vaults with their notes after each commit, and with the rows of images.
func TestRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := index.Empty()
		for i := range rapid.IntRange(1, 8).Draw(t, "commits") {
			path := rapid.SampledFrom([]string{"a", "b/a", "b/c/a", "b-c/a", "templates/a", "b/Meta/a", "projects/P q/a", "b"}).Draw(t, "path") + ".md"
			text := rapid.SampledFrom([]string{"text\n", "---\ntags: [x, On Call]\nentity: [E 1, e2]\nkind: approval_log\nproject: Q\n---\n",
				"---\ntags: [t1, t2, t3, t4, t5, x]\n---\n", "---\ntags: [t1, t2, t5, t6]\n---\n",
				"---\ncausal_chain_id: c\nepisode_id: e\nnetwork: N\nwallet_address: w\npayment_status: p\n---\n"}).Draw(t, "text")
			if day := rapid.SampledFrom(rowDays).Draw(t, "day"); text != "text\n" {
				text = strings.Replace(text, "---\n", "---\ndate: "+day+"\n", 1)
			}
			c := index.Change{Path: path, Text: []byte(text), Deleted: rapid.IntRange(0, 3).Draw(t, "deleted") == 0}
			if _, there := x.Note(path); c.Deleted && there {
				c.Text = nil
			} else {
				c.Deleted = false
			}
			x = x.With(index.Commit{Seq: uint64(i + 1), Changes: []index.Change{c}})
			checkRows(t, x)
		}
		y, err := index.ReadImage(x.AppendImage(nil))
		require.NoError(t, err)
		checkRows(t, y)
	})
}

func checkRows(t *rapid.T, x *index.Index) {
	for _, folder := range []string{"", "b", "b/c", "projects", "b.md", "none"} {
		var want, got []string
		for n := range x.Notes("") {
			if index.IsListed(n.Path) && (folder == "" || n.Path == folder || strings.HasPrefix(n.Path, folder+"/")) {
				want = append(want, n.Path)
			}
		}
		for r := range x.Rows(folder) {
			got = append(got, r.Path)
			require.Same(t, noteAt(x, r.Path), r.Note)
			checkRow(t, &r)
			checkTags(t, x, &r)
		}
		require.Equal(t, want, got, folder)
	}
	for a := range x.Rows("") {
		for b := range x.Rows("") {
			require.Equal(t, cmp.Compare(a.Card().Day(), b.Card().Day()), a.CompareDay(&b.NoteDay))
		}
	}
}

// checkTags requires that a row has the tags of its note, or says that it does not know.
func checkTags(t *rapid.T, x *index.Index, r *index.Row) {
	for _, tag := range []string{"x", "on-call", "t5", "t6", "none"} {
		if has, known := r.HasTag(x.TagID(tag)); known {
			require.Equal(t, slices.Contains(r.Card().Tags, tag), has, tag)
		} else {
			require.True(t, x.TagID(tag) == 0 || len(r.Card().Tags) > 4, tag)
		}
	}
}

// checkRow requires that a row has the marks of all that its note says, and the beginning of its day.
func checkRow(t *rapid.T, r *index.Row) {
	c := r.Card()
	all := map[index.MarkKind][]string{
		index.MarkedTag: c.Tags, index.MarkedEntity: c.Entities(), index.MarkedProject: {r.Project()}, index.MarkedChain: {c.Chain()},
		index.MarkedEpisode: {c.Episode()}, index.MarkedKind: {c.Kind()}, index.MarkedNetwork: {c.Network()},
		index.MarkedWalletAddress: {c.WalletAddress()}, index.MarkedPaymentStatus: {c.PaymentStatus()},
	}
	for kind, values := range all {
		for _, value := range values {
			require.True(t, r.Marks.Has(kind.Of(value)), "%c %q", kind, value)
		}
	}
	runes := []rune(c.Day())
	day, ok := r.DayBegins()
	if first := string(runes[:min(10, len(runes))]); ok {
		require.Equal(t, first, string(day))
	} else {
		require.NotEqual(t, len(first), len([]rune(first)), "only a day with other characters is not told")
	}
}
