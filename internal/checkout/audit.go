package checkout

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// AdoptAudit adds the audit log of a folder that has another history, such as one of Raven, or of
// Rookery on another machine. Notes get their ids and times from it when they are ingested, so
// AdoptAudit must be called first. It does nothing if a checkout has kept the folder already.
//
// The vault must not have a Follower yet. AdoptAudit returns FILE_ERROR if a line of the audit log
// is too long, because the checkout would overwrite it.
func AdoptAudit(ctx context.Context, v *repo.Vault, o Options) error {
	control, err := v.Control(ctx)
	if err != nil {
		return err
	}
	if control.Cursors[repo.FilesCursor].Seq > 0 || control.Cursors[auditlog.Cursor].Seq > 0 {
		return nil
	}
	a := adoption{vault: v, files: o.Files, call: eventlog.Call{Who: o.Who, Tool: "reindex"}}
	log, err := auditlog.Whole(ctx, a.files)
	if err != nil || len(log) == 0 {
		return err
	}
	if log[len(log)-1] != '\n' { // the process that wrote it was killed, or ends lines when it begins the next
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
	return a.rewriteAudit(ctx)
}

// AuditFile returns the audit log as it is in the folder now; see auditlog.Read. If a history was
// erased since the log was written, it saves first, so that no line of that history is returned.
func (c *Checkout) AuditFile(ctx context.Context) (*repo.AuditFile, error) {
	if c.vault.AuditStale() {
		c.Save(ctx)
	}
	return auditlog.Read(ctx, c.vault, c.files)
}

// isAudit reports whether a path is that of a file of the audit log.
func isAudit(path string) bool { return vault.Path(path).Kind() == vault.KindAudit }
