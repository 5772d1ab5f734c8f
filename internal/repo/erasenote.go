package repo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// kindErased is the kind of the record that lists the erased parts of the log. It contains their
// places, not their contents.
const kindErased = "erased"

// An erasedParts is the value of such a record: for each part the first commit of its run, and the
// number of the part in the run.
type erasedParts struct {
	Parts [][2]uint64 `json:"parts"`
}

// erases returns the places of the parts that this commit erases.
func (c *Commit) erases() []PartRef {
	var all []PartRef
	for _, r := range c.Records {
		var e erasedParts
		if r.Kind != kindErased || json.Unmarshal(r.Value, &e) != nil {
			continue
		}
		for _, p := range e.Parts {
			all = append(all, PartRef{p[0], int(p[1])})
		}
	}
	return all
}

// EraseNote removes a note, if it exists, and erases its history: the contents of every commit that
// changed it, its copies in the trash, and the answers of calls that name it. A commit that lists
// the erased parts, but does not name the note, is written first. The parts are emptied by a pass
// of Compact after every consumer has passed that commit; the caller should run one, but a later pass
// does it too. It returns NOT_FOUND if no version has the note, and PERMISSION_DENIED if it is not
// under the prefix of the call.
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

// An ErasedNote is the result of an erasure. Its JSON is the answer of the call in the log.
type ErasedNote struct {
	// Receipt is the receipt of the erasing commit.
	Receipt `json:"-"`

	Parts  int `json:"parts"`  // how many parts of the log are erased
	Copies int `json:"copies"` // how many copies were in the trash
}

// eraseBy writes the commit that stage stages. After a replay of an idempotent call it returns the
// answer of the first one.
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
	// A replayed call did not run its function in this call.
	if r.Replayed == nil {
		done = <-answered
	} else if err := json.Unmarshal(r.Replayed, &done); err != nil {
		return done, fmt.Errorf("read a kept answer: %w", err)
	}
	done.Receipt = r
	if !c.DryRun && r.Replayed == nil {
		_ = v.Erases(ctx, r.Seq) // if that fails, a pass an hour later empties them
	}
	return done, nil
}

// Erases records in the control item that the parts which commit seq erases must be emptied. This
// is necessary although beginErasing did it before the commit: a pass for another erasure may have
// run in between.
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

// beginErasing records in the control item, before the erasing commit is written, after which
// commit Compact must look for it.
func (v *Vault) beginErasing(ctx context.Context, head uint64) error {
	return v.Change(ctx, func(c *Control) bool {
		if c.Erasing == nil {
			c.Erasing = &Erasing{From: head}
		}
		c.Erasing.Upto = 0
		return true
	})
}

// erase stages the removal of the note and of its copies in the trash, and the record of the erased
// parts.
func (h *history) erase(ctx context.Context, tx *Tx) (ErasedNote, error) {
	now := h.clone()
	if err := now.readAll(ctx, tx); err != nil {
		return ErasedNote{}, err
	}
	for _, path := range slices.Sorted(maps.Keys(now.own)) {
		if now.own[path] < maxSeq { // a former path of the note
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
		now.parts = append(now.parts, ownPart{PartRef: PartRef{tx.at.Run, tx.at.Part + i}})
	}
	if len(now.parts) == 0 {
		return done, fault.New(fault.NotFound, "no version has a note at %s", h.path).
			With("id", vault.Path(h.path).ID())
	}
	return now.record(tx, done)
}

// record stages the record of the erased parts.
func (h *history) record(tx *Tx, done ErasedNote) (ErasedNote, error) {
	var value erasedParts
	for _, p := range h.parts {
		value.Parts = append(value.Parts, [2]uint64{p.Run, uint64(p.Part)}) //nolint:gosec // a part has a place
	}
	done.Parts = len(h.parts)
	return done, tx.Record(kindErased, "history", value)
}

// Erases returns how many parts of the log this commit erases.
func (c *Commit) Erases() int { return len(c.erases()) }

// withErased returns the changes of a commit, plus the removal of the files and items whose
// contents it erases. Commits that removed them may be erased too, so a reader may still have them.
func withErased(before *index.Index, c *Commit, at PartRef) index.Commit {
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

// forgetErased removes the contents that a commit erases from the caches and the search indexes.
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
			v.searcher.drop() // the paths of these notes are erased too
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

// AuditStale reports whether the audit log files contain lines of an erased history and must be
// rewritten. The caller that rewrites them must reset Control.Anew. It uses the control item that
// was read last. It does no I/O.
func (v *Vault) AuditStale() bool { return v.log.head.Load().control.Anew }
