package tooltest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A Book is what the sample tools keep.
type Book struct {
	ID     string         `json:"id" jsonschema:"its path on the shelf"`
	Title  string         `json:"title" jsonschema:"what it is called"`
	Fields map[string]any `json:"fields" jsonschema:"what else is known of it"`
}

// library is the state behind the sample tools.
type library struct {
	mu      sync.Mutex
	shelves map[string]*shelf
}

// shelf is what a vault is to the sample tools.
type shelf struct {
	version int
	books   map[string]Book
	keys    map[string]added
}

// added remembers what a call with an idempotency key has done.
type added struct {
	request tool.Digest
	book    Book
}

func newLibrary() *library {
	l := &library{shelves: map[string]*shelf{"main": newShelf(), "spare": newShelf()}}
	for i, id := range Books() {
		genre := []string{"saga", "atlas"}[i%2]
		l.shelves["main"].put(Book{id, "Book " + id, map[string]any{"genre": genre, "pages": i}})
	}
	return l
}

func newShelf() *shelf {
	return &shelf{books: map[string]Book{}, keys: map[string]added{}}
}

// at runs a function on a shelf, one at a time.
func (l *library) at(vault string, fn func(*shelf) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.shelves[vault]
	if !ok {
		return fault.New(fault.InvalidParameter, "name one of your vaults").
			With("available", slices.Sorted(maps.Keys(l.shelves)))
	}
	return fn(s)
}

func (s *shelf) put(b Book) {
	s.version++
	s.books[b.ID] = b
}

func (s *shelf) find(id string) (Book, error) {
	b, ok := s.books[id]
	if !ok {
		return Book{}, fault.New(fault.NotFound, "there is no book %q", id).
			Try("books_book_list", nil)
	}
	return b, nil
}

// holds is nil if nothing changed after the version that the call builds on.
func (s *shelf) holds(m tool.Mutation) error {
	if m.IfVersion == "" || m.IfVersion == s.label() {
		return nil
	}
	return fault.New(fault.Conflict, "the shelf is at %s", s.label()).
		With("latest_version", s.label())
}

func (s *shelf) label() string { return fmt.Sprintf("v%d", s.version) }

// sorted are the books by id.
func (s *shelf) sorted() []Book {
	return slices.SortedFunc(maps.Values(s.books), func(a, b Book) int {
		return strings.Compare(a.ID, b.ID)
	})
}

type createIn struct {
	Name string `json:"name" jsonschema:"what the shelf is to be called"`
}

type createOut struct {
	tool.Aside `json:"-"`
	Name       string `json:"name" jsonschema:"what the shelf is called"`
}

func (l *library) create(_ context.Context, _ auth.Caller, in createIn) (createOut, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.shelves[in.Name]; ok {
		return createOut{}, fault.New(fault.DuplicateID, "there is a shelf %q", in.Name)
	}
	l.shelves[in.Name] = newShelf()
	return createOut{Name: in.Name}, nil
}

type whoamiOut struct {
	tool.Aside `json:"-"`
	Principal  string `json:"principal" jsonschema:"who is answered for"`
	Agent      string `json:"agent" jsonschema:"who acts"`
	Session    string `json:"session" jsonschema:"whose view state is meant"`
	ReadOnly   bool   `json:"read_only" jsonschema:"whether mutations are refused"`
	RequestID  string `json:"request_id" jsonschema:"what names the call in the log"`
}

func (l *library) whoami(_ context.Context, c auth.Caller, _ struct{}) (whoamiOut, error) {
	return whoamiOut{
		Principal: c.Principal, Agent: c.Agent, Session: c.Session,
		ReadOnly: c.ReadOnly, RequestID: c.RequestID,
	}, nil
}

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
