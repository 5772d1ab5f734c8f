// Package state reads vaults for the tools of every family: their newest state, a past state, and lists
// in pages.
package state

import (
	"context"
	"iter"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Source opens the vaults of calls. Malformed arguments are faults of the family.
type Source struct {
	Teams  *team.Teams
	Family *tool.Family
}

// Vault returns the vault of a call.
func (s Source) Vault(ctx context.Context, c auth.Caller, name string) (*repo.Vault, error) {
	t, err := s.Teams.Team(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return t.Vault(ctx, name)
}

// Folder returns the folder of a vault, nil if it has none.
func (s Source) Folder(
	ctx context.Context, c auth.Caller, name string,
) (*checkout.Checkout, error) {
	t, err := s.Teams.Team(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return t.Folder(ctx, name)
}

// A View is a vault at one version, for a call that reads.
type View struct {
	Vault *repo.Vault
	Index *index.Index
	Clock vault.Clock // what words such as today mean to this call

	Control repo.Control // as it was read with the newest version

	family *tool.Family
}

// View returns the newest state of the vault of a call.
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

// ViewAt returns the vault of a call as it was at the version or time that the call names; without one,
// its newest state. Words such as today mean the time of the call in both cases.
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

// Searchable returns the vault of a call as its notes can be searched, at the version or time that the call
// names. It reads the log once.
func (s Source) Searchable(
	ctx context.Context, c auth.Caller, name string, at tool.AsOf,
) (*repo.Vault, repo.Searchable, error) {
	return s.searchable(ctx, c, name, searching{at, (*repo.Vault).Searchable, (*repo.Vault).SearchableAt})
}

// SearchableMemories is Searchable for the memories of the vault.
func (s Source) SearchableMemories(
	ctx context.Context, c auth.Caller, name string, at tool.AsOf,
) (*repo.Vault, repo.Searchable, error) {
	return s.searchable(ctx, c, name,
		searching{at, (*repo.Vault).SearchableMemories, (*repo.Vault).SearchableMemoriesAt})
}

// A searching says at which version a vault is searched, and how that is had.
type searching struct {
	at     tool.AsOf
	newest func(*repo.Vault, context.Context) (repo.Searchable, error)
	past   func(*repo.Vault, context.Context, uint64) (repo.Searchable, error)
}

func (s Source) searchable(
	ctx context.Context, c auth.Caller, name string, how searching,
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

// Version is the version that an answer is true of.
func (v View) Version() string { return repo.Version(v.Index.Version()) }

// mostAhead is how many bytes of texts are read ahead.
const mostAhead = 8 << 20

// Prefetch reads the texts of notes at once that are needed next, up to a limit of bytes.
func (v View) Prefetch(ctx context.Context, paths iter.Seq[string]) {
	v.Vault.PrefetchFiles(ctx, func(yield func(*index.File) bool) {
		for path := range paths {
			if f, ok := v.Index.File(path); ok && !yield(f) {
				return
			}
		}
	}, mostAhead)
}

// Clock is the time of a commit in the time zone of the vault.
func Clock(idx *index.Index, now time.Time) vault.Clock { return idx.Config().Clock(now) }

// Local is the time of a clock in its own zone.
func Local(c vault.Clock) time.Time {
	if c.Zone == nil {
		return c.Now.UTC()
	}
	return c.Now.In(c.Zone)
}

// Schema returns the schema of the vault. A schema.yaml that does not load is an error: the call
// depends on the types.
func Schema(idx *index.Index) (*vault.Schema, error) {
	if err := idx.SchemaErr(); err != nil {
		return nil, err
	}
	return idx.Schema(), nil
}

// InArgument adds to NOT_FOUND the argument that it is about.
func InArgument(err error, name string) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Of(err).With("argument", name)
	}
	return err
}
