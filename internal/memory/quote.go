package memory

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Compare compares refs by kind, then by id.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(strings.Compare(r.Kind, o.Kind), strings.Compare(r.ID, o.ID))
}

// Quotes reports whether an item contains text of one of the items of: a chapter of its memories,
// and wisdom of its chapters. It returns false if the value is not valid JSON.
func Quotes(kind string, value []byte, of map[Ref]bool) bool {
	var made struct {
		Memories []string `json:"memories"`
		Chapters []string `json:"chapters"`
	}
	if kind != KindChapter && kind != KindWisdom || json.Unmarshal(value, &made) != nil {
		return false
	}
	is := func(kind string) func(id string) bool {
		return func(id string) bool { return of[Ref{kind, id}] }
	}
	return slices.ContainsFunc(made.Memories, is(KindMemory)) || slices.ContainsFunc(made.Chapters, is(KindChapter))
}
