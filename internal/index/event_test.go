package index_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// events are the events of a file that changes from one text to another, as JSON. "-" is no file.
func events(t *testing.T, path, old, now string) string {
	t.Helper()
	x := of([]string{"schema.yaml", people})
	var texts index.Texts
	before := x
	if old != "-" {
		before, texts.Old = x.With(commit(2, path, old)), []byte(old)
	}
	if now != "-" {
		texts.New = []byte(now)
	}
	after := before.With(commit(3, path, now))
	data, err := json.Marshal(index.Events(before, after, path, texts))
	require.NoError(t, err)
	return string(data)
}

func TestEvents(t *testing.T) {
	head := "---\ntype: person\nname: Bob\nage: 5\n---\n"
	rows := []struct{ name, path, old, now, want string }{
		{"create", "people/bob.md", "-", head,
			`[{"op":"create","entity":"object","id":"people/bob","type":"person"}]`},
		{"delete", "people/bob.md", head, "-",
			`[{"op":"delete","entity":"object","id":"people/bob","type":"person",` +
				`"fields":{"age":5,"name":"Bob"}}]`},
		{"set, unset, new", "a.md", head, "---\ntype: person\nname: \"[[b]]\"\nx: [1]\n---\n",
			`[{"op":"update","entity":"object","id":"a","type":"person","changes":{` +
				`"age":{"old":5,"new":null},"name":{"old":"Bob","new":"b"},"x":{"old":null,"new":[1]}}}]`},
		{"type", "a.md", head, strings.Replace(head, "person", "page", 1),
			`[{"op":"update","entity":"object","id":"a","type":"page",` +
				`"changes":{"type":{"old":"person","new":"page"}}}]`},
		{"text", "a.md", head + "one\ntwo\nthree\n", head + "one\nTWO\nthree\nfour\n",
			`[{"op":"update","entity":"object","id":"a","type":"person",` +
				`"changes":{"content":{"added":2,"removed":1}}}]`},
		{"last line without its end", "a.md", "one", "one\ntwo",
			`[{"op":"update","entity":"object","id":"a","type":"page",` +
				`"changes":{"content":{"added":1,"removed":0}}}]`},
		{"lines change places", "a.md", "one\ntwo\nthree\n", "two\none\nthree\n",
			`[{"op":"update","entity":"object","id":"a","type":"page",` +
				`"changes":{"content":{"added":2,"removed":2}}}]`},
		{"only line ends", "a.md", "one\r\ntwo\r\n", "one\r\ntwo\n",
			`[{"op":"update","entity":"object","id":"a","type":"page",` +
				`"changes":{"content":{"added":1,"removed":1}}}]`},
		{"only how fields are written", "a.md", head, strings.Replace(head, "Bob", `"Bob" # b`, 1),
			`[{"op":"update","entity":"object","id":"a","type":"person",` +
				`"changes":{"content":{"added":1,"removed":1}}}]`},
		{"a field called content", "a.md", "---\ncontent: a\n---\nx\n", "---\ncontent: b\n---\nx\ny\n",
			`[{"op":"update","entity":"object","id":"a","type":"page",` +
				`"changes":{"content":{"old":"a","new":"b","added":1,"removed":0}}}]`},
		{"becomes unreadable", "a.md", head, "---\nname: [\n---\n",
			`[{"op":"update","entity":"object","id":"a","type":"page","changes":{` +
				`"age":{"old":5,"new":null},` +
				`"name":{"old":"Bob","new":null},"type":{"old":"person","new":"page"}}}]`},
		{"unchanged", "a.md", head, head, `null`},
		{"never there", "a.md", "-", "-", `null`},
		{"another file", "raven.yaml", "a: b\n", "a: c\n",
			`[{"op":"update","entity":"file","id":"raven.yaml",` +
				`"changes":{"content":{"added":1,"removed":1}}}]`},
		{"another file goes", "raven.yaml", "a: b\n", "-",
			`[{"op":"delete","entity":"file","id":"raven.yaml"}]`},
		{"trash", ".trash/a.md", "-", head, `null`},
		{"audit log", ".raven/audit.log", "-", "{}\n", `null`},
		{"closed audit log", ".raven/audit.2026-10.log", "-", "{}\n", `null`},
	}
	for _, r := range rows {
		require.Equal(t, r.want, events(t, r.path, r.old, r.now), r.name)
	}
}

// deep renders the events of a change, in a vault with traits.
func deep(t *testing.T, old, now string) []string {
	t.Helper()
	x := of([]string{"schema.yaml", traitSchema})
	before, texts := x, index.Texts{}
	if old != "-" {
		before, texts.Old = x.With(commit(2, "n.md", old)), []byte(old)
	}
	if now != "-" {
		texts.New = []byte(now)
	}
	after := before.With(commit(3, "n.md", now))
	var all []string
	for _, e := range index.Events(before, after, "n.md", texts) {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		all = append(all, string(data))
	}
	return all
}

// TestDeepEvents is the log of objects, sections and traits in a note. Only what changed itself is told
// of: an annotation is its trait's, a line is that of the object whose own text it stands in.
func TestDeepEvents(t *testing.T) {
	due := vault.TraitID("n", "due", "a")
	trait := func(op, more string) string {
		return `{"op":"` + op + `","entity":"trait","id":"` + due + `","parent":"n","trait":"due",` + more + `}`
	}
	object := func(op, id, typ, more string) string {
		return `{"op":"` + op + `","entity":"object","id":"` + id + `","type":"` + typ + `"` + more + `}`
	}
	content := func(added, removed int) string {
		return fmt.Sprintf(`,"changes":{"content":{"added":%d,"removed":%d}}`, added, removed)
	}
	meeting := "## M\n::meeting(id=m, time=09:00)\n"
	rows := []struct {
		name, old, now string
		want           []string
	}{
		{"create", "-", meeting + "## S\n- @flag b\n", []string{
			object("create", "n", "page", ""), object("create", "n#m", "meeting", ""),
			`{"op":"create","entity":"trait","id":"` + vault.TraitID("n#s", "flag", "b") +
				`","parent":"n#s","trait":"flag","value":true,"content":"b","line":4}`,
		}},
		{"delete", "- @due(2026-03-02) a\n\n" + meeting, "-", []string{
			object("delete", "n", "page", ""),
			object("delete", "n#m", "meeting", `,"fields":{"id":"m","time":"09:00"}`),
			trait("delete", `"value":"2026-03-02","content":"a","line":1`),
		}},
		{"trait comes", "x\n", "x\n- @due(2026-03-02) a\n",
			[]string{trait("create", `"value":"2026-03-02","content":"a","line":2`)}},
		{"trait goes", "x\n- @due(2026-03-02) a\n", "x\n",
			[]string{trait("delete", `"value":"2026-03-02","content":"a","line":2`)}},
		{"annotation goes, its line stays", "- @due(2026-03-02) a\n", "- a\n",
			[]string{trait("delete", `"value":"2026-03-02","content":"a","line":1`)}},
		{"value", "- @due(2026-03-02) a\n", "- @due(2026-03-03) a\n",
			[]string{trait("update", `"changes":{"value":{"old":"2026-03-02","new":"2026-03-03"}}`)}},
		{"text and line", "- @due a\n", "\n- @due b\n", []string{
			object("update", "n", "page", content(1, 0)),
			trait("update", `"changes":{"content":{"old":"a","new":"b"},"line":{"old":1,"new":2}}`),
		}},
		{"heading renamed", "## S\n- @flag b\n", "## T\n- @flag b\n", []string{
			object("create", "n#t", "section", ""), object("delete", "n#s", "section", `,"fields":{"level":2,"title":"S"}`),
			`{"op":"update","entity":"trait","id":"` + vault.TraitID("n#s", "flag", "b") +
				`","parent":"n#t","trait":"flag","changes":{"parent":{"old":"n#s","new":"n#t"}}}`,
		}},
		{"text of a section", "a\n## S\nb\n### T\nc\n", "a\n## S\nb\nmore\n### T\nc\n",
			[]string{object("update", "n#s", "section", content(1, 0))}},
		{"declaration", meeting, "## M\n::meeting(id=m, time=10:00)\n", []string{object("update", "n#m", "meeting",
			`,"changes":{"time":{"old":"09:00","new":"10:00"}}`)}},
		{"only how a declaration is written", meeting, "## M\n::meeting(time=09:00,id=m)\n",
			[]string{object("update", "n", "page", content(1, 1))}},
		{"a section becomes an object", "## M\n", "## M\n::meeting()\n",
			[]string{object("update", "n#m", "meeting", `,"changes":{"type":{"old":"section","new":"meeting"}}`)}},
		{"an id that is declared twice", meeting + meeting + "- @due a\n", meeting + "x\n" + meeting + "- @due a\n",
			[]string{object("update", "n#m", "section",
				`,"changes":{"content":{"added":1,"removed":0},"id":{"old":"m","new":null},`+
					`"time":{"old":"09:00","new":null},"type":{"old":"meeting","new":"section"}}`)}},
		{"lines only move", "- @due a\n\n\n", "\n- @due a\n\n", []string{object("update", "n", "page", content(2, 2))}},
		{"a field that is a trait", "---\ntype: person\ndue: 2026-03-02\n---\n", "---\ntype: person\ndue: 2026-03-03\n---\n",
			[]string{`{"op":"update","entity":"trait","id":"` + vault.TraitID("n", "due", "n") +
				`","parent":"n","trait":"due","changes":{"value":{"old":"2026-03-02","new":"2026-03-03"}}}`}},
	}
	for _, r := range rows {
		require.Equal(t, r.want, deep(t, r.old, r.now), r.name)
	}
}

// TestReindexed holds that one entry tells of all that was found in a file, and that an id is found
// again from it.
func TestReindexed(t *testing.T) {
	entry := index.Reindexed("daily/a.md", []index.Event{
		{Op: "update", Entity: "object", ID: "daily/a", Changes: map[string]any{"content": index.Lines{Added: 1}}},
		{Op: "create", Entity: "trait", ID: "due-kept", Trait: "due", Parent: "daily/a", Content: "buy", Line: 1},
		{Op: "delete", Entity: "trait", ID: "due-gone"},
	})
	require.Equal(t, index.Counts{Discovered: 1, Modified: 1, Removed: 1}, entry.Counts())
	line, err := json.Marshal(entry)
	require.NoError(t, err)
	log := `{"ts":"2025-02-01T18:00:00Z",` + string(line[1:])
	require.Contains(t, log, `"op":"reindex","file":"daily/a.md","discovered":["trait:due-kept"],`+
		`"modified":["object:daily/a"],"removed":["trait:due-gone"]`)

	x := of([]string{vault.AuditLog, log}, []string{"daily/a.md", "buy @due(2026-01-01)\n"})
	n, ok := x.Note("daily/a.md")
	require.True(t, ok)
	require.Equal(t, []string{"due-kept"}, n.TraitIDs())
	require.Equal(t, "2025-02-01T18:00:00Z", n.Created.Format(time.RFC3339))
}

// TestSince holds that a file that is read for the first time is as old as it says, and that one that
// moves stays what it is.
func TestSince(t *testing.T) {
	since := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	text := []byte("# A\n\nbuy @due(2026-01-01)\n\n## More\n")
	x := index.Empty().With(index.Commit{
		Seq: 1, Time: since.AddDate(1, 0, 0), Changes: []index.Change{{Path: "a.md", Text: text, Since: since}},
	})
	n, _ := x.Note("a.md")
	require.Equal(t, since, n.Modified)
	require.Equal(t, since, n.Sections[len(n.Sections)-1].Created)
	require.Equal(t, since, n.Annotations[0].Created)

	y := x.With(index.Commit{Seq: 2, Time: since.AddDate(2, 0, 0), Changes: []index.Change{
		{Path: "a.md", Deleted: true}, {Path: "b.md", Text: text, From: "a.md", Since: since.AddDate(1, 1, 1)},
	}})
	moved, _ := y.Note("b.md")
	require.Equal(t, n.TraitIDs(), moved.TraitIDs())
	require.Equal(t, since, moved.Created)
	require.Equal(t, since, moved.Annotations[0].Created)
}
