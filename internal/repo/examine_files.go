package repo

import (
	"context"
	"fmt"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// checkFiles reports the state of the checkout files, according to the control item.
func checkFiles(_ context.Context, e *examined) []Finding {
	return CheckFiles(e.control, e.control.Freshness(e.vault.Now()))
}

// CheckFiles returns findings about the files of a checkout, from its control item and freshness.
func CheckFiles(c Control, f Freshness) []Finding {
	const check = "files"
	all := append(checkPending(c), checkLeft(c.Left)...)
	if c.Unwatched != "" {
		all = append(all, Warning(check, c.Unwatched.Problem(), c.Unwatched.Remedy()))
	}
	if c.Sweep != nil && c.Sweep.Count > 0 && c.Left == nil {
		all = append(all, Warning(check, fmt.Sprintf("%s changed outside: %s",
			howMany(c.Sweep.Count, "file"), listed(c.Sweep.Edited, c.Sweep.Count)), "rookery reindex"))
	}
	if c.Sweep != nil && c.Sweep.Missed > 0 {
		all = append(all, Warning(check, fmt.Sprintf("%s missing, and cannot be written: %s",
			howMany(c.Sweep.Missed, "file"), listed(c.Sweep.Missing, c.Sweep.Missed)),
			"give the user that runs Rookery permission to write to the folder; then: rookery reindex"))
	}
	switch {
	case len(all) > 0:
		return all
	case f == Unknown:
		return []Finding{Skipped(check, "the files have not been compared with the log yet",
			"rookery reindex")}
	}
	return []Finding{Good(check, fmt.Sprintf("%s: no change from outside is known", f))}
}

// checkPending reports outside edits that are not in the log.
func checkPending(c Control) []Finding {
	const check = "files"
	var all []Finding
	if n := c.Noticed; n != nil && n.Count > 0 {
		all = append(all, Warning(check, fmt.Sprintf("%s changed outside, and not yet synced: %s",
			howMany(n.Count, "file"), listed(n.Paths, n.Count)),
			"rookery reindex; while the vault is served this happens automatically"))
	}
	if h := c.Held; h.Count() > 0 {
		all = append(all, Warning(check, fmt.Sprintf("%s changed outside need confirmation, because %d are "+
			"deleted and %d have an earlier text again: %s", howMany(h.Count(), "file"), h.Removed, h.Reverted,
			listed(h.Paths, h.Count())), "rookery reindex --pending accept, or rookery reindex --pending discard"))
	}
	return all
}

// checkLeft reports files that cannot be ingested; the first maxListed get a finding each.
func checkLeft(l *Left) []Finding {
	const check = "files"
	if l == nil {
		return nil
	}
	var all []Finding
	for _, f := range l.Files[:min(len(l.Files), maxListed)] {
		all = append(all, Warning(check, fmt.Sprintf("%s is skipped: %s", f.Path, f.Problem()),
			f.Remedy()))
	}
	if more := l.Count - len(all); more > 0 {
		all = append(all, Warning(check, howMany(more, "more file")+" that cannot be synced",
			"rookery reindex --dry-run lists more of them"))
	}
	return all
}

// ConflictCopies returns the number of conflict copies, which are notes with a text that could not
// be merged, and the paths of the first maxListed. Notes in hidden folders are not counted.
func ConflictCopies(x *index.Index) (count int, first []string) {
	for n := range x.Notes("") {
		if n.Path[0] == '.' || !vault.Path(n.Path).IsConflictCopy() {
			continue
		}
		if count++; count <= maxListed {
			first = append(first, n.Path)
		}
	}
	return count, first
}

// checkConflicts reports conflict copies.
func checkConflicts(_ context.Context, e *examined) []Finding {
	return CheckConflicts(ConflictCopies(e.head.State))
}

// CheckConflicts returns the finding about conflict copies. It takes the results of ConflictCopies.
func CheckConflicts(count int, first []string) []Finding {
	const check = "conflicts"
	if count == 0 {
		return []Finding{Good(check, "all outside edits are merged")}
	}
	return []Finding{Warning(check, fmt.Sprintf("%s of a text that could not be merged: %s",
		howManyOf(count, "copy", "copies"), listed(first, count)),
		"move what is worth keeping into the note beside it; then: rookery delete the copy")}
}

// checkNotes reports the notes that do not parse, and those that are not indexed.
func checkNotes(_ context.Context, e *examined) []Finding {
	x := e.head.State
	all := checkParsed(x)
	if x.Totals().Unindexed > 0 {
		all = append(all, CheckIndexed(UnindexedNotes(x)))
	}
	return all
}

// UnindexedNotes returns the number of notes with more things than are indexed, and the paths of
// the first maxListed.
func UnindexedNotes(x *index.Index) (count int, first []string) {
	for n := range x.Unindexed() {
		if len(first) == maxListed {
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
		n.Path, n.Unindexed, index.MaxThings)
}

// UntilIndexed is the remedy for a note with more things than are indexed.
const UntilIndexed = "split it into several notes"

// CheckIndexed returns the finding about notes that are not indexed: their number and the first
// paths.
func CheckIndexed(count int, first []string) Finding {
	return Warning("notes", fmt.Sprintf("%s more than %d headings, traits, references and tags, of which "+
		"none is indexed: %s", howManyOf(count, "note has", "notes have"), index.MaxThings,
		listed(first, count)), UntilIndexed)
}

// checkParsed reports the notes that do not parse; the first maxListed get a finding each.
func checkParsed(x *index.Index) []Finding {
	const check = "notes"
	total := x.Totals().Quarantined
	if total == 0 {
		return []Finding{Good(check, "every note parses")}
	}
	var all []Finding
	for n := range x.Quarantined() {
		if len(all) == maxListed {
			return append(all, Warning(check, howMany(total-maxListed, "more note")+" with this problem",
				untilItParses))
		}
		all = append(all, Warning(check,
			fmt.Sprintf("%s:%d: %s", n.Path, n.Quarantine.Line, n.Quarantine.Message), untilItParses))
	}
	return all
}

// untilItParses is the remedy for a note that does not parse.
const untilItParses = "fix it with rookery edit; until it parses, it has no fields"

// CheckParsed returns the finding about notes that do not parse: their number and the first paths.
func CheckParsed(count int, first []string) []Finding {
	const check = "notes"
	if count == 0 {
		return []Finding{Good(check, "every note parses")}
	}
	return []Finding{Warning(check, fmt.Sprintf("%s not parse: %s",
		howManyOf(count, "note does", "notes do"), listed(first, count)), untilItParses)}
}
