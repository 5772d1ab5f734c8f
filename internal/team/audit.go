package team

import (
	"context"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/table"
)

// Name is the name of the tenant.
func (t *Team) Name() string { return t.opt.Tenant }

// Table is the tenant's own part of the table. Partition "" is its log, "<vault>/<number>" those of its
// vaults; what is kept beside the logs has partitions of its own.
func (t *Team) Table() table.Table { return t.opt.Table }

// Bucket is the tenant's own part of the bucket.
func (t *Team) Bucket() blob.Bucket { return t.opt.Bucket }

// A History is a log of the tenant, to be read backwards.
type History struct {
	repo.History
	Vault string // whose log it is; empty: the tenant's own
	Part  string // names the log for as long as it is there
}

// Histories are the tenant's own log and those of its vaults, also of vaults in the trash, and the
// version of the tenant that says which there are. No vault is opened for it, so none has to fit into memory.
func (t *Team) Histories(ctx context.Context) ([]History, uint64, error) {
	s, seq, err := t.State(ctx)
	if err != nil {
		return nil, 0, err
	}
	all := []History{{t.log, "", ""}}
	for _, e := range s.Vaults() {
		part := partOf(e.Name, e.Incarnation)
		all = append(all, History{t.histories.Of(repo.HistoryOf{
			Name: e.Name, Part: part, Table: t.opt.Table, Bucket: t.bucketOf(e.Name, e.Incarnation),
		}), e.Name, part})
	}
	return all, seq, nil
}

// VerifyLog reads the tenant's own log, and compares each part with its digest. It is INDEX_ERROR where
// the chain does not join, where a part is not what its header says, and where the log ends before a
// commit that this process knows. version is that of the last commit.
func (t *Team) VerifyLog(ctx context.Context) (version uint64, err error) {
	known := t.log.Known().Seq
	s, err := t.log.Replay(ctx, true)
	if err != nil {
		return s.Seq, t.orGone(err)
	}
	if s.Seq < known {
		return s.Seq, fault.New(fault.IndexError, "the tenant's log ends at %s, before %s",
			repo.Version(s.Seq), repo.Version(known)).OnServer("doctor --full")
	}
	return s.Seq, nil
}
