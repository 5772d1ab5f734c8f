package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/search"
)

//go:embed questions
var written embed.FS

// notesOf is the set of a vault in a folder: with the questions that were written for it, and its file names, aliases
// and the texts of its links as questions.
func notesOf(folder, name, questions string) (*set, error) {
	c := index.Commit{Seq: 1, Time: time.Unix(0, 0)}
	texts := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".md" && path.Ext(p) != ".yaml" {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(folder), p)
		texts[p] = text
		c.Changes = append(c.Changes, index.Change{Path: p, Text: text})
		return err
	})
	if err != nil {
		return nil, err
	}
	x := index.Build(slices.Values([]index.Commit{c}))
	s := &set{
		name: name, things: x.Totals().Notes, profile: search.Notes(), query: search.ParseQuery, exact: x.Named,
		index: func(p search.Profile) *search.Index {
			var changes []search.Change
			for n := range x.Notes("") {
				changes = append(changes, search.Change{Doc: n.Path, Note: repo.SearchNote(n, texts[n.Path])})
			}
			return search.New(p, x.Config().Language).With(changes)
		},
	}
	if s.questions, err = readQuestions(questions, texts); err != nil {
		return nil, err
	}
	s.questions = append(s.questions, names(x)...)
	return s, nil
}

// readQuestions reads a list of questions: on each line one, a tab, and the paths of the notes that answer it.
func readQuestions(name string, texts map[string][]byte) ([]question, error) {
	data, err := written.ReadFile("questions/" + name + ".tsv")
	if err != nil {
		return nil, err
	}
	var all []question
	for line := range strings.Lines(string(data)) {
		text, rest, _ := strings.Cut(strings.TrimSpace(line), "\t")
		q := question{kind: "written", text: text}
		for part := range strings.SplitAfterSeq(rest, ".md") {
			p := strings.TrimSpace(part)
			if p == "" {
				continue
			}
			if texts[p] == nil {
				return nil, fmt.Errorf("the vault has no %s, which answers %q", p, text)
			}
			q.evidence = append(q.evidence, p)
		}
		all = append(all, q)
	}
	return all, nil
}

// names are the names of notes, and what links show, as questions.
func names(x *index.Index) []question {
	var all []question
	for n := range x.Notes("") {
		base := strings.TrimSuffix(path.Base(n.Path), ".md")
		all = append(all, question{"file name", base, namesakes(x, n, base)})
		for _, field := range []string{"alias", "aliases"} {
			f, _ := n.Field(field)
			for _, alias := range strings.FieldsFunc(fmt.Sprint(f.Value),
				func(r rune) bool { return r == '[' || r == ']' || r == ',' }) {
				if f.Value != nil {
					all = append(all, question{"alias", alias, []string{n.Path}})
				}
			}
		}
		for _, ref := range n.Refs {
			if to := x.From(n, ref.Target); ref.Display != "" && to.Object.Note != nil {
				all = append(all, question{"link text", ref.Display, []string{to.Object.Note.Path}})
			}
		}
	}
	return all
}

// namesakes are the notes of a file name.
func namesakes(x *index.Index, n *index.Note, base string) []string {
	all := []string{n.Path}
	for other := range x.Notes("") {
		if strings.EqualFold(path.Base(other.Path), base+".md") {
			all = append(all, other.Path)
		}
	}
	return all
}
