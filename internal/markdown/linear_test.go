package markdown_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// allocated is how many bytes a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestEditsAreLinear covers that an edit of many fields costs what it costs for one, for each of them: the
// note is read a fixed number of times, however many fields there are.
func TestEditsAreLinear(t *testing.T) {
	fields := func(n int, value string) (all []markdown.Field, keys []string) {
		for i := range n {
			key := fmt.Sprintf("key-%05d", i)
			all, keys = append(all, markdown.Field{Key: key, Value: value}), append(keys, key)
		}
		return all, keys
	}
	for name, edit := range map[string]func(t *testing.T, n int){
		"fields": func(t *testing.T, n int) {
			all, keys := fields(n, "one")
			text, err := markdown.SetFields(nil, all)
			require.NoError(t, err)
			again, _ := fields(n, "two")
			text, err = markdown.SetFields(text, again)
			require.NoError(t, err)
			require.Equal(t, n, strings.Count(string(text), ": two\n"))
			text, err = markdown.UnsetFields(text, keys)
			require.NoError(t, err)
			require.Equal(t, "---\n---\n", string(text))
		},
		"arguments": func(t *testing.T, n int) {
			all, keys := fields(n, "one")
			text, err := markdown.SetArguments([]byte("## A\n"), "a", all)
			require.NoError(t, err)
			again, _ := fields(n, "two")
			text, err = markdown.SetArguments(text, "a", again)
			require.NoError(t, err)
			require.Equal(t, n, strings.Count(string(text), "=two"))
			text, err = markdown.UnsetArguments(text, "a", keys)
			require.NoError(t, err)
			require.Equal(t, "## A\n", string(text))
		},
		"traits": func(t *testing.T, n int) {
			text := []byte("- " + strings.TrimSpace(strings.Repeat("@t(v) ", n)) + " text\n")
			all, _ := fields(n, "one")
			text, err := markdown.SetTrait(text, markdown.Parse(text).Traits[0], all)
			require.NoError(t, err)
			require.Len(t, markdown.Parse(text).Traits, 2*n)
			text, err = markdown.RemoveTraits(text, 1, []string{"t"})
			require.NoError(t, err)
			require.Len(t, markdown.Parse(text).Traits, n)
			require.True(t, strings.HasSuffix(string(text), ") text\n"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			few := allocated(func() { edit(t, 300) })
			many := allocated(func() { edit(t, 3000) })
			require.Less(t, many, 20*few)
		})
	}
}

// TestUnsetSeveral covers fields that are taken away together.
func TestUnsetSeveral(t *testing.T) {
	for _, c := range []struct{ old, want string }{
		{"a: |+\n  x\n\nb: 1\n\nc: 2\n\nd: 3\n", "a: |+\n  x\n\nd: 3\n"},
		{"a: 0\n# about b\nb: 1\n\nc: 2\nd: 3\n", "a: 0\n# about b\n\nd: 3\n"},
	} {
		out, err := markdown.UnsetFields([]byte("---\n"+c.old+"---\ntext\n"), []string{"b", "c", "none", "c"})
		require.NoError(t, err)
		require.Equal(t, "---\n"+c.want+"---\ntext\n", string(out))
	}
}

// TestRemoveSeveralTraits covers annotations that are taken from a line together.
func TestRemoveSeveralTraits(t *testing.T) {
	for _, c := range []struct{ old, want string }{
		{"- x @a @b", "- x"},
		{"- @a @b x", "- x"},
		{"- @a(1) x @b y @a(2)", "- x y"},
		{"- @k @a() (x) @b", "- @k() (x)"},
		{"- @a @k @b", "- @k"},
		{"text\n\n- @a(1) @b\n- more", "text\n\n- more"},
		{"- [ ] @a(1) @b\n", ""},
	} {
		text := []byte(c.old)
		line := strings.Count(c.old[:strings.IndexByte(c.old, '@')], "\n") + 1
		out, err := markdown.RemoveTraits(text, line, []string{"a", "b", "none"})
		require.NoError(t, err, c.old)
		require.Equal(t, c.want, string(out))
	}
}
