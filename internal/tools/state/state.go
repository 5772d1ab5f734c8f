// Package state reads vaults for the tools of all families: the newest state, past states, and
// lists in pages.
package state

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Source opens the vaults that calls name. It is safe for concurrent use.
type Source struct {
	// Teams contains the tenants.
	Teams *tenant.Registry
	// Family determines the code of the faults of malformed arguments.
	Family *tool.Family
}

// Vault returns the vault with a name in the caller's tenant, or NOT_FOUND. The vault is in use
// until ctx ends, and may be closed after that. The caller's rights are not checked here.
func (s Source) Vault(ctx context.Context, c auth.Caller, name string) (*repo.Vault, error) {
	t, err := s.Teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return t.Vault(ctx, name)
}

// Folder returns the checkout of a vault, or nil if the vault has none.
func (s Source) Folder(
	ctx context.Context, c auth.Caller, name string,
) (*checkout.Checkout, error) {
	t, err := s.Teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return t.Folder(ctx, name)
}

// A View is one state of a vault, for a call that reads.
type View struct {
	Vault *repo.Vault
	// Index is the state at the version of the View.
	Index *index.Index
	Clock vault.Clock // defines today, and the time zone, for this call

	// Control is the control item as it was read together with the newest version, also in a View
	// of an older version. It may be newer than Index.
	Control repo.Control

	family *tool.Family
}

// View returns the newest state of a vault. A vault that does not exist is NOT_FOUND.
func (s Source) View(ctx context.Context, c auth.Caller, name string) (View, error) {
	v, err := s.Vault(ctx, c, name)
	if err != nil {
		return View{}, err
	}
	idx, control, err := v.ReadControl(ctx)
	if err != nil {
		return View{}, err
	}
	return View{v, idx, Clock(idx, v.Now()), control, s.Family}, nil
}

// ViewAt returns the state of a vault at the version or time of the as_of argument or, without one,
// its newest state. Words such as today refer to the time of the call in both cases. A version that
// does not exist yet is NOT_FOUND.
func (s Source) ViewAt(
	ctx context.Context, c auth.Caller, name string, at tool.AsOf,
) (View, error) {
	v, err := s.View(ctx, c, name)
	if err != nil || at.AsOf == "" {
		return v, err
	}
	version, err := v.VersionAt(ctx, at.AsOf)
	if err != nil {
		return View{}, err
	}
	idx, err := v.Vault.At(ctx, version)
	if err != nil {
		return View{}, InArgument(err, "as_of")
	}
	return View{v.Vault, idx, Clock(idx, v.Clock.Now), v.Control, s.Family}, nil
}

// Searchable returns a vault and the search index of its notes, at the version or time of the as_of
// argument. Without one it reads the log once.
func (s Source) Searchable(
	ctx context.Context, c auth.Caller, name string, at tool.AsOf,
) (*repo.Vault, repo.Searchable, error) {
	return s.searchable(ctx, c, name, indexRequest{at, (*repo.Vault).Searchable, (*repo.Vault).SearchableAt})
}

// SearchableMemories is Searchable for the memories of a vault.
func (s Source) SearchableMemories(
	ctx context.Context, c auth.Caller, name string, at tool.AsOf,
) (*repo.Vault, repo.Searchable, error) {
	return s.searchable(ctx, c, name,
		indexRequest{at, (*repo.Vault).SearchableMemories, (*repo.Vault).SearchableMemoriesAt})
}

// A indexRequest is a request for a search index: the as_of argument, and the methods that return
// the newest index and a past one.
type indexRequest struct {
	at     tool.AsOf
	newest func(*repo.Vault, context.Context) (repo.Searchable, error)
	past   func(*repo.Vault, context.Context, uint64) (repo.Searchable, error)
}

// searchable implements Searchable and SearchableMemories.
func (s Source) searchable(
	ctx context.Context, c auth.Caller, name string, how indexRequest,
) (*repo.Vault, repo.Searchable, error) {
	v, err := s.Vault(ctx, c, name)
	if err != nil {
		return nil, repo.Searchable{}, err
	}
	if how.at.AsOf == "" {
		found, err := how.newest(v, ctx)
		return v, found, err
	}
	now, err := s.View(ctx, c, name)
	if err != nil {
		return nil, repo.Searchable{}, err
	}
	version, err := now.VersionAt(ctx, how.at.AsOf)
	if err != nil {
		return nil, repo.Searchable{}, err
	}
	found, err := how.past(v, ctx, version)
	return v, found, InArgument(err, "as_of")
}

// Version returns the version of the state in the form v42, for the meta of an answer.
func (v View) Version() string { return eventlog.Version(v.Index.Version()) }

// mostAhead is the maximum number of bytes of texts that Prefetch reads.
const mostAhead = 8 << 20

// Prefetch reads the texts of the notes at these paths into the cache together, instead of one by
// one later. It skips paths without a file, and stops after mostAhead bytes.
func (v View) Prefetch(ctx context.Context, paths iter.Seq[string]) {
	v.Vault.PrefetchFiles(ctx, func(yield func(*index.File) bool) {
		for path := range paths {
			if f, ok := v.Index.File(path); ok && !yield(f) {
				return
			}
		}
	}, mostAhead)
}

// Clock returns a clock that is at now, in the time zone of the vault's configuration.
func Clock(idx *index.Index, now time.Time) vault.Clock { return idx.Config().Clock(now) }

// Local returns the time of a clock in the clock's own zone, or in UTC if it has none.
func Local(c vault.Clock) time.Time {
	if c.Zone == nil {
		return c.Now.UTC()
	}
	return c.Now.In(c.Zone)
}

// Schema returns the schema of the vault. It returns an error if schema.yaml cannot be loaded, for
// calls whose result depends on the types. A vault without a schema.yaml has the built-in types.
func Schema(idx *index.Index) (*vault.Schema, error) {
	if err := idx.SchemaErr(); err != nil {
		return nil, err
	}
	return idx.Schema(), nil
}

// InArgument adds the name of an argument to a NOT_FOUND fault, as the detail `argument`. It
// returns other errors, and nil, unchanged.
func InArgument(err error, name string) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Of(err).With("argument", name)
	}
	return err
}

// VersionAt returns the version that an as_of argument selects: the given version, or the newest
// one at a given time. A time with a clock means that moment. A day, or any other period, means its
// end, so that a question about a day includes every change of that day. Times are in the vault's
// current time zone. A time in the future, or a period without an end, selects the newest version.
// A time before the first version selects v0, at which the vault is empty.
//
// It does not check that a given version exists. A text that is neither a version nor a time is a
// fault with the family's Malformed code.
func (v View) VersionAt(ctx context.Context, text string) (uint64, error) {
	text = strings.TrimSpace(text)
	if version, ok := eventlog.ParseVersion(text); ok {
		return version, nil
	}
	i, err := vault.ParseTime(text, v.Clock)
	if err != nil {
		forms := append([]string{"v42"}, vault.TimeForms()...)
		return 0, fault.New(v.family.Malformed, "as_of must be a version or a time: one of %s",
			strings.Join(forms, ", ")).With("argument", "as_of").With("allowed", forms)
	}
	end := i.To
	switch {
	case end.IsZero(): // the period has no end
		return v.Index.Version(), nil
	case i.From.Before(i.To):
		end = end.Add(-1) // To is the first moment after the period
	}
	return v.Vault.VersionAt(ctx, end)
}

// An Input is the input of a tool that reads one state of a vault. An input that embeds tool.Vault
// and tool.AsOf implements it.
type Input interface {
	VaultName() string
	State() tool.AsOf
}

// A Noted is a pointer to an output that embeds tool.Aside.
type Noted[Out any] interface {
	*Out
	Note(key string, value any)
}

// NewTool returns a tool that calls fn with the vault of the call, at the version or time of the
// as_of argument, and records that version in the meta of the answer.
func NewTool[In Input, Out any, O Noted[Out]](
	s Source, spec tool.Spec, fn func(context.Context, View, In) (Out, error),
) *tool.Tool {
	return tool.New(spec, func(ctx context.Context, c auth.Caller, in In) (Out, error) {
		v, err := s.ViewAt(ctx, c, in.VaultName(), in.State())
		if err != nil {
			var none Out
			return none, err
		}
		out, err := fn(ctx, v, in)
		O(&out).Note("version", v.Version())
		return out, err
	})
}

// Twins finds notes of one list that have exactly the same text.
type Twins struct {
	x *index.Index
	// seen contains the number of each different text.
	seen map[index.Digest]int
}

// NewTwins returns a Twins for notes of an index.
func NewTwins(x *index.Index) *Twins { return &Twins{x, map[index.Digest]int{}} }

// Of reports whether an earlier note of the list has the same text as the note at path, and returns
// the number of that note. It numbers the different texts from 0, in the order in which Of first
// sees them. It returns false for a path without a file.
func (t *Twins) Of(path string) (number int, isTwin bool) {
	f, ok := t.x.File(path)
	if !ok {
		return 0, false
	}
	number, isTwin = t.seen[f.Digest]
	if !isTwin {
		t.seen[f.Digest] = len(t.seen)
	}
	return number, isTwin
}

// mostAbout is the maximum size in bytes of the label of a suggestion.
const mostAbout = 80

// Complete returns completion suggestions from the newest state of a vault: one page of the values
// that begin with in.Prefix. The function values must yield each value with its label, in ascending
// order of the values; an empty label is left out, and a long one is shortened to mostAbout bytes.
// A page has at most in.Limit values. If the context ends, Complete returns its error.
func (s Source) Complete(
	ctx context.Context, c auth.Caller, vault string, in tool.CompletionIn,
	values func(View) iter.Seq2[string, string],
) (tool.Values, error) {
	v, err := s.View(ctx, c, vault)
	if err != nil {
		return tool.Values{}, err
	}
	out, err := Suggestions(ctx, s.Family, in, values(v))
	out.Note("version", v.Version())
	return out, err
}

// Suggestions returns the page of Complete from values of any source.
func Suggestions(
	ctx context.Context, f *tool.Family, in tool.CompletionIn, values iter.Seq2[string, string],
) (tool.Values, error) {
	out := tool.Values{Items: []string{}}
	after, err := in.After(f)
	if err != nil {
		return out, err
	}
	going := KeepGoing(ctx)
	for value, about := range values {
		if !going() {
			break
		}
		if value <= after || !strings.HasPrefix(value, in.Prefix) {
			continue
		}
		if len(out.Items) == in.Limit {
			out.More(out.Items[in.Limit-1])
			break
		}
		out.Items = append(out.Items, value)
		if about != "" {
			if out.About == nil {
				out.About = map[string]string{}
			}
			out.About[value] = tool.Beginning(about, mostAbout)
		}
	}
	return out, ctx.Err()
}

// A Listing is a list that is answered in pages, ordered by path, line and position.
type Listing[T any] struct {
	// Behind yields the items after a location, in order. The zero Location yields all.
	After func(index.Location) iter.Seq[T]
	// Spot returns the location of an item.
	Location func(T) index.Location
	// Count returns the number of all items; nil: Total counts them.
	Count func() int
}

// Total returns the number of items in the whole list. Without a Count it counts them and stops as
// soon as goOn returns false; the result is then too small.
func (l Listing[T]) Total(goOn func() bool) int {
	if l.Count != nil {
		return l.Count()
	}
	n := 0
	for range l.After(index.Location{}) {
		if n++; !goOn() {
			break
		}
	}
	return n
}

// lookEvery is the number of steps of a loop between two checks whether its call has ended.
const lookEvery = 256

// KeepGoing returns a function that a loop calls at each step, and that reports whether to continue. It
// checks the context at every lookEvery-th step, and returns false there once the context has
// ended. The caller of the loop must then return the context's error. The function is for one
// goroutine.
func KeepGoing(ctx context.Context) func() bool {
	step := 0
	return func() bool {
		step++
		return step%lookEvery != 0 || ctx.Err() == nil
	}
}

// A Pager is a request for a page.
type Pager struct {
	// Aside is the part of the answer that receives the meta and the warnings of the page.
	Aside *tool.Aside
	// Family determines the code of the fault of an invalid page token.
	Family *tool.Family
	// Page contains the limit and the page token of the call.
	Page tool.Page
}

// Page returns one page of a listing, each item converted by show. It records in the meta the
// count, the total, has_more and the token of the next page (CONTRACT §1), and warns with
// NO_RESULTS if the whole list is empty. A page ends at p.Page.Limit items, or earlier at the
// maximum size of an answer; it has at least one item if there is one. An invalid page token is a
// fault with the family's Malformed code. If the context ends, Page returns its error.
func Page[T, Item any](
	ctx context.Context, p Pager, l Listing[T], show func(T) Item,
) ([]Item, error) {
	items := []Item{}
	after, err := LocationAfter(p.Family, p.Page)
	if err != nil {
		return items, err
	}
	more, last := false, index.Location{}
	for v := range l.After(after) {
		if more = len(items) == p.Page.Limit; more {
			break
		}
		item := show(v)
		// The first item is always listed, so that each page makes progress.
		if more = !p.Aside.Fits(item) && len(items) > 0; more {
			break
		}
		items, last = append(items, item), l.Location(v)
	}
	total := len(items)
	// The total of a list with a single page is the number of its items.
	if more || p.Page.PageToken != "" {
		total = l.Total(KeepGoing(ctx))
	}
	if err := ctx.Err(); err != nil {
		return items, err // counting stopped early
	}
	p.Aside.Paged(len(items), total, more, locationKey(last))
	if total == 0 {
		p.Aside.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return items, nil
}

// ListAfter returns a value for Listing.Behind: the function that lists the items of one key, `of`,
// after a location.
func ListAfter[K, T any](list func(K, index.Location) iter.Seq[T], of K) func(index.Location) iter.Seq[T] {
	return func(after index.Location) iter.Seq[T] { return list(of, after) }
}

// locationKey returns a location in the form that page tokens contain: LINE:POSITION:PATH.
func locationKey(s index.Location) string {
	return fmt.Sprintf("%d:%d:%s", s.Line, s.Position, s.Path)
}

// LocationAfter returns the location after which the requested page begins: the zero Location for the
// first page. A token that another kind of list wrote is the fault of OtherList.
func LocationAfter(f *tool.Family, in tool.Page) (index.Location, error) {
	key, err := in.After(f)
	if err != nil || key == "" {
		return index.Location{}, err
	}
	parts := strings.SplitN(key, ":", 3)
	if len(parts) == 3 {
		line, err1 := strconv.Atoi(parts[0])
		position, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil {
			return index.Location{Path: parts[2], Line: line, Position: position}, nil
		}
	}
	return index.Location{}, OtherList(f)
}

// OtherList returns the fault of a page token that another list wrote.
func OtherList(f *tool.Family) error {
	return fault.New(f.Malformed, "page_token is from another list").
		With("argument", "page_token").Fix("use meta.next_page_token of the previous page")
}

// PageOf returns one page of a list that is small enough to be built completely. key returns the
// key of an item for the page token. begins returns the index in `all` of the first item after a
// key, and false if the key is from another list. The meta and the warning are those of Page.
func PageOf[T any](
	p Pager, all []T, key func(T) string, begins func(string) (int, bool),
) ([]T, error) {
	after, err := p.Page.After(p.Family)
	if err != nil {
		return nil, err
	}
	first, known := 0, true
	if after != "" {
		first, known = begins(after)
	}
	if !known {
		return nil, OtherList(p.Family)
	}
	last := min(first+p.Page.Limit, len(all))
	items, end := slices.Clone(all[first:last]), ""
	if last > first {
		end = key(all[last-1])
	}
	p.Aside.Paged(len(items), len(all), last < len(all), end)
	if len(all) == 0 {
		p.Aside.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return items, nil
}
