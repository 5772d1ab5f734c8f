package tenant

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
)

// An Examination selects the checks of Examine.
type Examination struct {
	Vault string // only the vaults of this name; empty: all
	Full  bool   // compare every payload with its digest
}

// Examine checks the tenants of a deployment and their vaults, including those in the trash, and
// yields its findings. It changes nothing: the table and the bucket may be open for reading only.
// If the list of tenants cannot be read, or a tenant's stores cannot be opened, it yields that as a
// failure and ends. A finding of the tenant auth.Local has no tenant.
func Examine(ctx context.Context, o Options, how Examination) iter.Seq[doctor.Finding] {
	return func(yield func(doctor.Finding) bool) {
		for it, err := range o.registry().Query(ctx, registry, "", "~") {
			if err != nil {
				yield(doctor.Failure("tenants", fmt.Errorf("list the tenants: %w", err), ""))
				return
			}
			r, err := readRegistration(it)
			if err == nil && !r.isLive() {
				continue
			}
			own, failed := o.forTenant(ctx, it.Sort, r.Incarnation)
			if err = errors.Join(err, failed); err != nil {
				yield(doctor.Failure("tenants", err, ""))
				return
			}
			for _, found := range examine(ctx, own, how) {
				if it.Sort != auth.Local {
					found.Tenant = it.Sort
				}
				if !yield(found) {
					return
				}
			}
		}
	}
}

// examine checks one tenant.
func examine(ctx context.Context, o Options, how Examination) []doctor.Finding {
	const check = "tenant"
	t, err := openReadOnly(o)
	if err != nil {
		return []doctor.Finding{doctor.Failure(check, err, "")}
	}
	s, seq, err := t.State(ctx)
	if err != nil {
		return []doctor.Finding{doctor.Failure(check, err, "")}
	}
	all := []doctor.Finding{doctor.Good(check, fmt.Sprintf("at %s, vaults: %d",
		eventlog.Version(seq), len(s.Vaults())))}
	for _, i := range t.DisabledIssuers(s) {
		all = append(all, doctor.DisabledIssuer(i.Name))
	}
	for _, e := range s.Vaults() {
		if !e.Gone(o.Now()) && (how.Vault == "" || how.Vault == e.Name) {
			all = append(all, t.examine(ctx, e, how.Full)...)
		}
	}
	return all
}

// openReadOnly returns a Tenant that can read a tenant's log and vaults, but creates nothing and runs
// nothing in the background.
func openReadOnly(o Options) (*Tenant, error) {
	if o.notes == nil {
		o.notes = o.Bucket
	}
	l, err := newLog(o)
	return &Tenant{opt: o, log: l, open: map[string]*openVault{}}, err
}

// examine checks one vault: its log, and the audit log in its folder if there are folders. A file
// of the audit log that cannot be read is a finding of its own; the rest is checked all the same.
func (t *Tenant) examine(ctx context.Context, e Entry, full bool) []doctor.Finding {
	v, err := t.vaultOf(e.Name, e.Incarnation)
	if err != nil {
		return []doctor.Finding{doctor.Failure("log", err, "")}
	}
	do := repo.Examination{Full: full}
	var unread []doctor.Finding
	if t.opt.Folders {
		files := blob.Sub(t.opt.notes, notesOf(e.Name))
		if t.opt.Served != nil {
			files = t.opt.Served.Files
		}
		if do.Audit, err = auditlog.Read(ctx, v, files); fault.Is(err, fault.FileError) {
			found := doctor.Failure("audit log", err, "")
			found.Vault = e.Name
			unread = append(unread, found)
		}
	}
	return append(v.Examine(ctx, do), unread...)
}
