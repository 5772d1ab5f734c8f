package repo

import (
	"context"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/table"
)

// Beside returns the table of the tenant and the partition of the vault in it, for items that
// belong to no version. The caller must use key prefixes that the log does not use. Erasing the
// vault removes these items too.
func (v *Vault) Beside() (t table.Table, part string) { return v.table, v.part }

// ReadWritable is Read for a call that writes beside the log. It fails if a write to the log would
// be refused.
func (v *Vault) ReadWritable(ctx context.Context) (*index.Index, error) {
	s, err := v.log.Read(ctx)
	switch {
	case err != nil:
		return nil, v.orNone(err)
	case s.Status == eventlog.Sealed:
		return nil, v.orNone(eventlog.ErrNoLog)
	}
	if err := (eventlog.Call{}).Allowed(s.Status); err != nil {
		return nil, v.orNone(err)
	}
	return s.State, nil
}
