package tooltest

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A File is a book on the way in or out.
type File struct {
	Path string `json:"path" jsonschema:"the book's id"`
	Text string `json:"text" jsonschema:"the book's title"`
}

type importIn struct {
	tool.Vault
	tool.Mutation
	Files []File `json:"files" jsonschema:"the files"`
	Mode  string `json:"mode,omitempty" enum:"create,replace,skip" default:"create" jsonschema:"what to do with a book that is there"`
}

type importOut struct {
	tool.Aside `json:"-"`
	Created    int `json:"created" jsonschema:"how many books are new"`
	Replaced   int `json:"replaced" jsonschema:"how many were there with another title"`
	Skipped    int `json:"skipped" jsonschema:"how many were left as they are"`
}

func (l *library) importBooks(_ context.Context, _ auth.Caller, in importIn) (out importOut, err error) {
	err = l.at(in.Vault.Vault, func(s *shelf) error {
		for _, f := range in.Files {
			was, there := s.books[f.Path]
			switch {
			case there && (was.Title == f.Text || in.Mode == "skip"):
				out.Skipped++
				continue
			case there:
				out.Replaced++
			default:
				out.Created++
			}
			if !in.DryRun {
				s.put(Book{f.Path, f.Text, map[string]any{}})
			}
		}
		out.Note("version", s.label())
		return nil
	})
	return out, err
}

type exportIn struct {
	tool.Vault
	tool.Page
}

type exportOut struct {
	tool.Aside `json:"-"`
	Files      []File `json:"files" jsonschema:"the books as files"`
}

func (l *library) exportBooks(
	ctx context.Context, c auth.Caller, in exportIn,
) (exportOut, error) {
	page, err := l.list(ctx, c, listIn{Vault: in.Vault, Page: in.Page})
	out := exportOut{Aside: page.Aside, Files: []File{}}
	for _, b := range page.Items {
		out.Files = append(out.Files, File{b.ID, b.Title})
	}
	return out, err
}
