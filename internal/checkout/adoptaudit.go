package checkout

import (
	"context"

	"rookery/internal/auditlog"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// AdoptAudit takes in the audit log of a folder that another history wrote: a Raven's, or Rookery's on
// another machine. The notes that it tells of get their ids and times from it when they are taken in,
// so it comes before them. Where a checkout has kept the folder already there is nothing to take in.
//
// The vault must have no Follower yet. A log that cannot be taken in whole is a fault: the checkout
// would write its own over it.
func AdoptAudit(ctx context.Context, v *repo.Vault, o Options) error {
	control, err := v.Control(ctx)
	if err != nil {
		return err
	}
	if control.Cursors[repo.FilesCursor].Seq > 0 || control.Cursors[auditlog.Cursor].Seq > 0 {
		return nil
	}
	a := adoption{vault: v, files: o.Files, call: repo.Call{Who: o.Who, Tool: "reindex"}}
	log, err := auditlog.Whole(ctx, a.files)
	if err != nil || len(log) == 0 {
		return err
	}
	if log[len(log)-1] != '\n' { // whoever wrote it was killed, or left it to the next line
		log = append(log, '\n')
	}
	if err := a.auditOf(ctx, log); err != nil {
		return err
	}
	if len(a.done.Left) > 0 {
		return fault.New(fault.FileError, "a line of %s is too long to be synced", vault.AuditLog).
			At(vault.AuditLog, 0).
			Fix("move it out of the folder: this loses the ids and times in it, but no note")
	}
	if o.ReadOnly {
		return nil
	}
	return a.auditAnew(ctx)
}
