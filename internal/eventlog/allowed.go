package eventlog

import (
	"github.com/rookeryhq/rookery/internal/fault"
)

// ErrTrashed is the error of a write to a log that is in the trash. It is NOT_FOUND.
var ErrTrashed error = fault.New(fault.NotFound, "the log is in the trash")

// Allowed returns an error if the call must not write to a log with status s: READ_ONLY for a
// read-only log, ErrTrashed for one in the trash. Calls with AllowInactive may always write, and
// calls with Outside may write to a read-only log.
func (c Call) Allowed(s Status) error {
	switch {
	case c.AllowInactive, s == Active, s == ReadOnly && c.Outside:
		return nil
	case s == ReadOnly:
		return fault.New(fault.ReadOnly, "the vault is read-only").
			Fix("an admin can make it writable").
			Try("team_vault_set", fault.Args{"readonly": false})
	}
	return ErrTrashed
}

// Whole returns OutsidePrefix if the call may only change notes under a prefix, not the log as a
// whole.
func (c Call) Whole() error {
	if c.Prefix == "" {
		return nil
	}
	return OutsidePrefix(c.Prefix)
}

// OutsidePrefix returns the PERMISSION_DENIED error of a call that would change a note that is not
// under its prefix.
func OutsidePrefix(prefix string) error {
	return fault.New(fault.PermissionDenied, "the caller can write only notes under %s", prefix).
		With("prefix", prefix)
}
