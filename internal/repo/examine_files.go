package repo

import (
	"context"
	"fmt"

	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// files reports the state of the checkout files, according to the control item.
func (e *examined) files(context.Context) []doctor.Finding {
	return CheckFiles(e.control, e.control.Freshness(e.vault.Now()))
}

// CheckFiles returns findings about the files of a checkout, from its control item and freshness.
func CheckFiles(c Control, f Freshness) []doctor.Finding {
	const check = "files"
	all := append(checkPending(c), checkLeft(c.Left)...)
	if c.Unwatched != "" {
		all = append(all, doctor.Warning(check, c.Unwatched.Problem(), c.Unwatched.Remedy()))
	}
	if c.Sweep != nil && c.Sweep.Count > 0 && c.Left == nil {
		all = append(all, doctor.Warning(check, fmt.Sprintf("%s changed outside: %s",
			doctor.Count(c.Sweep.Count, "file"), doctor.List(c.Sweep.Edited, c.Sweep.Count)), "rookery reindex"))
	}
	if c.Sweep != nil && c.Sweep.Missed > 0 {
		all = append(all, doctor.Warning(check, fmt.Sprintf("%s missing, and cannot be written: %s",
			doctor.Count(c.Sweep.Missed, "file"), doctor.List(c.Sweep.Missing, c.Sweep.Missed)),
			"give the user that runs Rookery permission to write to the folder; then: rookery reindex"))
	}
	switch {
	case len(all) > 0:
		return all
	case f == Unknown:
		return []doctor.Finding{doctor.Skipped(check, "the files have not been compared with the log yet",
			"rookery reindex")}
	}
	return []doctor.Finding{doctor.Good(check, fmt.Sprintf("%s: no change from outside is known", f))}
}

// checkPending reports outside edits that are not in the log.
func checkPending(c Control) []doctor.Finding {
	const check = "files"
	var all []doctor.Finding
	if n := c.Noticed; n != nil && n.Count > 0 {
		all = append(all, doctor.Warning(check, fmt.Sprintf("%s changed outside, and not yet synced: %s",
			doctor.Count(n.Count, "file"), doctor.List(n.Paths, n.Count)),
			"rookery reindex; while the vault is served this happens automatically"))
	}
	if h := c.Held; h.Count() > 0 {
		all = append(all, doctor.Warning(check, fmt.Sprintf("%s changed outside need confirmation, because %d are "+
			"deleted and %d have an earlier text again: %s", doctor.Count(h.Count(), "file"), h.Removed, h.Reverted,
			doctor.List(h.Paths, h.Count())), "rookery reindex --pending accept, or rookery reindex --pending discard"))
	}
	return all
}

// checkLeft reports files that cannot be ingested; the first doctor.MaxListed get a finding each.
func checkLeft(l *Left) []doctor.Finding {
	const check = "files"
	if l == nil {
		return nil
	}
	var all []doctor.Finding
	for _, f := range l.Files[:min(len(l.Files), doctor.MaxListed)] {
		all = append(all, doctor.Warning(check, fmt.Sprintf("%s is skipped: %s", f.Path, f.Problem()),
			f.Remedy()))
	}
	if more := l.Count - len(all); more > 0 {
		all = append(all, doctor.Warning(check, doctor.Count(more, "more file")+" that cannot be synced",
			"rookery reindex --dry-run lists more of them"))
	}
	return all
}

// ConflictCopies returns the number of conflict copies, which are notes with a text that could not
// be merged, and the paths of the first doctor.MaxListed. Notes in hidden folders are not counted.
func ConflictCopies(x *index.Index) (count int, first []string) {
	for n := range x.Notes("") {
		if n.Path[0] == '.' || !vault.Path(n.Path).IsConflictCopy() {
			continue
		}
		if count++; count <= doctor.MaxListed {
			first = append(first, n.Path)
		}
	}
	return count, first
}

// conflicts reports conflict copies.
func (e *examined) conflicts(context.Context) []doctor.Finding {
	return []doctor.Finding{doctor.Conflicts(ConflictCopies(e.head.State))}
}

// notes reports the notes that do not parse, and those that are not indexed.
func (e *examined) notes(context.Context) []doctor.Finding {
	x := e.head.State
	all := checkParsed(x)
	if count, first := UnindexedNotes(x); count > 0 {
		all = append(all, doctor.Unindexed(count, index.MaxThings, first))
	}
	return all
}

// UnindexedNotes returns the number of notes with more things than are indexed, and the paths of
// the first doctor.MaxListed.
func UnindexedNotes(x *index.Index) (count int, first []string) {
	for n := range x.Unindexed() {
		if len(first) == doctor.MaxListed {
			break
		}
		first = append(first, n.Path)
	}
	return x.Totals().Unindexed, first
}

// UnindexedProblem returns a message about a note with more things than are indexed.
func UnindexedProblem(n *index.Note) string {
	return fmt.Sprintf("%s has %d headings, traits, references, tags, values of fields or nested items, and a "+
		"note has at most %d of them: none is indexed, and the note can be read and searched as text",
		n.Path, n.Unindexed(), index.MaxThings)
}

// checkParsed reports the notes that do not parse; the first doctor.MaxListed get a finding each.
func checkParsed(x *index.Index) []doctor.Finding {
	total := x.Totals().Quarantined
	if total == 0 {
		return []doctor.Finding{doctor.Unparsed(0, nil)}
	}
	var all []doctor.Finding
	for n := range x.Quarantined() {
		if len(all) == doctor.MaxListed {
			return append(all, doctor.Warning(doctor.Notes,
				doctor.Count(total-doctor.MaxListed, "more note")+" with this problem", doctor.UntilParsed))
		}
		all = append(all, doctor.Warning(doctor.Notes,
			fmt.Sprintf("%s:%d: %s", n.Path, n.Quarantine().Line, n.Quarantine().Message), doctor.UntilParsed))
	}
	return all
}
