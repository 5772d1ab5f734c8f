// Package tooltest holds what the tests of every projection share.
//
// Sample is a catalogue of small tools over shelves of books in memory. Between them they have
// every feature of a Spec, so that a projection is tested without knowing a tool of the product.
package tooltest

import (
	"cmp"
	"fmt"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Sample is a catalogue of the sample tools with two shelves: `main` with the books that Books
// lists, and `spare` with none. Every call of Sample makes new shelves. It is safe for concurrent
// use.
func Sample() *tool.Catalogue {
	c, err := tool.NewCatalogue(SampleTools(), tool.Options{})
	if err != nil {
		panic(fmt.Sprintf("tooltest: the sample tools are malformed: %v", err))
	}
	return c
}

// SampleTools are the tools of Sample, for a catalogue with options of its own.
func SampleTools() []*tool.Tool { return newLibrary().tools() }

// AidedTools are the tools of Sample, and with them a prompt and what completes the ids of books and
// the names of shelves.
func AidedTools() []*tool.Tool {
	l := newLibrary()
	return append(l.tools(),
		tool.New(specOf(bookPrompt), l.prompt),
		tool.New(specOf(bookComplete), l.completeBook),
		tool.New(specOf(shelfComplete), l.completeShelf))
}

func (l *library) tools() []*tool.Tool {
	return []*tool.Tool{
		tool.New(specOf(bookGet), l.get),
		tool.New(specOf(bookList), l.list),
		tool.New(specOf(bookNew), l.add),
		tool.New(specOf(bookSet), l.set),
		tool.New(specOf(bookDelete), l.remove),
		tool.New(specOf(bookImport), l.importBooks),
		tool.New(specOf(bookExport), l.exportBooks),
		tool.New(specOf(shelfCreate), l.create),
		tool.New(specOf(whoami), l.whoami),
		tool.New(specOf(fail), l.fail),
	}
}

// Books are the ids of the books on the shelf `main`, in the order of a list. They hold what a path
// and a query must escape.
func Books() []string {
	return []string{"a/b c#d%", "people/freya", "ünï/코드", "x?y=z&w"}
}

// books is a family under a vault, which here is a shelf. Its codes are unlike those of desk.
var books = &tool.Family{
	Name: "books", Base: "/v1/vaults/{vault}",
	Missing: fault.MissingRequired, Malformed: fault.InvalidValue, Several: fault.ValidationFailed,
	Groups: map[string]string{"book": "Read and write books"},
}

// desk is a family under no vault.
var desk = &tool.Family{
	Name: "desk", Base: "/v1",
	Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter,
	Several: fault.InvalidParameter,
}

// specOf fills in what most of the specs have in common: a reader may read, and an editor write.
func specOf(s tool.Spec) tool.Spec {
	role := auth.Reader
	if s.Kind.Mutates() {
		role = auth.Editor
	}
	s.Role = cmp.Or(s.Role, role)
	return s
}

var (
	bookGet = tool.Spec{
		Name: "books_book_get", Short: "get_book", Family: books, Title: "Get a book",
		Doc: "Answers one book, whole.\n\n## When\nYou know its id.\n\n## Example\n" +
			"```sh\nrookery book get people/freya\n```",
		Route:    tool.Route{Method: "GET", Path: "/books/{id}"},
		Commands: []tool.Command{{Words: "book get", Args: []string{"id"}}},
		Aliases:  []string{"books_book"},
		Resources: []tool.Resource{{
			URI: "rookery://{vault}/books/{+id}", Name: "book", Title: "A book", Doc: "One book.",
			MIME: "application/json",
		}},
	}
	bookList = tool.Spec{
		Name: "books_book_list", Short: "list_books", Family: books, Title: "List books",
		Doc: "Lists the books of a shelf, by id.\n\n## Example\n" +
			"```sh\nrookery book list --genre saga --field pages=100\n```",
		Route:    tool.Route{Method: "GET", Path: "/books"},
		Commands: []tool.Command{{Words: "book list", Args: []string{"genre?"}}},
		Resources: []tool.Resource{{
			URI: "rookery://{vault}/books", Name: "books", Title: "Books", Doc: "The books of a shelf.",
			MIME: "application/json", Each: true,
		}},
	}
	bookNew = tool.Spec{
		Name: "books_book_new", Short: "add_book", Family: books, Title: "Add a book",
		Doc:  "Puts a new book on a shelf.\n\n## Example\n```sh\nrookery book new Edda pages=120\n```",
		Kind: tool.Write, Route: tool.Route{Method: "POST", Path: "/books"},
		Commands: []tool.Command{
			{Words: "book new", Args: []string{"title"}, Pairs: "fields"},
			{Words: "new", Args: []string{"title"}},
		},
		Aliases: []string{"books_book_create"}, Flags: map[string]string{"fields": "field"},
	}
	bookSet = tool.Spec{
		Name: "books_book_set", Short: "set_book", Family: books, Title: "Set fields of a book",
		Doc:  "Sets fields of a book.\n\n## Example\n```sh\nrookery book set people/freya pages=7\n```",
		Kind: tool.Write, Idempotent: true,
		Route:    tool.Route{Method: "PATCH", Path: "/books/{id}"},
		Commands: []tool.Command{{Words: "book set", Args: []string{"id"}, Pairs: "set"}},
	}
	bookDelete = tool.Spec{
		Name: "books_book_delete", Short: "delete_book", Family: books, Title: "Delete a book",
		Doc:  "Takes a book off its shelf.\n\n## Example\n```sh\nrookery book delete people/freya\n```",
		Kind: tool.Destroy, Idempotent: true,
		Route:    tool.Route{Method: "DELETE", Path: "/books/{id}"},
		Commands: []tool.Command{{Words: "book delete", Args: []string{"id"}}},
	}
	bookImport = tool.Spec{
		Name: "books_import", Family: books, Title: "Import books",
		Doc:  "Brings files in as books.\n\n## Example\n```sh\nrookery shelf import ./books\n```",
		Kind: tool.Write, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/contents"},
		Commands: []tool.Command{{Words: "shelf import"}},
		Input: &tool.Files{Arg: "files", MaxFiles: 3, MaxBytes: 1 << 16, Before: &tool.Before{
			Flag: "create", Doc: "make the shelf first", Tool: "desk_shelf_create",
			Args: map[string]string{"name": "vault"},
		}},
	}
	bookExport = tool.Spec{
		Name: "books_export", Family: books, Title: "Export books",
		Doc:      "Answers the books as files.\n\n## Example\n```sh\nrookery shelf export ./out\n```",
		Route:    tool.Route{Method: "GET", Path: "/contents"},
		Commands: []tool.Command{{Words: "shelf export"}},
		Output:   &tool.Files{Arg: "files", MaxFiles: 3, MaxBytes: 1 << 16},
	}
	shelfCreate = tool.Spec{
		Name: "desk_shelf_create", Family: desk, Title: "Make a shelf",
		Doc:  "Makes an empty shelf.\n\n## Example\n```sh\nrookery shelf create spare-2\n```",
		Kind: tool.Write, Role: auth.Admin, Route: tool.Route{Method: "POST", Path: "/vaults"},
		Commands: []tool.Command{{Words: "shelf create", Args: []string{"name"}}},
	}
	whoami = tool.Spec{
		Name: "desk_whoami", Family: desk, Title: "Who calls",
		Doc:      "Answers who makes the call.\n\n## Example\n```sh\nrookery whoami\n```",
		Route:    tool.Route{Method: "GET", Path: "/whoami"},
		Commands: []tool.Command{{Words: "whoami"}},
	}
	fail = tool.Spec{
		Name: "desk_fail", Family: desk, Title: "Fail",
		Doc:      "Fails as it is told.\n\n## Example\n```sh\nrookery fail fault\n```",
		Kind:     tool.View,
		Route:    tool.Route{Method: "POST", Path: "/fail"},
		Commands: []tool.Command{{Words: "fail", Args: []string{"how"}}},
	}
)
