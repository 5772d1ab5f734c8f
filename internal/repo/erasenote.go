package repo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// EraseNote removes a note, if it exists, and erases its history: the contents of every commit that
// changed it, its copies in the trash, and the answers of calls that name it. A commit that lists
// the erased parts, but does not name the note, is written first. The parts are emptied by a pass
// of Compact after every consumer has passed that commit; the caller should run one, but a later
// pass does it too. It returns NOT_FOUND if no version has the note, and PERMISSION_DENIED if it is
// not under the prefix of the call.
func (v *Vault) EraseNote(ctx context.Context, c eventlog.Call, path vault.Path) (ErasedNote, error) {
	if err := reaches(c, path); err != nil {
		return ErasedNote{}, err
	}
	head, err := v.Read(ctx)
	if err != nil {
		return ErasedNote{}, err
	}
	past := history{path: string(path), own: map[string]uint64{string(path): eventlog.MaxSeq}}
	if err := past.read(ctx, v, head.Version()); err != nil {
		return ErasedNote{}, err
	}
	if !c.DryRun {
		if err := v.log.BeginErasing(ctx, head.Version()); err != nil {
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
// answer of the first one. It does not use Vault.Update, so the commit has no audit events: they
// would name the note. The function may run several times, also after its caller has given up;
// the channel passes only the answer of the last run, without a race.
func (v *Vault) eraseBy(
	ctx context.Context, c eventlog.Call, stage func(context.Context, *Tx) (ErasedNote, error),
) (ErasedNote, error) {
	answered := make(chan ErasedNote, 1)
	r, err := v.log.Update(ctx, c,
		func(ctx context.Context, d *eventlog.Draft[*index.Index]) (any, error) {
			select {
			case <-answered:
			default:
			}
			done, err := stage(ctx, v.newTx(d))
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
	done.Receipt = Receipt{Receipt: r}
	if !c.DryRun && r.Replayed == nil {
		_ = v.Erases(ctx, r.Seq) // if that fails, a pass an hour later empties them
	}
	return done, nil
}

// Erases records in the control item that the parts which commit seq erases must be emptied; see
// eventlog.Log.Erases.
func (v *Vault) Erases(ctx context.Context, seq uint64) error { return v.log.Erases(ctx, seq) }

// erase stages the removal of the note and of its copies in the trash, and the record of the erased
// parts.
func (h *history) erase(ctx context.Context, tx *Tx) (ErasedNote, error) {
	now := h.clone()
	if err := now.readAll(ctx, tx); err != nil {
		return ErasedNote{}, err
	}
	for _, path := range slices.Sorted(maps.Keys(now.own)) {
		if now.own[path] < eventlog.MaxSeq { // a former path of the note
			continue
		}
		if err := tx.Remove(ctx, vault.Path(path)); err != nil {
			return ErasedNote{}, err
		}
	}
	done := ErasedNote{}
	at := tx.draft.At()
	for i, n := range tx.staged() {
		if n.Path != h.path {
			done.Copies++
		}
		now.parts = append(now.parts, ownPart{PartRef: eventlog.PartRef{Run: at.Run, Part: at.Part + i}})
	}
	if len(now.parts) == 0 {
		return done, fault.New(fault.NotFound, "no version has a note at %s", h.path).
			With("id", vault.Path(h.path).ID())
	}
	return now.record(tx, done)
}

// record stages the record of the erased parts. The parts of the commit itself are among them: it
// removes the note, so it contains the path.
func (h *history) record(tx *Tx, done ErasedNote) (ErasedNote, error) {
	parts := make([]eventlog.PartRef, 0, len(h.parts))
	for _, p := range h.parts {
		parts = append(parts, p.PartRef)
	}
	done.Parts = len(parts)
	return done, tx.draft.Erase(parts)
}

// withErased returns the changes of a commit, plus the removal of the files and items whose
// contents it erases. Commits that removed them may be erased too, so a reader may still have them.
// For a commit that erases parts it looks at all files of the index; for any other, only at the
// records of the commit.
func withErased(before *index.Index, c *eventlog.Commit, at eventlog.PartRef) index.Commit {
	all, parts := changed(c, at), map[index.Body]bool{}
	all.Items = append(all.Items, erasedItems(before, c)...)
	for _, p := range c.ErasedParts() {
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

// forgetErased removes the contents that a commit erases from the caches and the search indexes. It
// is called with every commit that is applied, in every process that has the vault open. If the
// removed paths or ids are known, the search index is purged of their words; otherwise it is built
// again.
func (v *Vault) forgetErased(c *eventlog.Commit) {
	runs := map[uint64]bool{}
	for _, p := range c.ErasedParts() {
		runs[p.Run] = true
	}
	if len(runs) > 0 {
		v.texts.dropRuns(v.part, runs)
		v.texts.changes.dropAll(v.texts.tenant, v.part)
		v.pasts.dropAll(v)
		if slices.ContainsFunc(c.Notes, func(n eventlog.Note) bool { return n.Erased }) {
			v.searcher.drop() // the paths of these notes are erased too
		} else {
			v.searcher.erased()
		}
		if slices.ContainsFunc(c.Items, func(i eventlog.Item) bool { return i.Erased }) {
			v.memories.drop()
		} else {
			v.memories.erased()
		}
	}
}

// AuditStale reports whether the audit log files contain lines of an erased history and must be
// rewritten. The caller that rewrites them must reset Control.Anew. It uses the control item that
// was read last. It does no I/O.
func (v *Vault) AuditStale() bool { return v.log.Known().Control.Anew }
