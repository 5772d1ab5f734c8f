package repo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
)

// The cursors that every vault has.
const (
	FilesCursor = "checkout" // of the checkout: the files of the notes
	AuditCursor = "audit"    // of the audit log files
)

// A Control is the control item of the log of a vault: that of the log, and the state of the files
// in the folder. Both are members of the same JSON object.
type Control struct {
	eventlog.Control
	FileState
}

// A FileState describes the files in the folder of a vault, relative to the log. The processes that
// compare the files with the log write it. It is in the control item and not in the memory of a
// process, so that a process without the folder can report the state of the files too. Its lists
// are bounded (see MaxNamed), because every read of the vault reads the control item.
type FileState struct {
	Sweep     *Sweep          `json:"sweep,omitempty"`     // the result of the last sweep
	Noticed   *Noticed        `json:"noticed,omitempty"`   // outside edits not in the log yet
	Held      *Held           `json:"held,omitempty"`      // a batch of outside edits that needs confirmation
	Left      *Left           `json:"left,omitempty"`      // files that cannot be ingested
	Unwatched Unwatched       `json:"unwatched,omitempty"` // why file changes may be noticed late
	Late      *Late           `json:"late,omitempty"`      // files that are, or were, behind the log
	Lease     *eventlog.Lease `json:"lease,omitempty"`     // of a running reindex
}

// withFiles returns a control item with its FileState decoded. The log keeps the members of the
// FileState in Extra, because it does not know them. An item without such members has the zero
// FileState, which means that the files were not compared with the log yet.
func withFiles(c eventlog.Control) (Control, error) {
	all := Control{Control: c}
	if len(c.Extra) == 0 {
		return all, nil
	}
	data, err := json.Marshal(c.Extra)
	if err == nil {
		err = json.Unmarshal(data, &all.FileState)
	}
	if err != nil {
		return all, fmt.Errorf("decode the state of the files in the control item: %w", err)
	}
	return all, nil
}

// log returns the control item with its FileState encoded. Members that this release does not know
// are dropped.
func (c *Control) log() (eventlog.Control, error) {
	stored := c.Control
	stored.Extra = nil
	data, err := json.Marshal(c.FileState)
	if err == nil {
		err = json.Unmarshal(data, &stored.Extra)
	}
	if err != nil {
		return stored, fmt.Errorf("encode the state of the files in the control item: %w", err)
	}
	return stored, nil
}

// changeFiles returns a change of the control item of a log that makes a change of a Control. If
// the FileState cannot be decoded or encoded, it sets failed, and nothing is written. The caller
// must check failed before the error of the write. It may be called several times.
func changeFiles(change func(*Control) bool, failed *error) func(*eventlog.Control) bool {
	return func(stored *eventlog.Control) bool {
		c, err := withFiles(*stored)
		if err != nil {
			*failed = err
			return false
		}
		if !change(&c) {
			return false
		}
		*stored, *failed = c.log()
		return *failed == nil
	}
}

// Control reads the control item of the log of the vault. It returns ErrNoLog if the log does not
// exist or is being erased.
func (v *Vault) Control(ctx context.Context) (Control, error) {
	c, err := v.log.Control(ctx)
	if err != nil {
		return Control{}, err
	}
	return withFiles(c)
}

// Change changes the control item of the log of the vault with a conditional write. change may be
// called several times, each time with a newer item. If it returns false, nothing is written. An
// error of the write is UNAVAILABLE; the change may have been written nevertheless. Members of the
// item that this release does not know are dropped.
func (v *Vault) Change(ctx context.Context, change func(*Control) bool) error {
	var failed error
	err := v.log.Change(ctx, changeFiles(change, &failed))
	if failed != nil {
		return failed
	}
	return err
}

// ReadControl returns the result of Read and the control item that was read with it, without
// another request. The control item may be newer than the index. The caller must not change what
// the control item points to.
func (v *Vault) ReadControl(ctx context.Context) (*index.Index, Control, error) {
	idx, err := v.Read(ctx)
	if err != nil {
		return nil, Control{}, err
	}
	c, err := v.known(v.log.Known().Control)
	return idx, c, err
}

// known is withFiles for the newest known control item. Most calls read it and few change it, so
// the result is cached.
func (v *Vault) known(c eventlog.Control) (Control, error) {
	if last := v.control.Load(); last != nil && last.Rev == c.Rev && last.Made.Equal(c.Made) {
		return *last, nil
	}
	all, err := withFiles(c)
	if err == nil {
		v.control.Store(&all)
	}
	return all, err
}

// A Sweep is the result of comparing the checkout with the log: differences that cannot be
// ingested. These are paths of notes where something else is in the folder, and files that cannot
// be written.
type Sweep struct {
	At      time.Time `json:"at"`
	Version uint64    `json:"version"`
	Edited  []string  `json:"edited,omitempty"`  // notes replaced by something that cannot be a note; at most 100
	Missing []string  `json:"missing,omitempty"` // notes whose file is missing; at most 100
	Count   int       `json:"count,omitempty"`   // total of Edited
	Missed  int       `json:"missed,omitempty"`  // total of Missing

	// Listed is when the last comparison of all objects of a bucket began; zero: there was none.
	// Version is then the last version whose files were compared.
	Listed time.Time `json:"listed,omitzero"`
}
