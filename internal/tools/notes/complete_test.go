package notes_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestComplete(t *testing.T) {
	p := open(t, synthetic)
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"kind": "project"}, `{"items":["apollo","blue-moon"]}`},
		{args{"kind": "project", "prefix": "b"}, `{"items":["blue-moon"]}`},
		{args{"kind": "note_tag"}, `{"items":["on-call","pager","x"]}`},
		{args{"kind": "note_tag", "limit": 1}, `{"items":["on-call"]}`},
		{args{"kind": "note_tag", "prefix": "z"}, `{"items":[]}`},
	} {
		require.Equal(t, c.want, p.bare(t, "notes_complete", c.in), "%v", c.in)
	}
}
