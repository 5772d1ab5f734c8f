package repo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/vault"
)

// kindErased is the kind of the record that says which parts of the log are erased. It names them by
// their places, not by what was in them.
const kindErased = "erased"

// erasedParts are such parts: of each the first commit of its run, and its number in the run.
type erasedParts struct {
	Parts [][2]uint64 `json:"parts"`
}

// erases are the parts that are erased since this commit.
func (c *Commit) erases() []Place {
	var all []Place
	for _, r := range c.Records {
		var e erasedParts
		if r.Kind != kindErased || json.Unmarshal(r.Value, &e) != nil {
			continue
		}
		for _, p := range e.Parts {
			all = append(all, Place{p[0], int(p[1])})
		}
	}
	return all
}

// EraseNote removes a note, if it is there, and erases its history: what every commit says of it, its
// copies in the trash, and the answers of the calls that changed it. The commit that does so comes
// first, and says no more than that. The parts are emptied when every consumer has passed that commit,
// by a pass of Fold, which is to follow; it needs not succeed, for a later one goes on. A note that no
// version has is NOT_FOUND.
func (v *Vault) EraseNote(ctx context.Context, c Call, path vault.Path) (ErasedNote, error) {
	if err := c.reaches(path); err != nil {
		return ErasedNote{}, err
	}
	head, err := v.Read(ctx)
	if err != nil {
		return ErasedNote{}, err
	}
	past := history{path: string(path), own: map[string]uint64{string(path): maxSeq}}
	if err := past.read(ctx, v.log, head.Version()); err != nil {
		return ErasedNote{}, err
	}
	if !c.DryRun {
		if err := v.beginErasing(ctx, head.Version()); err != nil {
			return ErasedNote{}, err
		}
	}
	return v.eraseBy(ctx, c, past.erase)
}

// An ErasedNote is what the erasure of a note came to. Its JSON is the answer of the call in the log.
type ErasedNote struct {
	Receipt `json:"-"`

	Parts  int `json:"parts"`  // of the log, which are empty from now on
	Copies int `json:"copies"` // that were in the trash
}

// eraseBy makes the commit that a function stages.
func (v *Vault) eraseBy(
	ctx context.Context, c Call, stage func(context.Context, *Tx) (ErasedNote, error),
) (ErasedNote, error) {
	answered := make(chan ErasedNote, 1)
	r, err := v.log.Update(ctx, c,
		func(ctx context.Context, d *Draft[*index.Index]) (any, error) {
			select {
			case <-answered:
			default:
			}
			tx := &Tx{Draft: d, v: v, names: map[string]string{}}
			done, err := stage(ctx, tx)
			answered <- done
			return done, err
		})
	if err != nil {
		return ErasedNote{}, v.orNone(err)
	}
	var done ErasedNote
	if r.Replayed == nil {
		done = <-answered
	} else if err := json.Unmarshal(r.Replayed, &done); err != nil {
		return done, fmt.Errorf("read a kept answer: %w", err)
	}
	done.Receipt = r
	if !c.DryRun && r.Replayed == nil {
		_ = v.Erases(ctx, r.Seq) // else a pass an hour later empties them
	}
	return done, nil
}

// Erases notes down that the parts are to be emptied which a commit erases: a pass that emptied those of another erasure
// may have come between beginErasing and the commit.
func (v *Vault) Erases(ctx context.Context, seq uint64) error {
	return v.Change(ctx, func(c *Control) bool {
		switch {
		case c.Erasing == nil:
			c.Erasing = &Erasing{From: seq - 1}
		case c.Erasing.Upto == 0 || c.Erasing.Upto >= seq:
			return false
		default:
			c.Erasing = &Erasing{From: min(c.Erasing.From, seq-1)}
		}
		return true
	})
}

// beginErasing notes down, before the commit, from where on Fold has to look for it.
func (v *Vault) beginErasing(ctx context.Context, head uint64) error {
	return v.Change(ctx, func(c *Control) bool {
		if c.Erasing == nil {
			c.Erasing = &Erasing{From: head}
		}
		c.Erasing.Upto = 0
		return true
	})
}

// erase stages the removal of the note, and the record.
func (h *history) erase(ctx context.Context, tx *Tx) (ErasedNote, error) {
	now := h.clone()
	if err := now.readAll(ctx, tx); err != nil {
		return ErasedNote{}, err
	}
	for _, path := range slices.Sorted(maps.Keys(now.own)) {
		if now.own[path] < maxSeq { // the note had it once
			continue
		}
		if err := tx.Remove(ctx, vault.Path(path)); err != nil {
			return ErasedNote{}, err
		}
	}
	done := ErasedNote{}
	for i, n := range tx.commit.Notes {
		if n.Path != h.path {
			done.Copies++
		}
		now.parts = append(now.parts, ownPart{Place: Place{tx.at.Run, tx.at.Part + i}})
	}
	if len(now.parts) == 0 {
		return done, fault.New(fault.NotFound, "no version has a note at %s", h.path).
			With("id", vault.Path(h.path).ID())
	}
	return now.record(tx, done)
}

// record stages the record of what is erased.
func (h *history) record(tx *Tx, done ErasedNote) (ErasedNote, error) {
	var value erasedParts
	for _, p := range h.parts {
		value.Parts = append(value.Parts, [2]uint64{p.Run, uint64(p.Part)}) //nolint:gosec // a part has a place
	}
	done.Parts = len(h.parts)
	return done, tx.Record(kindErased, "history", value)
}

// Erases reports how many parts of the log are erased since this commit.
func (c *Commit) Erases() int { return len(c.erases()) }

// withErased are the changes of a commit, and the removal of the files whose texts it erases: of who
// could not read that they were removed, for that was erased too.
func withErased(before *index.Index, c *Commit, at Place) index.Commit {
	all, parts := changed(c, at), map[index.Body]bool{}
	all.Items = append(all.Items, erasedItems(before, c)...)
	for _, p := range c.erases() {
		parts[index.Body(p)] = true
	}
	if len(parts) == 0 {
		return all
	}
	all.Erases = true
	told := map[string]bool{}
	for _, n := range c.Notes {
		told[n.Path] = true
	}
	for f := range before.Files() {
		if parts[f.Body] && !told[f.Path] {
			all.Changes = append(all.Changes, index.Change{Path: f.Path, Deleted: true})
		}
	}
	return all
}

// forgetErased forgets what a commit erased.
func (v *Vault) forgetErased(c *Commit) {
	runs := map[uint64]bool{}
	for _, p := range c.erases() {
		runs[p.Run] = true
	}
	if len(runs) > 0 {
		v.texts.dropRuns(v.part, runs)
		v.texts.changes.dropAll(v.texts.tenant, v.part)
		v.pasts.dropAll(v)
		if slices.ContainsFunc(c.Notes, func(n Note) bool { return n.Erased }) {
			v.searcher.drop() // which notes these were is erased too
		} else {
			v.searcher.erased()
		}
		if slices.ContainsFunc(c.Items, func(i Item) bool { return i.Erased }) {
			v.memories.drop()
		} else {
			v.memories.erased()
		}
	}
}

// AuditStale reports whether the audit log has lines of a history that was erased, as far as is known
// without asking: it is to be made anew, and Control.Anew taken back.
func (v *Vault) AuditStale() bool { return v.log.head.Load().control.Anew }
