package tenant

import (
	"context"
	"fmt"
	"slices"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/table"
)

// A RegisteredTenant is a name in the registry of tenants.
type RegisteredTenant struct {
	Name    string
	Live    bool // a tenant has the name
	Erasing bool // an erasure of a tenant with this name has not ended

	incarnation int
}

// Tenants returns all names in the registry, sorted, including those of erased tenants whose
// erasure is still listed. It costs one Query for each MB of the registry. An item that cannot be
// read is skipped, and its error is returned together with the other names.
func (t *Registry) Tenants(ctx context.Context) (all []RegisteredTenant, err error) {
	for it, failed := range t.opt.registry().Query(ctx, registry, "", "~") {
		if failed != nil {
			return nil, fmt.Errorf("list the tenants: %w", failed)
		}
		r, unread := readRegistration(it)
		if unread != nil {
			err = unread
			continue
		}
		one := RegisteredTenant{Name: it.Sort, Live: r.isLive(), incarnation: r.Incarnation}
		for _, at := range r.Erasures {
			one.Erasing = one.Erasing || at.Done.IsZero()
		}
		all = append(all, one)
	}
	return all, err
}

// A Survey is the vaults and the unfinished work of a tenant, found without opening the tenant or a
// vault. A deployment without background processes uses it to find out what must be done, at the
// cost of a few reads for each tenant.
type Survey struct {
	Vaults     []Entry     // by name, including those in the trash
	Jobs       []job.Item  // jobs that have not ended, oldest first
	Adopts     bool        // an erasure of a vault has no job yet
	CompactDue bool        // CompactTenant has something to do
	Table      table.Table // the tenant's table

	own *Tenant
}

// Survey reads the end of a tenant's log, with an image if the log was compacted, and its open
// jobs. It costs a few reads, whatever the number of vaults. A tenant that no longer exists is
// UNAUTHENTICATED.
func (t *Registry) Survey(ctx context.Context, r RegisteredTenant) (*Survey, error) {
	o, err := t.opt.forTenant(ctx, r.Name, r.incarnation)
	if err != nil {
		return nil, err
	}
	own, err := openReadOnly(o)
	if err != nil {
		return nil, err
	}
	s, _, err := own.State(ctx)
	if err != nil {
		return nil, err
	}
	out := &Survey{
		Vaults: s.Vaults(), CompactDue: own.CompactDue(), Table: o.Table, own: own,
	}
	if out.Jobs, err = own.newJobs().Open(ctx); err != nil {
		return nil, err
	}
	for _, e := range s.vaults {
		out.Adopts = out.Adopts || e.Erasure != nil && !e.free() && !out.erases(e)
	}
	return out, nil
}

// erases reports whether a job of the survey erases a vault.
func (s *Survey) erases(e Entry) bool {
	return slices.ContainsFunc(s.Jobs, func(it job.Item) bool {
		return it.Kind == vaultErase && it.Target.Vault == e.Name
	})
}

// Followed returns a vault of the tenant without reading it.
func (s *Survey) Followed(e Entry) (FollowedVault, error) {
	return s.own.followedOf(e.Name, e.Incarnation)
}

// JobsMessage returns the message that requests one pass over the jobs of a tenant; see
// Registry.WorkOf.
func JobsMessage(tenant string) job.Message { return job.Message{V: 1, Kind: jobsKind, Tenant: tenant} }

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
