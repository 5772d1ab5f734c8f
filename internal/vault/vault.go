// Package vault defines the contents of a vault: the names of its files, its schema, its
// configuration, and the notation of times.
//
// A Path names a file; Path.Kind distinguishes notes from the schema, the configuration, audit logs
// and the files of folders. A Schema contains the types of objects and the traits, and validates
// the values of fields. A Config contains the settings of raven.yaml and rookery.yaml, and a Clock
// resolves dates and times such as today or this-week in the vault's time zone.
//
// The package is pure: it has no clock, no state and no I/O, except that the time package loads
// time zones from the system's database, or from the copy that is compiled in. Schemas,
// configurations and exclusions do not change after they are created, and can be shared by
// goroutines. Problems are reported as *fault.Fault, several of one file or object together.
//
// Sources of the rules: reference/raven.md §1 and §6, DESIGN §6, CONTRACT §2.
//
// The files are grouped by subject: path.go, segment.go and slug.go define names;
// schema.go and its neighbours define types, parse schema.yaml, and compare schemas; value.go,
// object.go and typed.go validate values; config.go, exclude.go, tree.go and obsidian.go parse and
// apply settings; date.go and times.go define time and daily notes; yaml.go is the strict reader of
// both YAML files. The frontmatter of notes is parsed by package markdown.
package vault

import (
	"regexp"

	"github.com/rookeryhq/rookery/internal/fault"
)

// name matches the valid names of tenants and vaults (reference/log.md §1).
var name = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// CheckName returns INVALID_PARAMETER if s is not a valid name of a vault or a tenant.
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
