package tenant

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Rebuilt is a vault that was rebuilt from its folder because the database had lost it. The
// embedded Adopted lists the notes that were added from the folder.
type Rebuilt struct {
	Name string `json:"name"`
	// FromSegments is the last version recovered from segments; empty: there were none, and the
	// vault is a new one made from its notes.
	FromSegments string `json:"from_segments,omitempty"`
	Version      string `json:"version"`
	checkout.AdoptResult
}

// Lost returns, sorted, the names of the vaults that are in the bucket but not in the tenant's log,
// because its database was lost.
func (t *Tenant) Lost(ctx context.Context) ([]string, error) {
	found, err := t.vaultsInBucket(ctx)
	if err != nil {
		return nil, err
	}
	s, _, err := t.State(ctx)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(found))
	return slices.DeleteFunc(names, func(name string) bool {
		_, known := s.Vault(name)
		return known
	}), nil
}

// vaultsInBucket returns the vaults that have notes or segments in the bucket, each with its newest
// incarnation that has segments, or 0 if none has. It lists all objects of vaults, notes included.
func (t *Tenant) vaultsInBucket(ctx context.Context) (map[string]int, error) {
	found := map[string]int{}
	for o, err := range t.vaultObjects(ctx) {
		if err != nil {
			return nil, fmt.Errorf("look for vaults: %w", err)
		}
		name, rest, _ := strings.Cut(strings.TrimPrefix(o.Key, "vaults/"), "/")
		dir, rest, _ := strings.Cut(rest, "/")
		if vault.CheckName(name) != nil {
			continue
		}
		incarnation, err := strconv.Atoi(dir)
		switch {
		case dir == "notes":
			found[name] = max(found[name], 0)
		case err == nil && strings.HasPrefix(rest, "segment/"):
			found[name] = max(found[name], incarnation)
		}
	}
	return found, nil
}

// vaultObjects yields the objects of all vaults: their notes, and the tenant's own objects for each.
func (t *Tenant) vaultObjects(ctx context.Context) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		for o, err := range t.opt.Bucket.List(ctx, "vaults/") {
			if !yield(o, err) {
				return
			}
		}
		if t.opt.life == t.opt.Tenant {
			return // the notes were included
		}
		for o, err := range t.opt.notes.List(ctx, "vaults/") {
			if isNote(o.Key) || err != nil {
				if !yield(o, err) {
					return
				}
			}
		}
	}
}

// Rebuild rebuilds the vaults that Lost returns. It recovers each log from its segments and adds
// the changes found in the folder as one more commit; without segments it creates a new vault from
// the notes. Ids and times are preserved as far as segments or the audit log in the folder contain
// them. After a crash it can be called again. It does not rebuild members, tokens and issuers.
//
// If one vault cannot be rebuilt, Rebuild returns the error with the vaults that were rebuilt
// before.
func (t *Tenant) Rebuild(ctx context.Context, c eventlog.Call) ([]Rebuilt, error) {
	c.Key, c.IfVersion = "", 0
	names, err := t.Lost(ctx)
	if err != nil {
		return nil, err
	}
	found, err := t.vaultsInBucket(ctx)
	if err != nil {
		return nil, err
	}
	var all []Rebuilt
	for _, name := range names {
		r, err := t.rebuild(ctx, c, name, found[name])
		if err != nil {
			return all, fmt.Errorf("rebuild the vault %s: %w", name, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// rebuild rebuilds one vault, and then makes the tenant's commit that adds it. The vault's own log
// comes first, so that after a crash in between, the vault is still lost for the tenant and is
// rebuilt again.
func (t *Tenant) rebuild(
	ctx context.Context, c eventlog.Call, name string, incarnation int,
) (Rebuilt, error) {
	r := Rebuilt{Name: name}
	e := Entry{Name: name, Incarnation: max(incarnation, 1), Status: eventlog.Active}
	v, err := t.vaultOf(name, e.Incarnation)
	if err != nil {
		return r, err
	}
	last, err := t.recover(ctx, c, v)
	if err != nil {
		return r, err
	}
	if last > 0 {
		r.FromSegments = eventlog.Version(last)
	}
	if r.AdoptResult, err = t.adopt(ctx, c, v); err != nil && !fault.Is(err, fault.NotFound) {
		return r, err
	}
	if e, r.Version, err = t.newest(ctx, v, e); err != nil {
		return r, err
	}
	_, err = t.log.Update(ctx, c, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		return nil, d.Record(kindVault, name, e)
	})
	return r, err
}

// recover creates the log of a vault: from its segments, up to the version returned, or an empty
// one, with version 0.
func (t *Tenant) recover(ctx context.Context, c eventlog.Call, v *repo.Vault) (uint64, error) {
	last, err := v.Recover(ctx)
	switch {
	case errors.Is(err, eventlog.ErrNoLog):
		return 0, v.Create(ctx, c, nil)
	case errors.Is(err, eventlog.ErrLogExists):
		return last, nil // an earlier call got this far
	}
	return last, err
}

// adopt commits the files that the folder of a vault contains in addition to its log. It does
// nothing without folders. The commit is possible also if the vault is read-only, because it only
// repairs the log.
func (t *Tenant) adopt(
	ctx context.Context, c eventlog.Call, v *repo.Vault,
) (checkout.AdoptResult, error) {
	files, err := t.files(v.Name)
	if files == nil || err != nil {
		return checkout.AdoptResult{}, err
	}
	s, err := v.Status(ctx)
	if err != nil {
		return checkout.AdoptResult{}, err
	}
	c.Tool, c.Key = "reindex", ""
	c.Outside = s.Status == eventlog.ReadOnly // allow the write although the vault is read-only
	return checkout.Adopt(ctx, v, files, c)
}

// newest returns the entry of a vault with the status in its own log, and its version.
func (t *Tenant) newest(ctx context.Context, v *repo.Vault, e Entry) (Entry, string, error) {
	control, err := v.Control(ctx)
	if err != nil {
		return e, "", err
	}
	e.Created = control.Made
	s, err := v.Status(ctx)
	if err != nil {
		return e, "", err
	}
	e.Status, e.ReadOnly = s.Status, s.Status == eventlog.ReadOnly
	if e.ReadOnly {
		e.Status = eventlog.Active
	}
	if e.Status == eventlog.Trashed {
		e.Trashed = s.Time
		e.ReadOnly, err = wasReadOnly(ctx, v, s.Seq)
	}
	return e, eventlog.Version(s.Seq), err
}

// wasReadOnly reports whether a vault in the trash was read-only before, and must be again when it
// is restored. A log has only one status at a time, so the previous one decides.
func wasReadOnly(ctx context.Context, v *repo.Vault, last uint64) (bool, error) {
	for c, err := range v.Back(ctx, last, math.MaxInt) {
		if err != nil {
			return false, err
		}
		if c.Status != "" && c.Status != eventlog.Trashed {
			return c.Status == eventlog.ReadOnly, nil
		}
	}
	return false, nil
}

// files returns the folder of a vault's notes, or nil if there are no folders.
func (t *Tenant) files(name string) (checkout.Files, error) {
	if t.opt.Served != nil {
		return t.opt.Served.Files, nil
	}
	if !t.opt.Folders {
		return nil, nil
	}
	files, ok := blob.Sub(t.opt.notes, notesOf(name)).(checkout.Files)
	if !ok {
		return nil, fmt.Errorf("the bucket is not a folder")
	}
	return files, nil
}

// notesOf returns the prefix of a vault's notes in the bucket.
func notesOf(name string) string { return "vaults/" + name + "/notes" }

// isNote reports whether a key in the bucket is in the folder of a vault's notes.
func isNote(key string) bool {
	rest, ok := strings.CutPrefix(key, "vaults/")
	_, rest, named := strings.Cut(rest, "/")
	return ok && named && strings.HasPrefix(rest, "notes/")
}
