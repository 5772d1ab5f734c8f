package tenant

import (
	"context"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// Name returns the name of the tenant.
func (t *Tenant) Name() string { return t.opt.Tenant }

// Table returns the tenant's part of the table. Partition "" contains its log,
// "<vault>/<incarnation>" the log of a vault; other data has partitions of its own.
func (t *Tenant) Table() table.Table { return t.opt.Table }

// Bucket returns the tenant's part of the bucket.
func (t *Tenant) Bucket() blob.Bucket { return t.opt.Bucket }

// A History is one log of the tenant, for reading backwards. The tools of the audit log read all
// histories of a tenant together.
type History struct {
	eventlog.History
	Vault string // name of the vault; empty: the tenant's own log
	Part  string // unique name of the log, valid until it is erased
}

// Histories returns the tenant's own log and those of its vaults, including vaults in the trash,
// and the tenant's version at which these vaults exist. It opens no vault, so that vaults of any
// size can be read. Vaults that are being erased are not among them.
func (t *Tenant) Histories(ctx context.Context) ([]History, uint64, error) {
	s, seq, err := t.State(ctx)
	if err != nil {
		return nil, 0, err
	}
	all := []History{{t.log, "", ""}}
	for _, e := range s.Vaults() {
		part := partOf(e.Name, e.Incarnation)
		all = append(all, History{t.histories.Of(eventlog.HistoryOf{
			Name: e.Name, Part: part, Table: t.opt.Table, Bucket: t.bucketOf(e.Name, e.Incarnation),
		}), e.Name, part})
	}
	return all, seq, nil
}

// VerifyLog reads the tenant's own log and compares each part with its digest. It returns
// INDEX_ERROR if the chain is broken, if a part does not match its header, or if the log ends
// before a commit that this process knows. version is that of the last commit read, also with an
// error. It reads the whole log.
func (t *Tenant) VerifyLog(ctx context.Context) (version uint64, err error) {
	known := t.log.Known().Seq
	s, err := t.log.Replay(ctx, true)
	if err != nil {
		return s.Seq, t.orGone(err)
	}
	if s.Seq < known {
		return s.Seq, fault.New(fault.IndexError, "the tenant's log ends at %s, before %s",
			eventlog.Version(s.Seq), eventlog.Version(known)).OnServer("doctor --full")
	}
	return s.Seq, nil
}
