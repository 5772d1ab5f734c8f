package team

import (
	"context"

	"rookery/internal/checkout"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// EraseNote removes a note of a vault, if it is there, and erases its history: from the log, the files
// that people see, and what the database and the folder keep of it. When it returns nobody is answered
// any of it. If it fails after its commit, the vault goes on by itself.
func (t *Team) EraseNote(
	ctx context.Context, c repo.Call, name string, path vault.Path,
) (repo.Receipt, error) {
	o, err := t.find(ctx, name)
	if err != nil {
		return repo.Receipt{}, err
	}
	r, err := o.vault.EraseNote(ctx, c, path)
	if err != nil || c.DryRun {
		return r, err
	}
	var how repo.Folding
	if o.folder != nil {
		how.Behind = checkout.Cursors()
		o.folder.Save(ctx)
	}
	if err := o.vault.Fold(ctx, how); err != nil {
		return r, err
	}
	if o.folder != nil {
		if err := o.folder.Redact(ctx, path); err != nil {
			return r, err
		}
	}
	if t.opt.Compact == nil {
		return r, nil
	}
	return r, t.opt.Compact(ctx)
}
