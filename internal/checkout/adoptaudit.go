package checkout

import (
	"bytes"
	"context"
	"encoding/json"

	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// AdoptAudit takes in the audit log of a folder that another history wrote: a Raven's, or Rookery's on
// another machine. The notes that it tells of get their ids and times from it when they are taken in,
// so it comes before them. Where a checkout has kept the folder already there is nothing to take in.
//
// The vault must have no Follower yet. A file that cannot be taken in whole is a fault: the checkout
// would write its own over it.
func AdoptAudit(ctx context.Context, v *repo.Vault, o Options) error {
	control, err := v.Control(ctx)
	if err != nil {
		return err
	}
	if control.Cursors[filesCursor].Seq > 0 || control.Cursors[auditCursor].Seq > 0 {
		return nil
	}
	a := adoption{vault: v, files: o.Files, call: repo.Call{Who: o.Who, Tool: "reindex"}}
	log, err := a.wholeAudit(ctx)
	if err != nil || len(log) == 0 {
		return err
	}
	if err := a.auditOf(ctx, ended(log)); err != nil {
		return unread(err)
	}
	if len(a.done.Left) > 0 {
		return fault.New(fault.FileError, "a line of %s is too long to be taken in", vault.AuditLog).
			Fix(setAside)
	}
	if o.ReadOnly {
		return nil
	}
	return a.auditAnew(ctx)
}

// ended is an audit log whose last line has its end, if it is whole. One that was cut off tells nothing.
func ended(log []byte) []byte {
	at := bytes.LastIndexByte(log, '\n') + 1
	if at == len(log) {
		return log
	}
	if json.Valid(log[at:]) {
		return append(log[:len(log):len(log)], '\n')
	}
	return log[:at]
}

// unread is the fault of an audit log that cannot be taken in.
func unread(err error) error {
	if fault.Is(err, fault.InvalidValue) {
		return fault.New(fault.FileError, "%s, which another program wrote, cannot be taken in",
			vault.AuditLog).Because(err).
			Fix(setAside)
	}
	return err
}

const setAside = "move it out of the folder: the ids and times that it tells are lost by that, and no note"
