package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
)

// An Examination contains the options of Examine.
type Examination struct {
	Full  bool       // compare every payload with its digest
	Audit *AuditFile // the audit log in the folder; nil: it is not examined
}

// fromBackup is the remedy for a damaged log: only a backup can restore it.
const fromBackup = "make a copy of the data directory, and restore all of it from one backup: rookery.db " +
	"and the folders payload and segment belong together"

// An examined is a vault under examination.
type examined struct {
	Examination
	vault   *Vault
	control Control
	head    eventlog.Snapshot[*index.Index]
}

// vaultChecks are the checks of Examine, in order. To add a check, write a function and add it
// here. A check gets the state that open has read, returns at least one finding, also if it found
// no problem, and changes nothing. An error becomes a finding and does not stop the other checks.
var vaultChecks = []func(context.Context, *examined) []Finding{
	checkChain, checkPayloads, checkSegments, checkImage, checkCursors, checkClock,
	checkFiles, checkConflicts, checkNotes,
}

// Examine checks the vault and returns its findings. It changes nothing, and the vault need not be
// open elsewhere. If the log is damaged, it checks only the payloads in addition; if the log cannot
// be read for another reason, nothing. It reads the whole log and takes a time in proportion to it.
func (v *Vault) Examine(ctx context.Context, how Examination) []Finding {
	e := &examined{Examination: how, vault: v}
	found := e.open(ctx)
	if found.State != Broken {
		all := []Finding{found}
		for _, check := range vaultChecks {
			all = append(all, check(ctx, e)...)
		}
		return ofVault(v.Name, all)
	}
	if found.Code == fault.IndexError {
		return ofVault(v.Name, append([]Finding{found}, checkPayloads(ctx, e)...))
	}
	return ofVault(v.Name, []Finding{found})
}

// ofVault sets the name of the vault in the findings, and returns them.
func ofVault(name string, all []Finding) []Finding {
	for i := range all {
		all[i].Vault = name
	}
	return all
}

// open reads the log of the vault.
func (e *examined) open(ctx context.Context) Finding {
	const check = "log"
	var err error
	if e.control, err = e.vault.Control(ctx); err == nil {
		e.head, err = e.vault.log.Read(ctx)
	}
	switch {
	case errors.Is(err, eventlog.ErrNoLog):
		return Failure(check, fault.New(fault.IndexError, "the vault has no log"), fromBackup)
	case fault.Is(err, fault.IndexError):
		return Failure(check, err, fromBackup)
	case err != nil:
		return Failure(check, err, "")
	}
	state := ""
	switch e.head.Status {
	case eventlog.Trashed:
		state = ", in the trash"
	case eventlog.ReadOnly:
		state = ", read-only"
	}
	return Good(check, fmt.Sprintf("%s, %s%s", eventlog.Version(e.head.Seq),
		howMany(e.head.State.Totals().Notes, "note"), state))
}

// howMany returns a number with a noun: "1 note", "2 notes".
func howMany(n int, thing string) string { return howManyOf(n, thing, thing+"s") }

// howManyOf returns a number with the singular or plural form of a noun.
func howManyOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// checkChain reads the log from the first commit, and compares the audit log with it.
func checkChain(ctx context.Context, e *examined) []Finding {
	const check, auditCheck = "chain", "audit log"
	done, problems, err := e.vault.verify(ctx, e.Full, e.Audit)
	if err != nil {
		return []Finding{Failure(check, err, "")}
	}
	found := Good(check, fmt.Sprintf("%s in an unbroken chain", howMany(int(done.Version), "commit")))
	if e.Full {
		found.Message += ", verified against their headers"
	}
	audit := Good(auditCheck, howMany(done.Lines, "line")+" as in the log")
	for _, f := range problems {
		switch {
		case f.Code != fault.FileError:
			found = Failure(check, f, fromBackup)
		case e.control.Anew || e.control.ErasurePending(0):
			audit = Warning(auditCheck, "a history is being erased, and some of its lines still exist",
				"serve the directory: that completes the erasure")
		default:
			audit = Failure(auditCheck, f, "")
		}
	}
	if e.Audit == nil {
		return []Finding{found}
	}
	return []Finding{found, audit}
}

// checkPayloads checks that the payload objects which the headers name exist.
func checkPayloads(ctx context.Context, e *examined) []Finding {
	const check = "payloads"
	named, lost, err := e.vault.log.CheckPayloads(ctx, e.control.Control)
	switch {
	case errors.Is(err, eventlog.ErrHeaders):
		return []Finding{Skipped(check, "the headers of the log cannot all be read", "")}
	case err != nil:
		return []Finding{Failure(check, err, "")}
	}
	if len(lost) > 0 {
		var missing []string
		for _, first := range lost {
			missing = append(missing, eventlog.Version(first))
		}
		return []Finding{Failure(check, fault.New(fault.IndexError,
			"what was written at %s is missing", listed(missing, len(missing))), fromBackup)}
	}
	return []Finding{Good(check, howMany(named, "object")+" beside the database")}
}

// checkCursors reports the position of each consumer of the log.
func checkCursors(_ context.Context, e *examined) []Finding {
	const check = "cursors"
	var all []Finding
	for _, name := range slices.Sorted(maps.Keys(e.control.Cursors)) {
		c := e.control.Cursors[name]
		switch {
		case c.Seq > e.head.Seq:
			all = append(all, Failure(check, fault.New(fault.IndexError,
				"%s is at %s, but the log ends at %s", name, eventlog.Version(c.Seq), eventlog.Version(e.head.Seq)),
				fromBackup))
		case c.Seq < e.head.Seq:
			all = append(all, Good(check, fmt.Sprintf("%s is at %s, %s behind; it continues when the vault "+
				"is served", name, eventlog.Version(c.Seq), howMany(int(e.head.Seq-c.Seq), "commit"))))
		default:
			all = append(all, Good(check, fmt.Sprintf("%s is at %s", name, eventlog.Version(c.Seq))))
		}
	}
	return all
}

// mostAhead is how far the log may be ahead of the clock without a warning.
const mostAhead = 5 * time.Minute

// checkClock warns if the newest commit has a time in the future, because some clock was ahead:
// times never go back.
func checkClock(_ context.Context, e *examined) []Finding {
	const check = "clock"
	if e.head.Time.Sub(e.vault.Now()) <= mostAhead {
		return []Finding{Good(check, "no version has a time in the future")}
	}
	return []Finding{Warning(check, fmt.Sprintf("%s has the time %s, which is in the future: until then "+
		"each version gets that time, and today is that day",
		eventlog.Version(e.head.Seq), e.head.Time.UTC().Format(time.RFC3339)),
		"set the clock of this machine if it is behind; if one was ahead, name the day until then: "+
			"rookery add --to YYYY-MM-DD")}
}

// maxListed is how many names one finding lists, and how many notes get a finding each.
const maxListed = 20

// listed returns the first maxListed names, separated by commas, and how many of the count names
// are not listed.
func listed(names []string, count int) string {
	names = names[:min(len(names), maxListed)]
	text := strings.Join(names, ", ")
	if more := count - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
