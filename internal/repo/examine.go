package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/doctor"
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

// Examine checks the vault and returns its findings. It changes nothing, and the vault need not be
// open elsewhere. If the log is damaged, it checks only the payloads in addition; if the log cannot
// be read for another reason, nothing. It reads the whole log and takes a time in proportion to it.
func (v *Vault) Examine(ctx context.Context, how Examination) []doctor.Finding {
	e := &examined{Examination: how, vault: v}
	found := e.open(ctx)
	var checks []doctor.Check
	switch {
	case found.Level != doctor.LevelError:
		checks = e.checks()
	case found.Code == fault.IndexError:
		checks = []doctor.Check{e.payloads}
	}
	return doctor.InVault(v.Name, append([]doctor.Finding{found}, doctor.Run(ctx, checks...)...))
}

// checks returns the checks of a vault whose log can be read, in order. To add a check, write a
// method and add it here.
func (e *examined) checks() []doctor.Check {
	return []doctor.Check{
		e.chain, e.payloads, e.segments, e.image, e.cursors, e.clock, e.files, e.conflicts, e.notes,
	}
}

// open reads the log of the vault.
func (e *examined) open(ctx context.Context) doctor.Finding {
	const check = "log"
	var err error
	if e.control, err = e.vault.Control(ctx); err == nil {
		e.head, err = e.vault.log.Read(ctx)
	}
	switch {
	case errors.Is(err, eventlog.ErrNoLog):
		return doctor.Failure(check, fault.New(fault.IndexError, "the vault has no log"), fromBackup)
	case fault.Is(err, fault.IndexError):
		return doctor.Failure(check, err, fromBackup)
	case err != nil:
		return doctor.Failure(check, err, "")
	}
	state := ""
	switch e.head.Status {
	case eventlog.Trashed:
		state = ", in the trash"
	case eventlog.ReadOnly:
		state = ", read-only"
	}
	return doctor.Good(check, fmt.Sprintf("%s, %s%s", eventlog.Version(e.head.Seq),
		doctor.Count(e.head.State.Totals().Notes, "note"), state))
}

// chain reads the log from the first commit, and compares the audit log with it.
func (e *examined) chain(ctx context.Context) []doctor.Finding {
	const check, auditCheck = "chain", "audit log"
	done, problems, err := e.vault.verify(ctx, e.Full, e.Audit)
	if err != nil {
		return []doctor.Finding{doctor.Failure(check, err, "")}
	}
	found := doctor.Good(check, fmt.Sprintf("%s in an unbroken chain", doctor.Count(int(done.Version), "commit")))
	if e.Full {
		found.Message += ", verified against their headers"
	}
	audit := doctor.Good(auditCheck, doctor.Count(done.Lines, "line")+" as in the log")
	for _, f := range problems {
		switch {
		case f.Code != fault.FileError:
			found = doctor.Failure(check, f, fromBackup)
		case e.control.Anew || e.control.ErasurePending(0):
			audit = doctor.Warning(auditCheck, "a history is being erased, and some of its lines still exist",
				"serve the directory: that completes the erasure")
		default:
			audit = doctor.Failure(auditCheck, f, "")
		}
	}
	if e.Audit == nil {
		return []doctor.Finding{found}
	}
	return []doctor.Finding{found, audit}
}

// payloads checks that the payload objects which the headers name exist.
func (e *examined) payloads(ctx context.Context) []doctor.Finding {
	const check = "payloads"
	named, lost, err := e.vault.log.CheckPayloads(ctx, e.control.Control)
	switch {
	case errors.Is(err, eventlog.ErrHeaders):
		return []doctor.Finding{doctor.Skipped(check, "the headers of the log cannot all be read", "")}
	case err != nil:
		return []doctor.Finding{doctor.Failure(check, err, "")}
	}
	if len(lost) > 0 {
		var missing []string
		for _, first := range lost {
			missing = append(missing, eventlog.Version(first))
		}
		return []doctor.Finding{doctor.Failure(check, fault.New(fault.IndexError,
			"what was written at %s is missing", doctor.List(missing, len(missing))), fromBackup)}
	}
	return []doctor.Finding{doctor.Good(check, doctor.Count(named, "object")+" beside the database")}
}

// cursors reports the position of each consumer of the log.
func (e *examined) cursors(context.Context) []doctor.Finding {
	const check = "cursors"
	var all []doctor.Finding
	for _, name := range slices.Sorted(maps.Keys(e.control.Cursors)) {
		c := e.control.Cursors[name]
		switch {
		case c.Seq > e.head.Seq:
			all = append(all, doctor.Failure(check, fault.New(fault.IndexError,
				"%s is at %s, but the log ends at %s", name, eventlog.Version(c.Seq), eventlog.Version(e.head.Seq)),
				fromBackup))
		case c.Seq < e.head.Seq:
			all = append(all, doctor.Good(check, fmt.Sprintf("%s is at %s, %s behind; it continues when the vault "+
				"is served", name, eventlog.Version(c.Seq), doctor.Count(int(e.head.Seq-c.Seq), "commit"))))
		default:
			all = append(all, doctor.Good(check, fmt.Sprintf("%s is at %s", name, eventlog.Version(c.Seq))))
		}
	}
	return all
}

// mostAhead is how far the log may be ahead of the clock without a warning.
const mostAhead = 5 * time.Minute

// clock warns if the newest commit has a time in the future, because some clock was ahead:
// times never go back.
func (e *examined) clock(context.Context) []doctor.Finding {
	const check = "clock"
	if e.head.Time.Sub(e.vault.Now()) <= mostAhead {
		return []doctor.Finding{doctor.Good(check, "no version has a time in the future")}
	}
	return []doctor.Finding{doctor.Warning(check, fmt.Sprintf("%s has the time %s, which is in the future: until then "+
		"each version gets that time, and today is that day",
		eventlog.Version(e.head.Seq), e.head.Time.UTC().Format(time.RFC3339)),
		"set the clock of this machine if it is behind; if one was ahead, name the day until then: "+
			"rookery add --to YYYY-MM-DD")}
}
