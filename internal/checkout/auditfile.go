package checkout

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

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
