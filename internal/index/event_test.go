package index_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/index"
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
	}
	for _, r := range rows {
		require.Equal(t, r.want, events(t, r.path, r.old, r.now), r.name)
	}
}
