package team

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"rookery/internal/auditlog"
	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/table"
	"rookery/internal/vault"
)

// A Followed is a vault as those have it who follow its log, and need no index.
type Followed struct {
	Tenant      string
	Vault       *repo.Vault
	Name        string
	Incarnation int
	Notes       blob.Bucket // the files of its notes, by their paths
	Table       table.Table // of the tenant
	Part        string      // the partition of the vault in it
}

// FollowedAt is the vault of a partition of the table, such as a stream of it names. Nothing is read of it. A partition
// that is not a vault's is NOT_FOUND.
func (t *Teams) FollowedAt(ctx context.Context, part string) (Followed, error) {
	f, life, ok := parsePart(part)
	if !ok {
		return Followed{}, noPart()
	}
	return t.followed(ctx, f.Tenant, life, f)
}

// IsVault reports whether a partition of the table of a deployment is that of a vault.
func IsVault(part string) bool {
	_, _, ok := parsePart(part)
	return ok
}

// parsePart reads the partition of a vault in the table of a deployment: tenant, vault and incarnation, with the
// incarnation of the tenant behind its name where it is not the first.
func parsePart(part string) (f Followed, life int, ok bool) {
	names := strings.Split(part, "/")
	life = 1
	if len(names) == 4 {
		n, err := strconv.Atoi(strings.TrimPrefix(names[1], "~"))
		if err != nil || !strings.HasPrefix(names[1], "~") {
			return f, 0, false
		}
		life, names = n, append(names[:1:1], names[2:]...)
	}
	if len(names) != 3 || vault.CheckName(names[0]) != nil || vault.CheckName(names[1]) != nil {
		return f, 0, false
	}
	incarnation, err := strconv.Atoi(names[2])
	return Followed{Tenant: names[0], Name: names[1], Incarnation: incarnation}, life, err == nil
}

// Followed is an incarnation of a vault of a tenant, of which nothing is read but the registry of tenants. A tenant that
// does not exist is UNAUTHENTICATED.
func (t *Teams) Followed(ctx context.Context, tenant, name string, incarnation int) (Followed, error) {
	life, err := t.registered(ctx, tenant)
	if err != nil {
		return Followed{}, err
	}
	return t.followed(ctx, tenant, life, Followed{Tenant: tenant, Name: name, Incarnation: incarnation})
}

// Followed is an active vault of the tenant, open as calls have it. One that is not there, or is in the trash, is
// NOT_FOUND.
func (t *Team) Followed(ctx context.Context, name string) (Followed, error) {
	e, err := t.entry(ctx, name)
	if err != nil {
		return Followed{}, err
	}
	o, err := t.opened(ctx, e)
	if err != nil {
		return Followed{}, err
	}
	return t.with(Followed{Tenant: t.opt.Tenant, Vault: o.vault, Name: e.Name, Incarnation: e.Incarnation}), nil
}

func (t *Teams) followed(ctx context.Context, tenant string, life int, f Followed) (Followed, error) {
	o, err := t.opt.of(ctx, tenant, life)
	if err != nil {
		return f, err
	}
	return (&Team{opt: o}).unread(f.Name, f.Incarnation)
}

// unread is an incarnation of a vault, of which nothing is read.
func (t *Team) unread(name string, incarnation int) (Followed, error) {
	v, err := t.vaultOf(name, incarnation)
	if err != nil {
		return Followed{}, fmt.Errorf("open a vault: %w", err)
	}
	return t.with(Followed{Tenant: t.opt.Tenant, Vault: v, Name: name, Incarnation: incarnation}), nil
}

// with adds where the files and the items of a vault are.
func (t *Team) with(f Followed) Followed {
	f.Notes, f.Table, f.Part = t.notes(f.Name), t.opt.Table, partOf(f.Name, f.Incarnation)
	return f
}

// Edited is what Followed returns, until the context ends: see Team.Vault. ok is false where files are not in a bucket
// that other processes follow.
func (t *Team) Edited(ctx context.Context, name string) (f Followed, ok bool, err error) {
	if len(t.opt.Followers) == 0 {
		return f, false, nil
	}
	f, err = t.Followed(ctx, name)
	return f, true, err
}

// FileOf returns which file of which vault has a key in the bucket of a deployment; ok is false if it is none of a
// vault's notes.
func FileOf(key string) (tenant, name, path string, ok bool) {
	rest, ok := strings.CutPrefix(key, "tenants/")
	tenant, rest, named := strings.Cut(rest, "/")
	if !ok || !named || !isNote(rest) || vault.CheckName(tenant) != nil {
		return "", "", "", false
	}
	name, rest, _ = strings.Cut(strings.TrimPrefix(rest, "vaults/"), "/")
	path = strings.TrimPrefix(rest, "notes/")
	return tenant, name, path, vault.CheckName(name) == nil && path != ""
}

// eraseNotes destroys the files of a vault's notes that another process writes, whoever put them there.
func (t *Team) eraseNotes(ctx context.Context, name string) (blob.Gone, error) {
	if len(t.opt.Followers) == 0 {
		return blob.Gone{}, nil
	}
	gone, err := blob.Erase(ctx, t.notes(name), "")
	if err != nil {
		return gone, fmt.Errorf("erase the files of a vault: %w", err)
	}
	return gone, nil
}

// notes are the files of a vault's notes, by their paths, where another process writes them.
func (t *Team) notes(name string) blob.Bucket { return blob.Sub(t.opt.notes, notesOf(name)) }

// AuditFile is the audit log of a vault as it is in the files beside its notes; nil where there are none.
func (t *Team) AuditFile(ctx context.Context, name string) (*repo.AuditFile, error) {
	o, err := t.find(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case o.folder != nil:
		return o.folder.AuditFile(ctx)
	case len(t.opt.Followers) == 0:
		return nil, nil
	}
	return auditlog.Read(ctx, o.vault, t.notes(name))
}

// noPart is the fault of a partition that is not a vault's.
func noPart() error { return fault.New(fault.NotFound, "the partition is not that of a vault") }
