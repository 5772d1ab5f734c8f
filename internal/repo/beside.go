package repo

import (
	"context"

	"rookery/internal/index"
	"rookery/internal/table"
)

// Beside is where items of the vault that are in no version of it are: the table of the tenant, and the partition of
// the vault in it. Their keys begin with none of the words that the log uses. When the vault is erased they go with it.
func (v *Vault) Beside() (t table.Table, part string) { return v.log.opt.Table, v.part }

// ReadWritable is Read for a call that changes something beside the log: it is refused as a write to the log would be.
func (v *Vault) ReadWritable(ctx context.Context) (*index.Index, error) {
	s, err := v.log.Read(ctx)
	switch {
	case err != nil:
		return nil, v.orNone(err)
	case s.Status == Sealed:
		return nil, v.orNone(ErrNoLog)
	}
	if err := (Call{}).allowed(s.Status); err != nil {
		return nil, v.orNone(err)
	}
	return s.State, nil
}
