package checkout

import (
	"context"
	"errors"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// AuditFile is the audit log as it stands in the folder now. One that is not there is empty; a link or
// a folder in its place is FILE_ERROR.
func (c *Checkout) AuditFile(ctx context.Context) (*repo.AuditFile, error) {
	return ReadAudit(ctx, c.vault, c.files)
}

// ReadAudit reads the audit log of a vault from the folder of its notes.
func ReadAudit(
	ctx context.Context, v *repo.Vault, files blob.Bucket,
) (*repo.AuditFile, error) {
	control, err := v.Control(ctx)
	if err != nil {
		return nil, err
	}
	text, _, err := files.Get(ctx, vault.AuditLog, 0, -1)
	switch {
	case errors.Is(err, blob.ErrForeign):
		return nil, fault.New(fault.FileError, "%s is no plain file", vault.AuditLog).
			At(vault.AuditLog, 0).Fix("move it away: the next change writes it anew from the log")
	case err != nil && !errors.Is(err, blob.ErrNotExist):
		return nil, unreadable(vault.AuditLog, err)
	}
	return &repo.AuditFile{Text: text, Cursor: control.Cursors[auditCursor]}, nil
}
