package repo

import (
	"strings"

	"rookery/internal/fault"
	"rookery/internal/vault"
)

// errTrashed says that a log takes no writes because it is in the trash. Of a vault it is NOT_FOUND; see Vault.Read.
var errTrashed error = fault.New(fault.NotFound, "the log is in the trash")

// allowed is a fault if a call must not write to a log of this status.
func (c Call) allowed(s Status) error {
	switch {
	case c.Revives, s == Active, s == ReadOnly && c.Outside:
		return nil
	case s == ReadOnly:
		return fault.New(fault.ReadOnly, "the vault is read-only").
			Fix("an admin can make it writable").
			Try("team_vault_set", fault.Args{"readonly": false})
	}
	return errTrashed
}

// reaches is a fault if the call must not change the file at a path. What lies in the trash belongs to
// where it was.
func (c Call) reaches(path vault.Path) error {
	at := strings.TrimPrefix(string(path), vault.Trash)
	if c.Prefix == "" || strings.HasPrefix(at, c.Prefix) {
		return nil
	}
	return OutsidePrefix(c.Prefix)
}

// Whole is a fault if the call must not change the log as a whole, but only notes under a prefix.
func (c Call) Whole() error {
	if c.Prefix == "" {
		return nil
	}
	return OutsidePrefix(c.Prefix)
}

// OutsidePrefix is the fault of a call that would change something that does not lie under its prefix.
func OutsidePrefix(prefix string) error {
	return fault.New(fault.PermissionDenied, "the caller may only write notes under %s", prefix).
		With("prefix", prefix)
}
