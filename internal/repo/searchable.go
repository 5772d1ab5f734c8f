package repo

import (
	"fmt"

	"rookery/internal/index"
	"rookery/internal/markdown"
	"rookery/internal/search"
)

// titles are the fields that say what a note is called, where no heading does.
var titles = []string{"title", "name"}

// others are the fields that say by which words a note goes too. Its tags are known without them.
var others = []string{"aliases", "alias", "description", "summary", "keywords"}

// SearchNote is what is searched of a note: everything in its text, and some of it with more weight.
// It looks at nothing but the note, so that no setting but the language changes it.
func SearchNote(n *index.Note, text []byte) *search.Note {
	s := &search.Note{Title: n.Title, Text: text, Body: n.BodyStart, Unsure: markdown.StrictBody(text) > n.BodyStart}
	for _, name := range titles {
		if f, ok := n.Field(name); ok && s.Title == "" {
			s.Title, _ = f.Value.(string)
		}
	}
	for _, name := range others {
		if f, ok := n.Field(name); ok {
			s.Also = appendWords(s.Also, f.Value)
		}
	}
	for _, t := range n.Tags {
		s.Also = append(s.Also, t.Name)
	}
	s.Sections = n.SearchSections(text)
	return s
}

// appendWords appends what a value of a field says.
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
