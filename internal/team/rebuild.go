package team

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

	"rookery/internal/blob"
	"rookery/internal/checkout"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// A Rebuilt says how a vault was made anew that was in the folder and not in the database.
type Rebuilt struct {
	Name string `json:"name"`
	// FromSegments is the version up to which segments held the log; empty: there were none, and the
	// vault is a new one, made from its notes.
	FromSegments string `json:"from_segments,omitempty"`
	Version      string `json:"version"`
	checkout.Adopted
}

// Lost are the names of the vaults that lie in the folder and that the tenant does not know, for its
// database was lost, by name.
func (t *Team) Lost(ctx context.Context) ([]string, error) {
	found, err := t.found(ctx)
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

// found are the vaults that have notes or segments, and the newest incarnation that has segments; 0 if
// none has.
func (t *Team) found(ctx context.Context) (map[string]int, error) {
	found := map[string]int{}
	for o, err := range t.stored(ctx) {
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

// stored yields the objects of the vaults: the notes, and what the tenant keeps of each.
func (t *Team) stored(ctx context.Context) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		for o, err := range t.opt.Bucket.List(ctx, "vaults/") {
			if !yield(o, err) {
				return
			}
		}
		if t.opt.life == t.opt.Tenant {
			return // the notes were among them
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

// Rebuild makes the vaults anew that Lost names: the log from its segments, and what the folder has
// beside it as a commit behind it; where there are no segments, a new vault from its notes. Ids and
// times stay as far as segments, or the audit log in the folder, know them. A call that a crash ended
// is repeated.
func (t *Team) Rebuild(ctx context.Context, c repo.Call) ([]Rebuilt, error) {
	c.Key, c.IfVersion = "", 0
	names, err := t.Lost(ctx)
	if err != nil {
		return nil, err
	}
	found, err := t.found(ctx)
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

// rebuild makes one vault anew, and then the tenant's commit that names it.
func (t *Team) rebuild(
	ctx context.Context, c repo.Call, name string, incarnation int,
) (Rebuilt, error) {
	r := Rebuilt{Name: name}
	e := Entry{Name: name, Incarnation: max(incarnation, 1), Status: repo.Active}
	v, err := t.vaultOf(name, e.Incarnation)
	if err != nil {
		return r, err
	}
	last, err := t.recover(ctx, c, v)
	if err != nil {
		return r, err
	}
	if last > 0 {
		r.FromSegments = repo.Version(last)
	}
	if r.Adopted, err = t.adopt(ctx, c, v); err != nil && !fault.Is(err, fault.NotFound) {
		return r, err
	}
	if e, r.Version, err = t.newest(ctx, v, e); err != nil {
		return r, err
	}
	_, err = t.log.Update(ctx, c, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
		return nil, d.Record(kindVault, name, e)
	})
	return r, err
}

// recover makes the log of a vault: from segments, up to the commit that it answers, or a new one.
func (t *Team) recover(ctx context.Context, c repo.Call, v *repo.Vault) (uint64, error) {
	last, err := v.Recover(ctx)
	switch {
	case errors.Is(err, repo.ErrNoLog):
		return 0, v.Create(ctx, c, nil)
	case errors.Is(err, repo.ErrLogExists):
		return last, nil // a call before got as far
	}
	return last, err
}

// adopt takes in what the folder of a vault has beside its log.
func (t *Team) adopt(
	ctx context.Context, c repo.Call, v *repo.Vault,
) (checkout.Adopted, error) {
	files, err := t.files(v.Name)
	if files == nil || err != nil {
		return checkout.Adopted{}, err
	}
	s, err := v.Status(ctx)
	if err != nil {
		return checkout.Adopted{}, err
	}
	c.Tool, c.Key = "reindex", ""
	c.Outside = s.Status == repo.ReadOnly // no other call writes to it
	return checkout.Adopt(ctx, v, files, c)
}

// newest is the entry of a vault as its own log says it is.
func (t *Team) newest(ctx context.Context, v *repo.Vault, e Entry) (Entry, string, error) {
	control, err := v.Control(ctx)
	if err != nil {
		return e, "", err
	}
	e.Created = control.Made
	s, err := v.Status(ctx)
	if err != nil {
		return e, "", err
	}
	e.Status, e.ReadOnly = s.Status, s.Status == repo.ReadOnly
	if e.ReadOnly {
		e.Status = repo.Active
	}
	if e.Status == repo.Trashed {
		e.Trashed = s.Time
		e.ReadOnly, err = wasReadOnly(ctx, v, s.Seq)
	}
	return e, repo.Version(s.Seq), err
}

// wasReadOnly reports whether a vault in the trash was read-only before, and is again when it is restored:
// its log has one status at a time, so the one before tells.
func wasReadOnly(ctx context.Context, v *repo.Vault, last uint64) (bool, error) {
	for c, err := range v.Back(ctx, last, math.MaxInt) {
		if err != nil {
			return false, err
		}
		if c.Status != "" && c.Status != repo.Trashed {
			return c.Status == repo.ReadOnly, nil
		}
	}
	return false, nil
}

// files is the folder of a vault's notes; nil where there are no folders.
func (t *Team) files(name string) (checkout.Files, error) {
	if t.opt.Served != nil {
		return t.opt.Served.Files, nil
	}
	if !t.opt.Folders {
		return nil, nil
	}
	files, ok := blob.Sub(t.opt.notes, notesOf(name)).(checkout.Files)
	if !ok {
		return nil, fmt.Errorf("the bucket is no folder")
	}
	return files, nil
}

// notesOf is where under the bucket the notes of a vault lie.
func notesOf(name string) string { return "vaults/" + name + "/notes" }

// isNote reports whether a key is that of a file in the folder of a vault's notes.
func isNote(key string) bool {
	rest, ok := strings.CutPrefix(key, "vaults/")
	_, rest, named := strings.Cut(rest, "/")
	return ok && named && strings.HasPrefix(rest, "notes/")
}
