package search_test

import (
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/search"
)

// A vault is the texts of some notes, by path.
type vault map[string]string

// generated is a vault in many languages.
func generated(seed uint64, n int) vault {
	v := vault{}
	for f := range corpus.Vault(seed, n) {
		if strings.HasSuffix(f.Path, ".md") {
			v[f.Path] = f.Text
		}
	}
	return v
}

// note is what is searched of a text.
func note(text string) *search.Note {
	doc := markdown.Parse([]byte(text))
	n := &search.Note{Text: []byte(text), Body: doc.Body}
	if doc.Frontmatter != nil {
		for _, e := range doc.Frontmatter.Entries {
			if e.Key == "aliases" || e.Key == "tags" || e.Key == "description" {
				n.Keywords = append(n.Keywords, fmt.Sprint(e.Value))
			}
		}
	}
	for _, h := range doc.Headings {
		if h.Title {
			n.Title = h.Text
		}
		n.Sections = append(n.Sections, search.Section{Heading: h.Text, Start: h.Own.Start})
	}
	return n
}

// changes are those that make the notes of a vault.
func (v vault) changes() []search.Change {
	var list []search.Change
	for path, text := range v {
		list = append(list, search.Change{Doc: path, Note: note(text)})
	}
	return list
}

// index is the index of a vault, made at once.
func (v vault) index(language string) *search.Index {
	return search.Empty(language).With(v.changes())
}

func (v vault) text(path string) ([]byte, error) {
	text, ok := v[path]
	if !ok {
		return nil, fmt.Errorf("no note at %q", path)
	}
	return []byte(text), nil
}

// paths are the notes of some hits.
func paths(r search.Results) []string {
	list := []string{}
	for _, h := range r.Items {
		list = append(list, h.Doc)
	}
	return list
}
