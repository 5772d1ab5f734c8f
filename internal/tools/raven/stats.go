package raven

import (
	"context"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A statsOut is the output of raven_stats. The members about files are absent for a past state.
//
// The index keeps the totals, so they cost no walk over the notes. Lists name only the first of
// each kind; the counters beside them are complete.
type statsOut struct {
	tool.Aside `json:"-"`
	// notes
	Files int `json:"file_count"`
	// notes and their sections
	Objects int `json:"object_count"`
	// traits of the schema
	Traits int `json:"trait_count"`
	// references in texts and fields
	Refs int `json:"ref_count"`
	// notes that do not parse
	Quarantined int `json:"quarantined_count"`
	// the first of them
	Unparsed []string `json:"quarantined,omitempty"`
	// notes with more than 20,000 headings, traits, references and tags, of which none is indexed
	Unindexed int `json:"unindexed_count,omitempty"`
	// the first of them
	Crowded []string `json:"unindexed,omitempty"`
	// conflict copies: notes with a text that could not be merged into another note
	Conflicts int `json:"conflict_count"`
	// the first of them
	Copies []string `json:"conflicts,omitempty"`
	// of all notes
	Bytes int64 `json:"byte_count"`
	// notes whose path has a file that cannot be a note, at the last comparison
	Edited int `json:"edited_outside_count"`
	// the first of them
	EditedFiles []string `json:"edited_outside,omitempty"`
	// files that are gone and cannot be written
	Missing []string `json:"missing_files,omitempty"`

	// state of the files: fresh, pending, updating, stale or unknown; absent with as_of
	Freshness repo.Freshness `json:"freshness,omitempty"`
	// time since which all comparisons of the files found no change
	SweptAt *time.Time `json:"swept_at,omitempty"`
	// the version at the last comparison that found a change
	SweptVersion string `json:"swept_version,omitempty"`
	// outside edits that are not synced yet
	Pending int `json:"pending_outside_count,omitempty"`
	// the first of them
	PendingFiles []string `json:"pending_outside,omitempty"`
	// outside edits that need confirmation with raven_reindex
	Held *heldBatch `json:"held,omitempty"`
	// why changes may be noticed late: watches (the system allows no more) or away (the folder is
	// not at its path)
	Unwatched repo.Unwatched `json:"unwatched,omitempty"`
	Why       string         `json:"unwatched_reason,omitempty"`
	Remedy    string         `json:"unwatched_fix,omitempty"`
	// files that cannot be synced
	Left int `json:"left_count,omitempty"`
	// those of them whose name differs from a note's only by case or normalization
	Twins int `json:"twin_count,omitempty"`
	// the first of them
	LeftFiles []leftFile `json:"left,omitempty"`
}

// A leftFile is a skipped file in the folder of the vault.
type leftFile struct {
	File string `json:"file"`
	// twin, name, size, encoding, foreign, unread, quota or away
	Reason repo.Reason `json:"reason"`
	// the note with that name
	Twin string `json:"twin,omitempty"`
}

// stats returns the tool raven_stats, which counts the contents of a vault and reports the state of
// its files.
func (f tools) stats() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_stats", Family: Family, Title: "Count notes, objects and traits",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/stats"},
		Commands: []tool.Command{{Words: "stats"}},
	}, func(ctx context.Context, v view, in stateIn) (statsOut, error) {
		t := v.Index.Totals()
		out := statsOut{
			Files: t.Notes, Objects: t.Notes + t.Sections, Traits: t.Traits, Refs: t.Refs,
			Quarantined: t.Quarantined, Bytes: t.Bytes,
		}
		out.addProblemNotes(v.Index)
		if in.AsOf.AsOf == "" { // the log does not contain past states of the files
			out.files(v.Control, v.Vault.Now())
			folder, err := f.Folder(ctx, v.caller, in.Vault.Vault)
			if err != nil {
				return statsOut{}, err
			}
			out.setUpdating(folder)
		}
		return out, nil
	})
}

// files adds the state of the files to the answer, from the control item: freshness, pending edits,
// skipped files, and a batch that needs confirmation.
//
// Nothing is read from the folder: the control item has the state that the last comparison of the
// files found. A nil part of it means that there is nothing of that kind.
func (out *statsOut) files(control repo.Control, now time.Time) {
	out.Freshness = control.Freshness(now)
	if s := control.Sweep; s != nil {
		out.Edited = s.Count
		out.EditedFiles, out.Missing = s.Edited, s.Missing
		out.SweptAt, out.SweptVersion = &s.At, eventlog.Version(s.Version)
	}
	if n := control.Noticed; n != nil {
		out.Pending, out.PendingFiles = n.Count, n.Paths
	}
	if l := control.Left; l != nil {
		out.Left, out.Twins = l.Count, l.Twins
		for _, f := range firstOf(l.Files, maxShown) {
			out.LeftFiles = append(out.LeftFiles, leftFile{f.Path, f.Why, f.Twin})
		}
	}
	out.Unwatched = control.Unwatched
	out.Why, out.Remedy = control.Unwatched.Problem(), control.Unwatched.Remedy()
	out.Held = heldOf(control.Held)
	out.Held.warn(&out.Aside)
}

// setUpdating sets the freshness to updating if the folder is being read for the first time. It
// does nothing if folder is nil.
func (out *statsOut) setUpdating(folder *checkout.Checkout) {
	if folder == nil {
		return
	}
	if _, under := folder.Reading(); under {
		out.Freshness = repo.Updating
	}
}

// addProblemNotes adds the notes that need attention: quarantined notes, notes that are not
// indexed, and conflict copies. It lists only the first of each.
func (out *statsOut) addProblemNotes(idx *index.Index) {
	for n := range idx.Quarantined() {
		if len(out.Unparsed) == maxShown {
			break
		}
		out.Unparsed = append(out.Unparsed, n.Path)
	}
	out.Unindexed, out.Crowded = repo.UnindexedNotes(idx)
	out.Conflicts, out.Copies = repo.ConflictCopies(idx)
}

// A heldBatch is a batch of outside edits that the removal guard stopped, and that needs
// confirmation (reference/log.md §5).
//
// Such a batch waits until raven_reindex accepts or discards it. Other outside edits are still
// synced (docs/design/0015).
type heldBatch struct {
	Since   time.Time `json:"since"`
	Count   int       `json:"count"`
	Removed int       `json:"removed"`
	// former contents of files
	Reverted int `json:"reverted"`
	Changed  int `json:"changed"`
	Moved    int `json:"moved"`
	Created  int `json:"created"`
	// the first of them
	Paths []string `json:"paths"`
	// the first 20 of the notes that would be removed or reverted
	Going []string `json:"would_go"`
}

// heldOf returns the description of a stopped batch, or nil if there is none.
func heldOf(h *repo.Held) *heldBatch {
	if h.Count() == 0 {
		return nil
	}
	return &heldBatch{
		Since: h.Since, Count: h.Count(), Removed: h.Removed, Reverted: h.Reverted,
		Changed: h.Changed, Moved: h.Moved, Created: h.Created, Paths: firstOf(h.Paths, maxShown),
		Going: append([]string{}, firstOf(h.Going, maxShown)...),
	}
}

// warn adds an INDEX_PENDING warning with the calls that confirm or discard the batch. It does
// nothing if h is nil.
//
// The fixes are the complete calls, so that an agent can offer both to its user.
func (h *heldBatch) warn(a *tool.Aside) {
	if h == nil {
		return
	}
	a.Warn("INDEX_PENDING", fmt.Sprintf("%d outside edits need confirmation, because they would "+
		"remove or revert many notes; confirm or discard them with raven_reindex", h.Count),
		map[string]any{"count": h.Count, "would_go": h.Going, "would_go_count": h.Removed + h.Reverted,
			"fixes": pendingFixes})
}

// pendingFixes are the calls that end a stopped batch: one accepts it, the other restores the
// files.
var pendingFixes = []string{
	fault.NewCall("raven_reindex", fault.Args{"pending": "accept"}).String(),
	fault.NewCall("raven_reindex", fault.Args{"pending": "discard"}).String(),
}

// maxShown is the maximum number of files of one kind that an answer names.
const maxShown = 20
