package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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
	past := history{path: string(path), own: map[string]bool{string(path): true}}
	if err := past.read(ctx, v.log, head.Version()); err != nil {
		return ErasedNote{}, err
	}
	if !c.DryRun {
		if err := v.beginErasing(ctx, head.Version()); err != nil {
			return ErasedNote{}, err
		}
	}
	return v.eraseHistory(ctx, c, past)
}

// An ErasedNote is what the erasure of a note came to. Its JSON is the answer of the call in the log.
type ErasedNote struct {
	Receipt `json:"-"`

	Parts  int `json:"parts"`  // of the log, which are empty from now on
	Copies int `json:"copies"` // that were in the trash
}

// eraseHistory makes the commit.
func (v *Vault) eraseHistory(ctx context.Context, c Call, past history) (ErasedNote, error) {
	answered := make(chan ErasedNote, 1)
	r, err := v.log.Update(ctx, c,
		func(ctx context.Context, d *Draft[*index.Index]) (any, error) {
			select {
			case <-answered:
			default:
			}
			tx := &Tx{Draft: d, v: v, names: map[string]string{}}
			done, err := past.erase(ctx, tx)
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
	return done, nil
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

// A history is what the log says of one note.
type history struct {
	path  string
	own   map[string]bool // the paths that it has: its own, and those of its copies in the trash
	parts []Place
	seen  uint64
}

// read takes in the commits up to one that come behind those that are known.
func (h *history) read(ctx context.Context, l *Log[*index.Index], upTo uint64) error {
	for r, err := range l.stored(ctx, h.seen+1) {
		if err == nil && r.First > upTo {
			return nil
		}
		if err == nil {
			err = l.load(ctx, r)
		}
		if err != nil {
			return err
		}
		if err := h.takeRun(r, upTo); err != nil {
			return err
		}
		h.seen = max(h.seen, r.Last)
	}
	return nil
}

// takeRun takes in the commits of a run up to one that come behind those that are known. Most runs do not name the note
// at all, so their parts are not decoded.
func (h *history) takeRun(r *run, upTo uint64) error {
	if !h.named(r) {
		return nil
	}
	commits, err := r.commits()
	if err != nil {
		return damaged(r.First, err)
	}
	at := Place{Run: r.First}
	for i, c := range commits {
		if c.Seq > h.seen && c.Seq <= upTo {
			h.take(c, at)
		}
		at.Part += len(r.Commits[i].Parts)
	}
	return nil
}

// named reports whether a part of a run may have one of the paths in it. A path is in the head of a note's part, which is
// JSON; of one that JSON may spell in several ways every run may have it.
func (h *history) named(r *run) bool {
	for path := range h.own {
		spelt, err := json.Marshal(path)
		if err != nil || string(spelt) != `"`+path+`"` {
			return true
		}
		if slices.ContainsFunc(r.parts, func(p part) bool { return bytes.Contains(p.data, spelt) }) {
			return true
		}
	}
	return false
}

// take takes in one commit, whose first part is at a place.
func (h *history) take(c *Commit, at Place) {
	if n, ok := c.note(h.path); ok && n.Deleted {
		for _, other := range c.Notes {
			h.own[other.Path] = h.own[other.Path] || isCopy(other.Path, h.path, c.Seq)
		}
	}
	found := false
	for i, n := range c.Notes {
		if !n.Erased && h.own[n.Path] {
			found = true
			h.parts = append(h.parts, Place{at.Run, at.Part + i})
		}
	}
	if found && c.Key != nil {
		h.parts = append(h.parts, Place{at.Run, at.Part + c.answerPart()})
	}
}

// isCopy reports whether a path is that of the copy that the deletion of a note left in the trash
// (docs/design/0007-trash.md).
func isCopy(path, of string, seq uint64) bool {
	stem := strings.TrimSuffix(vault.Trash+of, ".md")
	return path == vault.Trash+of || path == stem+"."+Version(seq)+".md" ||
		path == stem+".v"+strconv.FormatUint(seq, 10)
}

// erase stages the removal of the note, and the record.
func (h *history) erase(ctx context.Context, tx *Tx) (ErasedNote, error) {
	now := *h
	now.own, now.parts = maps.Clone(h.own), slices.Clone(h.parts)
	if err := now.read(ctx, tx.v.log, tx.at.Run-1); err != nil {
		return ErasedNote{}, err
	}
	for _, earlier := range tx.earlier {
		now.take(&earlier.commit, earlier.at)
	}
	for path, own := range now.own {
		if !own {
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
		now.parts = append(now.parts, Place{tx.at.Run, tx.at.Part + i})
	}
	if len(now.parts) == 0 {
		return done, fault.New(fault.NotFound, "no version has a note at %s", h.path).
			With("id", vault.Path(h.path).ID())
	}
	var value erasedParts
	for _, p := range now.parts {
		value.Parts = append(value.Parts, [2]uint64{p.Run, uint64(p.Part)})
	}
	done.Parts = len(now.parts)
	return done, tx.Record(kindErased, "history", value)
}

// Erases reports how many parts of the log are erased since this commit.
func (c *Commit) Erases() int { return len(c.erases()) }

// withErased are the changes of a commit, and the removal of the files whose texts it erases: of who
// could not read that they were removed, for that was erased too.
func withErased(before *index.Index, c *Commit, at Place) index.Commit {
	all, parts := changed(c, at), map[index.Body]bool{}
	for _, p := range c.erases() {
		parts[index.Body(p)] = true
	}
	if len(parts) == 0 {
		return all
	}
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
	}
}

// AuditStale reports whether the audit log has lines of a history that was erased, as far as is known
// without asking: it is to be made anew, and Control.Anew taken back.
func (v *Vault) AuditStale() bool { return v.log.head.Load().control.Anew }
