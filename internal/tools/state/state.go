// Package state reads vaults for the tools of all families: the newest state, past states, and
// lists in pages.
package state

import (
	"context"
	"iter"
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
