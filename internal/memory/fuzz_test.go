package memory_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/memory"
)

// someMemories are memories of which fuzzing begins.
var someMemories = []string{
	`{"v":1,"agent":"a","principal":"p","session":"s","created":1705363200000,"intent":{"goal":"g","task_type":"bug_fix"},` +
		`"outcome":{"success":true,"summary":"done: \"quoted\" # not a comment"},"tags":["a b","ü"],"importance":0}`,
	`{"v":1,"agent":"---","principal":"p","session":"","created":0,"intent":{"goal":"---\nrookery_memory: x\n---","task_type":"x"},` +
		`"outcome":{"success":false,"summary":"\u0085\u2028\ufeff\u0000"},"actions":[{"type":"file_edit","file_path":"src/a.go"}],` +
		`"importance":0.5,"key":"null","times":3}`,
}

// FuzzMarkdown covers that a memory as a file of Markdown is the same memory when it is read again.
func FuzzMarkdown(f *testing.F) {
	for _, m := range someMemories {
		f.Add(m, "mem_1", "mem_2")
	}
	f.Fuzz(func(t *testing.T, text, id, target string) {
		var m memory.Memory
		if json.Unmarshal([]byte(text), &m) != nil || !utf8.ValidString(id) || !utf8.ValidString(target) {
			t.Skip()
		}
		links := &memory.Links{V: memory.Format, CausedBy: []string{target}}
		file, err := memory.Markdown(id, &m, links)
		require.NoError(t, err)
		line, ok, err := memory.FromMarkdown(file)
		require.NoError(t, err)
		require.True(t, ok)
		b, err := memory.ReadLine(line)
		require.NoError(t, err)
		require.Equal(t, id, b.ID)
		require.Equal(t, []string{target}, b.Links.CausedBy)
		var again memory.Memory
		require.NoError(t, b.Decode(&again))
		require.JSONEq(t, string(encoded(m)), string(encoded(again)))
	})
}

// FuzzReadLine covers that no line and no file that is imported does harm.
func FuzzReadLine(f *testing.F) {
	for _, m := range someMemories {
		f.Add(m)
		f.Add("---\nrookery_memory: \"m\"\nintent: " + m + "\n---\n")
	}
	f.Add("---\nrookery_memory: &a [*a]\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		if b, err := memory.ReadLine([]byte(text)); err == nil {
			var m memory.Memory
			_ = b.Decode(&m)
			_, _ = m.Text(), m.Files()
		}
		if line, ok, err := memory.FromMarkdown(text); ok && err == nil {
			require.True(t, json.Valid(line))
		}
	})
}

// FuzzMerge covers that a patch does what RFC 7386 says: to apply it twice is to apply it once, and members that it
// does not name stay.
func FuzzMerge(f *testing.F) {
	f.Add(`{"a":{"b":1,"c":[1]},"d":2}`, `{"a":{"b":null,"e":{"f":1}},"d":[]}`)
	f.Add(`{"a":1}`, `{"a":{"b":null}}`)
	f.Fuzz(func(t *testing.T, value, patch string) {
		var v, p map[string]json.RawMessage
		if json.Unmarshal([]byte(value), &v) != nil || json.Unmarshal([]byte(patch), &p) != nil || v == nil || p == nil {
			t.Skip()
		}
		once, err := memory.Merge([]byte(value), []byte(patch))
		require.NoError(t, err)
		twice, err := memory.Merge(once, []byte(patch))
		require.NoError(t, err)
		require.JSONEq(t, string(once), string(twice))
		var merged map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(once, &merged))
		for name := range v {
			if _, named := p[name]; !named {
				require.Contains(t, merged, name)
			}
		}
		for name, member := range p {
			_, there := merged[name]
			require.Equal(t, strings.TrimSpace(string(member)) != "null", there, name)
		}
	})
}

// FuzzImage covers that an image that is damaged is refused, or is one: it never does harm.
func FuzzImage(f *testing.F) {
	w := newWorld()
	for i, text := range someMemories {
		var m memory.Memory
		require.NoError(f, json.Unmarshal([]byte(text), &m))
		w.commit(w.put([]string{"mem_1", "mem_2"}[i], &m))
	}
	image := w.x.AppendImage(nil)
	f.Add(string(image))
	f.Add(string(image[:len(image)/2]))
	f.Fuzz(func(t *testing.T, data string) {
		x, err := memory.ReadImage(data)
		if err != nil {
			return
		}
		for c := range x.Cards("") {
			_, _ = x.AllLinks(c.ID), x.SupersededBy(c.ID)
		}
		_, err = memory.ReadImage(string(x.AppendImage(nil)))
		require.NoError(t, err)
	})
}
