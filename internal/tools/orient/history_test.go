package orient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// secret is what no answer may have: the texts of notes, the values of other fields, and everything in notes that
// are left out have it.
const secret = leaktest.Text

var (
	somePaths = []string{
		"a.md", "b/a.md", "b/c/d/a.md", "b/c/e.md", "b-c/a.md", "b0/a.md", "é/日/x.md", "b/c/d/e/f/a.md", "x/y.md",
		"x/dist/" + secret + ".md", "node_modules/" + secret + "/a.md", "_folder.md",
		"b/" + secret + ".md", "b/c/d/" + secret + ".md", // no answer has the names of notes
	}
	someTags   = []string{"x", "'#x'", "X", "'a, b'", "日本", "1", "1.0", "true", "null", "''", "{a: b}", "[z]", "2025-03-01", "'# y'"}
	someValues = []string{"open", "Open", "done", "3", "1.50", "false", "~", "''", "[open, open, done]", "[a, [b], {c: d}, null]", "2025-03-01", "'<&>\"'", "' open '"}
	someRules  = []string{
		"exclude: [b/]\n", "exclude: ['*', '!b/', '!*.md', 'b/c/']\n", "exclude: [/a.md, '!dist/', 'dist/" + secret + ".md']\n",
		"exclude: {a: b}\n", "", "-",
	}
)

// text draws a note.
func text(t *rapid.T) string {
	one := func(from []string) string { return rapid.SampledFrom(from).Draw(t, "value") }
	switch rapid.IntRange(0, 9).Draw(t, "form") {
	case 0:
		return secret
	case 1:
		return "---\ntype: [\n" + secret + "\n---\n"
	case 2:
		return "---\ntype: a\ntype: b\n---\n"
	case 3:
		return strings.Repeat("# "+secret+"\n\n"+strings.Repeat("word ", 700)+"\n\n", rapid.IntRange(1, 3).Draw(t, "long"))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "---\nother: %s\n", secret)
	if rapid.Bool().Draw(t, "type") {
		fmt.Fprintf(&b, "type: %s\n", one(someValues))
	}
	if rapid.Bool().Draw(t, "status") {
		fmt.Fprintf(&b, "status: %s\n", one(someValues))
	}
	if rapid.Bool().Draw(t, "tags") {
		fmt.Fprintf(&b, "tags: [%s, %s]\n", one(someTags), one(someTags))
	} else {
		fmt.Fprintf(&b, "tags: %s\n", one(someTags))
	}
	for range rapid.IntRange(0, 3).Draw(t, "more") {
		fmt.Fprintf(&b, "f%d: {%s: 1}\n", b.Len(), secret)
	}
	b.WriteString("---\n#" + secret + " " + secret + "\n")
	return b.String()
}

// A history is a vault, and what it must say at each version.
type history struct {
	*place
	name  string
	texts map[string]string
	past  map[uint64]map[string]string // by version
}

// TestAnswersAreARecount compares the five answers with a recount of all texts after each step of random histories:
// writes, deletions, moves, imports, undone changes, changes of what is left out, restarts, images, rebuilds, and as
// of each version. The texts are those that an export has.
func TestAnswersAreARecount(t *testing.T) {
	var p *place
	n, fresh := 0, func() *place { return open(t) }
	rapid.Check(t, func(t *rapid.T) {
		if n++; n%50 == 1 { // a tenant has at most 100 vaults
			p = fresh()
		}
		h := &history{place: p, name: fmt.Sprintf("v%d", n), texts: map[string]string{}, past: map[uint64]map[string]string{}}
		p.fresh(t, h.name)
		h.done(t, nil)
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			h.step(t)
			require.Equal(t, h.texts, h.exported(t))
			h.check(t, args{"vault": h.name}, h.texts)
		}
		version := rapid.SampledFrom(slices.Sorted(maps.Keys(h.past))).Draw(t, "as of")
		h.check(t, args{"vault": h.name, "as_of": eventlog.Version(version)}, h.past[version])
	})
}

func (h *history) check(t *rapid.T, in args, texts map[string]string) {
	r := recounted(texts)
	r.require(t, h.place, in, rapid.SampledFrom([]int{1, 2, 3, 5, 50}).Draw(t, "limit"),
		rapid.IntRange(1, 6).Draw(t, "depth"), rapid.Bool().Draw(t, "direct"))
	for _, name := range []string{"vault_overview", "vault_tree", "vault_tags", "vault_facets", "vault_status"} {
		raw, err := h.call(name, in)
		require.NoError(t, err)
		require.NotContains(t, string(raw), secret, name)
	}
}

// step does one of the things that change a vault, or its process.
func (h *history) step(t *rapid.T) {
	v := h.vault(t, h.name)
	switch rapid.IntRange(0, 11).Draw(t, "step") {
	case 0:
		h.serve(t)
	case 1:
		require.NoError(t, v.Compact(context.Background(), eventlog.Compaction{All: true}))
		h.serve(t)
	case 2:
		_, err := v.Rebuild(context.Background(), true)
		require.NoError(t, err)
	case 3:
		h.put(t, "raven.yaml", rapid.SampledFrom(someRules).Draw(t, "raven.yaml"))
	case 4:
		h.move(t)
	case 5:
		h.imports(t)
	case 6:
		h.undo(t)
	default:
		changes := map[string]string{}
		for range rapid.IntRange(1, 6).Draw(t, "notes") {
			path := rapid.SampledFrom(somePaths).Draw(t, "path")
			if changes[path] = text(t); rapid.IntRange(0, 4).Draw(t, "gone") == 0 && h.texts[path] != "" {
				changes[path] = "-"
			}
		}
		h.commit(t, changes)
	}
}

func (h *history) put(t *rapid.T, path, text string) {
	if text == "-" && h.texts[path] == "" || text == h.texts[path] {
		return
	}
	h.commit(t, map[string]string{path: text})
}

// commit writes changes of which at least one is one.
func (h *history) commit(t *rapid.T, changes map[string]string) {
	maps.DeleteFunc(changes, func(path, text string) bool { return h.texts[path] == text || h.bars(path) })
	if len(changes) == 0 {
		return
	}
	h.write(t, h.name, changes)
	h.done(t, changes)
}

// bars reports whether raven.yaml excludes a path, so that nothing is written there.
func (h *history) bars(path string) bool { return exclusionOf(h.texts).Excludes(path, nil) }

// done keeps what a commit changed.
func (h *history) done(t *rapid.T, changes map[string]string) {
	h.texts = maps.Clone(h.texts)
	maps.Copy(h.texts, changes)
	maps.DeleteFunc(h.texts, func(_, text string) bool { return text == "-" })
	idx, err := h.vault(t, h.name).Read(context.Background())
	require.NoError(t, err)
	h.past[idx.Version()] = h.texts
}

// move moves a note to where there is none.
func (h *history) move(t *rapid.T) {
	var from, to []string
	for _, path := range somePaths {
		switch {
		case vault.Path(path).Kind() != vault.KindNote, h.bars(path):
		case h.texts[path] != "":
			from = append(from, path)
		default:
			to = append(to, path)
		}
	}
	if len(from) == 0 || len(to) == 0 {
		return
	}
	source, target := rapid.SampledFrom(from).Draw(t, "from"), rapid.SampledFrom(to).Draw(t, "to")
	text := h.texts[source]
	h.update(t, h.name, func(ctx context.Context, tx *repo.Tx) error {
		if err := tx.Remove(ctx, vault.Path(source)); err != nil {
			return err
		}
		return tx.TakeIn(ctx, vault.Path(target), repo.Outside{Text: []byte(text), Found: []byte(text), From: source})
	})
	h.done(t, map[string]string{source: "-", target: text})
	require.False(t, slices.Contains(from, target))
}

// imports brings notes in as an import does.
func (h *history) imports(t *rapid.T) {
	changes, list := map[string]string{}, []args{}
	for range rapid.IntRange(1, 4).Draw(t, "notes") {
		changes[rapid.SampledFrom(somePaths).Draw(t, "path")] = text(t)
	}
	maps.DeleteFunc(changes, func(path, _ string) bool { return h.bars(path) })
	if len(changes) == 0 {
		return
	}
	for path, text := range changes {
		list = append(list, args{"path": path, "text": text})
	}
	raw, err := h.call("team_vault_import", args{"vault": h.name, "mode": "replace", "notes": list})
	require.NoError(t, err, "%s", raw)
	h.done(t, changes)
}

// undo takes the last change back.
func (h *history) undo(t *rapid.T) {
	versions := slices.Sorted(maps.Keys(h.past))
	if len(versions) < 2 {
		return
	}
	last := versions[len(versions)-1]
	raw, err := h.call("raven_undo", args{"vault": h.name, "version": eventlog.Version(last)})
	if fault.Is(err, fault.InvalidPath) { // it would write where raven.yaml excludes notes now
		return
	}
	require.NoError(t, err, "%s", raw)
	h.texts = h.past[versions[len(versions)-2]]
	h.done(t, nil)
}

// exported are the texts of an export, without the audit log.
func (h *history) exported(t *rapid.T) map[string]string {
	data, _ := h.answered(t, "team_vault_export", args{"vault": h.name})
	var e struct{ Notes []struct{ Path, Text string } }
	require.NoError(t, json.Unmarshal([]byte(data), &e))
	texts := map[string]string{}
	for _, n := range e.Notes {
		texts[n.Path] = n.Text
	}
	delete(texts, ".raven/audit.log")
	return texts
}
