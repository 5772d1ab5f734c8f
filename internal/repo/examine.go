package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rookery/internal/fault"
	"rookery/internal/index"
)

// An Examination says how a vault is to be examined.
type Examination struct {
	Full  bool       // every payload is compared with its digest
	Audit *AuditFile // as it stands in the folder; nil: there is none to examine
}

// fromBackup is what to do about a log that is damaged: nothing here can make it whole.
const fromBackup = "keep a copy of the data directory as it is, and restore all of it from one backup: " +
	"rookery.db and the folders payload and segment belong together"

// examined is a vault that is being examined.
type examined struct {
	Examination
	vault   *Vault
	control Control
	head    Snapshot[*index.Index]
}

// vaultChecks are what a vault is examined for, in order. A new one is a function and a line here.
var vaultChecks = []func(context.Context, *examined) []Finding{
	checkChain, checkPayloads, checkSegments, checkImage, checkCursors, checkClock,
	checkFiles, checkConflicts, checkNotes,
}

// Examine looks a vault over and says what it found. It changes nothing, and needs nobody to have the
// vault open. A log that cannot be read is not looked at any further.
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

// ofVault says which vault findings are of.
func ofVault(name string, all []Finding) []Finding {
	for i := range all {
		all[i].Vault = name
	}
	return all
}

// open reads the vault.
func (e *examined) open(ctx context.Context) Finding {
	const check = "log"
	var err error
	if e.control, err = e.vault.Control(ctx); err == nil {
		e.head, err = e.vault.log.Read(ctx)
	}
	switch {
	case errors.Is(err, ErrNoLog):
		return Failure(check, fault.New(fault.IndexError, "the vault has no log"), fromBackup)
	case fault.Is(err, fault.IndexError):
		return Failure(check, err, fromBackup)
	case err != nil:
		return Failure(check, err, "")
	}
	state := ""
	switch e.head.Status {
	case Trashed:
		state = ", in the trash"
	case ReadOnly:
		state = ", read-only"
	}
	return Good(check, fmt.Sprintf("%s, %s%s", Version(e.head.Seq),
		howMany(e.head.State.Totals().Notes, "note"), state))
}

// howMany is a number of things.
func howMany(n int, thing string) string { return howManyOf(n, thing, thing+"s") }

func howManyOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// checkChain reads the log from its first version on, and compares the audit log with it.
func checkChain(ctx context.Context, e *examined) []Finding {
	const check, auditCheck = "chain", "audit log"
	done, problems, err := e.vault.verify(ctx, e.Full, e.Audit)
	if err != nil {
		return []Finding{Failure(check, err, "")}
	}
	found := Good(check, fmt.Sprintf("%s join", howMany(int(done.Version), "commit")))
	if e.Full {
		found.Message += ", and are what their headers say"
	}
	audit := Good(auditCheck, howMany(done.Lines, "line")+" as the log gives them")
	for _, f := range problems {
		switch {
		case f.Code != fault.FileError:
			found = Failure(check, f, fromBackup)
		case e.control.Anew || e.control.ErasurePending(0):
			audit = Warning(auditCheck, "a history is being erased, and some of its lines are still there",
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

// checkPayloads looks for the objects that the headers name.
func checkPayloads(ctx context.Context, e *examined) []Finding {
	const check = "payloads"
	stored := map[string]bool{}
	for o, err := range e.vault.log.opt.Bucket.List(ctx, payloadPrefix) {
		if err != nil {
			return []Finding{Failure(check, fmt.Errorf("list payloads: %w", err), "")}
		}
		stored[o.Key] = true
	}
	named, folded := 0, e.control.Cursors[segmentsCursor].Seq
	var missing []string
	for r, err := range e.vault.log.headers(ctx) {
		if err != nil {
			return []Finding{Skipped(check, "the headers of the log cannot all be read", "")}
		}
		if r.Object == "" || r.Last <= e.control.Low { // below the low mark segments have it
			continue
		}
		if !stored[r.Object] && r.Last <= folded {
			continue // its segment has what it held, which is another check's to say
		}
		if named++; !stored[r.Object] {
			missing = append(missing, Version(r.First))
		}
	}
	if len(missing) > 0 {
		return []Finding{Failure(check, fault.New(fault.IndexError,
			"what was written at %s is missing", listed(missing, len(missing))), fromBackup)}
	}
	return []Finding{Good(check, howMany(named, "object")+" beside the database")}
}

// checkCursors tells how far each consumer of the log has come.
func checkCursors(_ context.Context, e *examined) []Finding {
	const check = "cursors"
	var all []Finding
	for _, name := range slices.Sorted(maps.Keys(e.control.Cursors)) {
		c := e.control.Cursors[name]
		switch {
		case c.Seq > e.head.Seq:
			all = append(all, Failure(check, fault.New(fault.IndexError,
				"%s has come to %s, and the log ends at %s", name, Version(c.Seq), Version(e.head.Seq)),
				fromBackup))
		case c.Seq < e.head.Seq:
			all = append(all, Good(check, fmt.Sprintf("%s is at %s, %s behind; it goes on when the vault "+
				"is served", name, Version(c.Seq), howMany(int(e.head.Seq-c.Seq), "commit"))))
		default:
			all = append(all, Good(check, fmt.Sprintf("%s is at %s", name, Version(c.Seq))))
		}
	}
	return all
}

// mostAhead is how far the log may be ahead of the clock before that is worth a word.
const mostAhead = 5 * time.Minute

// checkClock tells of a log whose newest version has a time that is yet to come, for some clock was
// ahead: times never go back.
func checkClock(_ context.Context, e *examined) []Finding {
	const check = "clock"
	if e.head.Time.Sub(e.vault.Now()) <= mostAhead {
		return []Finding{Good(check, "no version has a time to come")}
	}
	return []Finding{Warning(check, fmt.Sprintf("%s is of %s, which is to come: until then each version "+
		"gets that time, and today is that day", Version(e.head.Seq), e.head.Time.UTC().Format(time.RFC3339)),
		"set the clock of this machine if it is behind; if one was ahead, name the day until then: "+
			"rookery add --to YYYY-MM-DD")}
}

// maxListed is how many names a finding lists, and of how many notes there is one.
const maxListed = 20

// listed are the first of so many names as a finding tells them.
func listed(names []string, count int) string {
	names = names[:min(len(names), maxListed)]
	text := strings.Join(names, ", ")
	if more := count - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
