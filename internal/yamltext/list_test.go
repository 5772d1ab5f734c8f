package yamltext_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/rookeryhq/rookery/internal/yamltext"
)

func TestSetList(t *testing.T) {
	for _, c := range []struct {
		text  string
		items []string
		want  string
	}{
		{"a: [x, y] # c\nb: 1\n", []string{"x", "y", "z"}, "a: [x, y, z] # c\nb: 1\n"},
		{"a: [x, y, z]\n", []string{"x", "z"}, "a: [x, z]\n"},
		{"a: [x, 'y, z' ,]\n", []string{"x", "y, z", "q"}, "a: [x, 'y, z' , q]\n"},
		{"a: [x]\n", []string{"y"}, "a: [y]\n"},
		{"a: []\n", []string{"y"}, "a: [y]\n"},
		{"a:\n  - x # one\n  # two\n  - y\nb: 1\n", []string{"x", "y", "z"}, "a:\n  - x # one\n  # two\n  - y\n  - z\nb: 1\n"},
		{"a:\n- x # one\n- y\n", []string{"y", "z"}, "a:\n- y\n- z\n"},
		{"a:\n- x\n- y", []string{"x", "y", "z"}, "a:\n- x\n- y\n- z"},
		{"a:\n- x\n", []string{"b", "x"}, "a: [b, x]\n"},
		{"a:\n- x\nb: 2\n", nil, "a: []\nb: 2\n"},
		{"a: x\n", []string{"y"}, "a: [y]\n"},
		{"b: 1\n", []string{"y"}, "b: 1\na: [y]\n"},
	} {
		got, err := yamltext.SetList([]byte(c.text), []string{"a"}, c.items)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, string(got), c.text)
	}
}

// FuzzSetList says that a list then has the items that are meant, and that nothing else changes.
func FuzzSetList(f *testing.F) {
	for _, text := range []string{
		"a: [x, y] # c\n", "a:\n- x # c\n- \"y\"\n\nb: 1\n", "a: &l [x]\nb: *l\n", "a:\n- |\n  x\n- y\n", "{a: [x, y,], b: c}\n",
	} {
		f.Add(text, "x", "z")
		f.Add(text, "y", "a: b")
	}
	f.Fuzz(func(t *testing.T, text, first, second string) {
		if !isText(first) || !isText(second) {
			return
		}
		now, err := yamltext.SetList([]byte(text), []string{"a"}, []string{first, second})
		if err != nil {
			require.True(t, errors.Is(err, yamltext.ErrNotEditable), "%v", err)
			return
		}
		var was, said map[string]any
		require.NoError(t, yaml.Unmarshal(now, &said), "%q", now)
		require.Equal(t, []any{first, second}, said["a"], "%q", now)
		if yaml.Unmarshal([]byte(text), &was) == nil {
			delete(was, "a")
			delete(said, "a")
			require.Len(t, said, len(was))
		}
	})
}
