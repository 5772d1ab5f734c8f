package memory

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Compare orders refs by kind, then by id.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(strings.Compare(r.Kind, o.Kind), strings.Compare(r.ID, o.ID))
}

// Quotes reports whether an item of a kind with a value quotes one of some others: a chapter the memories that it was
// made of, and wisdom its chapters.
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
