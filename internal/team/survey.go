package team

import (
	"context"
	"fmt"

	"rookery/internal/job"
	"rookery/internal/table"
)

// A Registered is what the registry of tenants has of a name.
type Registered struct {
	Name    string
	Live    bool // a tenant has the name
	Erasing bool // the erasure of a tenant that has, or had, the name has not ended

	incarnation int
}

// Registered returns what the registry has, by name: one Query for each MB of it. A name whose item cannot be read is
// left out, and the error of that returned with the others.
func (t *Teams) Registered(ctx context.Context) (all []Registered, err error) {
	for it, failed := range t.opt.registry().Query(ctx, registry, "", "~") {
		if failed != nil {
			return nil, fmt.Errorf("list the tenants: %w", failed)
		}
		r, unread := readRegistration(it)
		if unread != nil {
			err = unread
			continue
		}
		one := Registered{Name: it.Sort, Live: r.live(), incarnation: r.Incarnation}
		for _, at := range r.Erasures {
			one.Erasing = one.Erasing || at.Done.IsZero()
		}
		all = append(all, one)
	}
	return all, err
}

// A Survey is the vaults and the unfinished work of a tenant. It is made without opening the tenant or a vault.
type Survey struct {
	Vaults  []Entry     // that have a log, by name; also those in the trash
	Jobs    []job.Item  // that have not ended, oldest first
	Adopts  bool        // an erasure of a vault has no job
	FoldDue bool        // FoldTenant has something to do
	Table   table.Table // of the tenant

	own *Team
}

// Survey looks at a tenant: at the tail of its log, and an image if it is folded, and at its open jobs. One that is gone
// is UNAUTHENTICATED.
func (t *Teams) Survey(ctx context.Context, r Registered) (*Survey, error) {
	o, err := t.opt.of(ctx, r.Name, r.incarnation)
	if err != nil {
		return nil, err
	}
	own, err := unmade(o)
	if err != nil {
		return nil, err
	}
	s, _, err := own.State(ctx)
	if err != nil {
		return nil, err
	}
	out := &Survey{
		Vaults: s.Vaults(), FoldDue: own.FoldDue(), Table: o.Table, own: own,
	}
	if out.Jobs, err = own.newJobs().Open(ctx); err != nil {
		return nil, err
	}
	for _, e := range s.vaults {
		out.Adopts = out.Adopts || e.Erasure != nil && !e.free() && !out.erases(e)
	}
	return out, nil
}

// erases reports whether a job erases a vault.
func (s *Survey) erases(e Entry) bool {
	for i := range s.Jobs {
		if s.Jobs[i].Kind == vaultErase && s.Jobs[i].Target.Vault == e.Name {
			return true
		}
	}
	return false
}

// Followed is a vault of the tenant, of which nothing is read.
func (s *Survey) Followed(e Entry) (Followed, error) { return s.own.unread(e.Name, e.Incarnation) }

// JobsMessage asks for one pass over the jobs of a tenant; see Teams.WorkOf.
func JobsMessage(tenant string) job.Message { return job.Message{V: 1, Kind: jobsKind, Tenant: tenant} }
