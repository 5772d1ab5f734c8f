package repo

import (
	"fmt"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/search"
)

// titles are the fields that contain the title of a note without a heading.
var titles = []string{"title", "name"}

// others are the fields with additional search words of a note, beside its tags.
var others = []string{"aliases", "alias", "description", "summary", "keywords"}

// SearchNote returns the document of a note in the search index: its whole text, and some of it
// with more weight. It depends only on the note, so that of all settings only the language affects
// a search index. The result shares memory with n and text.
func SearchNote(n *index.Note, text []byte) *search.Note {
	s := &search.Note{Title: n.Title, Text: text, Body: n.BodyStart(), Unsure: markdown.StrictBody(text) > n.BodyStart()}
	for _, name := range titles {
		if f, ok := n.Field(name); ok && s.Title == "" {
			s.Title, _ = f.Value.(string)
		}
	}
	for _, name := range others {
		if f, ok := n.Field(name); ok {
			s.Keywords = appendWords(s.Keywords, f.Value)
		}
	}
	for _, t := range n.Tags {
		s.Keywords = append(s.Keywords, t.Name)
	}
	s.Sections = n.SearchSections(text)
	return s
}

// appendWords appends the texts in a value of a field.
func appendWords(list []string, value any) []string {
	switch v := value.(type) {
	case nil:
		return list
	case string:
		return append(list, v)
	case markdown.Ref:
		return append(list, string(v))
	case []any:
		for _, e := range v {
			list = appendWords(list, e)
		}
		return list
	}
	return append(list, fmt.Sprint(value))
}
