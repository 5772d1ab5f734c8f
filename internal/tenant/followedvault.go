package tenant

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A FollowedVault is a vault as a follower of its log uses it, without an index: a process that writes
// the notes of commits as objects, or turns changed objects into commits. It costs no memory for
// the notes.
type FollowedVault struct {
	Tenant      string
	Vault       *repo.Vault
	Name        string
	Incarnation int
	Notes       blob.Bucket // the files of its notes, by path
	Table       table.Table // the tenant's table
	Part        string      // the partition of the vault in Table
}

// FollowedAt returns the vault of a partition of the deployment's table, as a stream of the table
// names it. It reads nothing of the vault. A partition that is not a vault's is NOT_FOUND.
func (t *Registry) FollowedAt(ctx context.Context, part string) (FollowedVault, error) {
	f, life, ok := parsePart(part)
	if !ok {
		return FollowedVault{}, noPart()
	}
	return t.followed(ctx, f.Tenant, life, f)
}

// IsVault reports whether a partition of the deployment's table is that of a vault.
func IsVault(part string) bool {
	_, _, ok := parsePart(part)
	return ok
}

// parsePart parses a partition of the deployment's table: the tenant, the vault and its
// incarnation, separated by slashes, as in "acme/notes/1". If the tenant is not the first of its
// name, "~" and its incarnation follow its name, as in "acme/~2/notes/1"; life is that number,
// otherwise 1. ok is false for any other partition.
func parsePart(part string) (f FollowedVault, life int, ok bool) {
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
	return FollowedVault{Tenant: names[0], Name: names[1], Incarnation: incarnation}, life, err == nil
}

// Followed returns an incarnation of a vault of a tenant. It reads only the registry of tenants:
// whether the vault exists is found by the first read of its log. A tenant that does not exist is
// UNAUTHENTICATED.
func (t *Registry) Followed(ctx context.Context, tenant, name string, incarnation int) (FollowedVault, error) {
	life, err := t.registered(ctx, tenant)
	if err != nil {
		return FollowedVault{}, err
	}
	return t.followed(ctx, tenant, life, FollowedVault{Tenant: tenant, Name: name, Incarnation: incarnation})
}

// Followed returns an active vault of the tenant, open as for calls. A vault that does not exist or
// is in the trash is NOT_FOUND.
func (t *Tenant) Followed(ctx context.Context, name string) (FollowedVault, error) {
	e, err := t.entry(ctx, name)
	if err != nil {
		return FollowedVault{}, err
	}
	o, err := t.openVault(ctx, e)
	if err != nil {
		return FollowedVault{}, err
	}
	return t.with(FollowedVault{Tenant: t.opt.Tenant, Vault: o.vault, Name: e.Name, Incarnation: e.Incarnation}), nil
}

// followed returns a vault of an incarnation (life) of a tenant without reading it.
func (t *Registry) followed(ctx context.Context, tenant string, life int, f FollowedVault) (FollowedVault, error) {
	o, err := t.opt.forTenant(ctx, tenant, life)
	if err != nil {
		return f, err
	}
	return (&Tenant{opt: o}).followedOf(f.Name, f.Incarnation)
}

// followedOf returns an incarnation of a vault without reading it.
func (t *Tenant) followedOf(name string, incarnation int) (FollowedVault, error) {
	v, err := t.vaultOf(name, incarnation)
	if err != nil {
		return FollowedVault{}, fmt.Errorf("open a vault: %w", err)
	}
	return t.with(FollowedVault{Tenant: t.opt.Tenant, Vault: v, Name: name, Incarnation: incarnation}), nil
}

// with adds the location of the vault's files and items.
func (t *Tenant) with(f FollowedVault) FollowedVault {
	f.Notes, f.Table, f.Part = t.notes(f.Name), t.opt.Table, partOf(f.Name, f.Incarnation)
	return f
}

// Edited is Followed, with the vault in use until ctx ends; see Tenant.Vault. It is for a process
// that turns changed objects into commits, which needs the index. ok is false if the files are not
// in a bucket that other processes follow.
func (t *Tenant) Edited(ctx context.Context, name string) (f FollowedVault, ok bool, err error) {
	if len(t.opt.Followers) == 0 {
		return f, false, nil
	}
	f, err = t.Followed(ctx, name)
	return f, true, err
}

// FileOf returns the tenant, the vault and the path of the file with a key in the deployment's
// bucket: "tenants/acme/vaults/notes/notes/people/freya.md". ok is false if the key is not that of
// a vault's note file. It does not check that the vault exists or that the path is valid.
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

// eraseNotes destroys the files of a vault in a bucket that other processes follow, including files
// that other programs put there. It does nothing where files are in folders; see checkout.Erase.
func (t *Tenant) eraseNotes(ctx context.Context, name string) (blob.EraseCount, error) {
	if len(t.opt.Followers) == 0 {
		return blob.EraseCount{}, nil
	}
	gone, err := blob.Erase(ctx, t.notes(name), "")
	if err != nil {
		return gone, fmt.Errorf("erase the files of a vault: %w", err)
	}
	return gone, nil
}

// notes returns the bucket of a vault's note files, by path.
func (t *Tenant) notes(name string) blob.Bucket { return blob.Sub(t.opt.notes, notesOf(name)) }

// AuditFile returns the audit log in the files of a vault, or nil if the vault has no files: in a
// folder, or in a bucket that other processes follow. It opens the vault.
func (t *Tenant) AuditFile(ctx context.Context, name string) (*repo.AuditFile, error) {
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

// noPart returns the fault of a partition that is not a vault's.
func noPart() error { return fault.New(fault.NotFound, "the partition does not belong to a vault") }
