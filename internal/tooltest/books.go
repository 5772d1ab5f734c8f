package tooltest

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

type bookOut struct {
	tool.Aside `json:"-"`
	Action     string `json:"action,omitempty" jsonschema:"created, updated, deleted or unchanged"`
	DryRun     bool   `json:"dry_run,omitempty" jsonschema:"whether nothing was done"`
	Object     Book   `json:"object" jsonschema:"the book, whole"`
}

type getIn struct {
	tool.Vault
	ID    string `json:"id" alias:"book_id,reference" complete:"book" jsonschema:"the book's id"`
	Depth int    `json:"depth,omitempty" default:"1" min:"0" max:"2" jsonschema:"how much to answer"`
}

func (l *library) get(_ context.Context, _ auth.Caller, in getIn) (out bookOut, err error) {
	err = l.at(in.Vault.Vault, func(s *shelf) error {
		out.Note("version", s.label())
		out.Object, err = s.find(in.ID)
		return err
	})
	return out, err
}

type listIn struct {
	tool.Vault
	tool.Page
	Genre string   `json:"genre,omitempty" enum:"saga,atlas" jsonschema:"only books of this genre"`
	Field []string `json:"field,omitempty" alias:"where" jsonschema:"only books with these fields, each name=value"`
	Slim  bool     `json:"slim,omitempty" jsonschema:"leave the fields out"`
}

type listOut struct {
	tool.Aside `json:"-"`
	Items      []Book `json:"items" jsonschema:"the books"`
}

func (l *library) list(_ context.Context, _ auth.Caller, in listIn) (listOut, error) {
	out := listOut{Items: []Book{}}
	err := l.at(in.Vault.Vault, func(s *shelf) error {
		all := slices.DeleteFunc(s.sorted(), func(b Book) bool { return !in.matches(b) })
		from, err := after(all, in.PageToken)
		if err != nil {
			return err
		}
		out.page(all[from:], limitOf(in.Page))
		out.Note("version", s.label())
		out.Note("total", len(all))
		if len(all) == 0 {
			out.Warn("NO_RESULTS", "no book matches", map[string]any{"genre": in.Genre})
		}
		return nil
	})
	if in.Slim {
		for i := range out.Items {
			out.Items[i].Fields = nil
		}
	}
	return out, err
}

// page takes the first of these books, and says where the next page begins.
func (o *listOut) page(rest []Book, limit int) {
	o.Items = append(o.Items, rest[:min(limit, len(rest))]...)
	o.Note("count", len(o.Items))
	o.Note("has_more", len(rest) > limit)
	if len(rest) > limit {
		last := o.Items[len(o.Items)-1].ID
		o.Note("next_page_token", base64.RawURLEncoding.EncodeToString([]byte(last)))
	}
}

func (in *listIn) matches(b Book) bool {
	if in.Genre != "" && b.Fields["genre"] != in.Genre {
		return false
	}
	for _, pair := range in.Field {
		name, value, _ := strings.Cut(pair, "=")
		if fmt.Sprint(b.Fields[name]) != value {
			return false
		}
	}
	return true
}

func limitOf(p tool.Page) int {
	if p.Limit == 0 {
		return 50
	}
	return p.Limit
}

// after is where the books behind the one that a page token names begin.
func after(books []Book, token string) (int, error) {
	last, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return 0, fault.New(fault.InvalidParameter, "argument %q is not a token of ours", "page_token")
	}
	for i, b := range books {
		if b.ID > string(last) {
			return i, nil
		}
	}
	return len(books), nil
}

type newIn struct {
	tool.Vault
	tool.Mutation
	Title  string      `json:"title" max:"200" jsonschema:"what the book is called; its id is made of it"`
	Fields tool.Fields `json:"fields,omitempty" alias:"field" jsonschema:"what else is known of it"`
	Text   string      `json:"text,omitempty" jsonschema:"what stands in it"`
}

func (l *library) add(_ context.Context, _ auth.Caller, in newIn) (out bookOut, err error) {
	b := Book{strings.ToLower(in.Title), in.Title, plain(in.Fields)}
	out = bookOut{Action: "created", DryRun: in.DryRun, Object: b}
	err = l.at(in.Vault.Vault, func(s *shelf) error {
		defer func() { out.Note("version", s.label()) }()
		if was, ok := s.keys[in.IdempotencyKey]; ok && in.IdempotencyKey != "" {
			if was.request != in.Request() {
				return fault.New(fault.KeyReused, "the key belongs to another call")
			}
			out.Object = was.book
			out.Note("replayed", true)
			return nil
		}
		if err := s.holds(in.Mutation); err != nil {
			return err
		}
		if _, ok := s.books[b.ID]; ok {
			return fault.New(fault.DuplicateID, "there is a book %q", b.ID)
		}
		if !in.DryRun {
			s.put(b)
			s.keys[in.IdempotencyKey] = added{in.Request(), b}
		}
		return nil
	})
	return out, err
}

// plain are the fields as JSON would have them.
func plain(f tool.Fields) map[string]any {
	out := map[string]any{}
	for name, v := range f {
		if text, ok := v.(tool.Text); ok {
			v = string(text)
		}
		out[name] = v
	}
	return out
}

type setIn struct {
	tool.Vault
	tool.Mutation
	ID  string      `json:"id" alias:"reference" jsonschema:"the book's id"`
	Set tool.Fields `json:"set" alias:"fields" jsonschema:"fields and their new values"`
}

func (l *library) set(_ context.Context, _ auth.Caller, in setIn) (out bookOut, err error) {
	return l.change(in.Vault.Vault, in.ID, in.Mutation, func(s *shelf, b Book) (Book, string) {
		b.Fields = maps.Clone(b.Fields)
		maps.Copy(b.Fields, plain(in.Set))
		if !in.DryRun {
			s.put(b)
		}
		return b, "updated"
	})
}

type deleteIn struct {
	tool.Vault
	tool.Mutation
	ID    string `json:"id" jsonschema:"the book's id"`
	Force bool   `json:"force,omitempty" jsonschema:"also if somebody reads it"`
}

func (l *library) remove(_ context.Context, _ auth.Caller, in deleteIn) (out bookOut, err error) {
	return l.change(in.Vault.Vault, in.ID, in.Mutation, func(s *shelf, b Book) (Book, string) {
		if !in.DryRun {
			s.version++
			delete(s.books, b.ID)
		}
		return b, "deleted"
	})
}

// change runs a function on one book of a shelf.
func (l *library) change(
	vault, id string, m tool.Mutation, fn func(*shelf, Book) (Book, string),
) (out bookOut, err error) {
	err = l.at(vault, func(s *shelf) error {
		defer func() { out.Note("version", s.label()) }()
		if err := s.holds(m); err != nil {
			return err
		}
		b, err := s.find(id)
		if err != nil {
			return err
		}
		out.DryRun = m.DryRun
		out.Object, out.Action = fn(s, b)
		return nil
	})
	return out, err
}

// failIn says in which way to fail; `late` waits until the call's time is over.
type failIn struct {
	How string `json:"how" enum:"fault,several,busy,limited,unauthenticated,denied,error,panic,late" jsonschema:"in which way to fail"`
}

// Secret stands in the text of the errors and panics that fail makes. No answer may hold it.
const Secret = "swordfish"

func (l *library) fail(ctx context.Context, _ auth.Caller, in failIn) (struct{}, error) {
	switch in.How {
	case "fault":
		return struct{}{}, fault.New(fault.InvalidField, "no field %q", "pagse").
			With("available", []string{"pages"}).Fix("use %q", "pages").At("books/edda.md", 3)
	case "several":
		return struct{}{}, fault.Join(fault.ValidationFailed, []*fault.Fault{
			fault.New(fault.MissingRequired, "no title"), fault.New(fault.InvalidValue, "no number"),
		})
	case "busy":
		return struct{}{}, fault.New(fault.Unavailable, "try again")
	case "limited":
		return struct{}{}, fault.New(fault.RateLimited, "too many calls").After(1500 * time.Millisecond)
	case "unauthenticated":
		return struct{}{}, fault.New(fault.Unauthenticated, "say who you are")
	case "denied":
		return struct{}{}, fault.New(fault.PermissionDenied, "you need a higher role")
	case "panic":
		panic(Secret)
	case "late":
		<-ctx.Done()
		return struct{}{}, ctx.Err()
	}
	return struct{}{}, fmt.Errorf("read the shelf: %s", Secret)
}
