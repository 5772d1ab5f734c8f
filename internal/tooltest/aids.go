package tooltest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

var (
	bookPrompt = tool.Spec{
		Name: "books_prompt_review", Short: "review", Family: books, Title: "Review a book",
		Doc:    "An instruction to review a book.\n\n## Example\n```sh\nrookery review people/freya\n```",
		Prompt: true, Route: tool.Route{Method: "GET", Path: "/prompts/review"},
		Commands: []tool.Command{{Words: "review", Args: []string{"id"}}},
		Resources: []tool.Resource{{
			URI: "rookery://{vault}/reviews/{+id}", Name: "review", Title: "A review",
			Doc: "How to review a book.", MIME: "text/plain", Key: "text",
		}},
	}
	bookComplete = tool.Spec{
		Name: "books_complete", Family: books, Title: "Complete a book's id",
		Doc:       "Completes ids.\n\n## Example\n```sh\nrookery complete book\n```",
		Route:     tool.Route{Method: "GET", Path: "/complete"},
		Commands:  []tool.Command{{Words: "complete book", Args: []string{"prefix?"}}},
		Completes: []string{"book"},
	}
	shelfComplete = tool.Spec{
		Name: "desk_complete", Family: desk, Title: "Complete a shelf's name",
		Doc:       "Completes names.\n\n## Example\n```sh\nrookery complete shelf\n```",
		Route:     tool.Route{Method: "GET", Path: "/complete"},
		Commands:  []tool.Command{{Words: "complete shelf", Args: []string{"prefix?"}}},
		Completes: []string{"vault"},
	}
)

type reviewIn struct {
	tool.Vault
	ID    string `json:"id" complete:"book" jsonschema:"the book to review"`
	Tone  string `json:"tone,omitempty" enum:"kind,harsh" jsonschema:"how it is meant"`
	Lines int    `json:"lines,omitempty" max:"9" jsonschema:"how long it is at most"`
}

type reviewOut struct {
	tool.Aside `json:"-"`
	Text       string `json:"text" jsonschema:"the instruction"`
}

func (l *library) prompt(_ context.Context, _ auth.Caller, in reviewIn) (out reviewOut, err error) {
	err = l.at(in.Vault.Vault, func(s *shelf) error {
		b, err := s.find(in.ID)
		out.Text = strings.TrimSpace("Review " + b.Title + ". " + in.Tone)
		return err
	})
	return out, err
}

type completeBookIn struct {
	tool.Vault
	Kind string `json:"kind" enum:"book" jsonschema:"what is being typed"`
	tool.CompletionIn
}

func (l *library) completeBook(
	_ context.Context, _ auth.Caller, in completeBookIn,
) (out tool.Values, err error) {
	err = l.at(in.Vault.Vault, func(s *shelf) error {
		var ids []string
		for id := range s.books {
			ids = append(ids, id)
		}
		out, err = valuesOf(ids, in.CompletionIn)
		return err
	})
	return out, err
}

type completeShelfIn struct {
	Kind string `json:"kind" enum:"vault" jsonschema:"what is being typed"`
	tool.CompletionIn
}

func (l *library) completeShelf(
	_ context.Context, _ auth.Caller, in completeShelfIn,
) (tool.Values, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return valuesOf(slices.Collect(maps.Keys(l.shelves)), in.CompletionIn)
}

// valuesOf are a page of those that begin as typed, in order.
func valuesOf(all []string, in tool.CompletionIn) (tool.Values, error) {
	out := tool.Values{Items: []string{}}
	after, err := in.After(desk)
	if err != nil {
		return out, err
	}
	slices.Sort(all)
	for _, value := range all {
		if value <= after || !strings.HasPrefix(value, in.Prefix) {
			continue
		}
		if len(out.Items) == in.Limit {
			out.More(out.Items[in.Limit-1])
			break
		}
		out.Items = append(out.Items, value)
	}
	return out, nil
}
