// Package vault says what a vault is made of: the names of its files, its schema, its settings, and
// the words in which people write times.
//
// It is pure: no clock, no state, and no I/O but that of the time package, which looks a zone up in
// the system's database before it takes the one that is compiled in.
//
// Sources of the rules: reference/raven.md §1 and §6, DESIGN §6, CONTRACT §2.
package vault

import (
	"regexp"

	"rookery/internal/fault"
)

// name is what tenants and vaults may be called (reference/log.md §1).
var name = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// CheckName is INVALID_PARAMETER if a vault or a tenant cannot be called that.
func CheckName(s string) error {
	if name.MatchString(s) {
		return nil
	}
	f := fault.New(fault.InvalidParameter, "a name has 1 to 63 characters, all of them lower-case "+
		"letters a-z, digits or dashes, and does not begin with a dash")
	if better := Slug(s); name.MatchString(better) {
		f = f.Fix("use the name %s", better)
	}
	return f
}
