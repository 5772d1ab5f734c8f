package team

import (
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A grant is the part of the input of every tool that gives roles to a principal. Without Vaults,
// Role applies in all vaults. Otherwise it applies in the named ones, and an entry such as
// "notes=reader" has a role of its own; see grant.roles.
type grant struct {
	// the role
	Role auth.Role `json:"role" enum:"reader,editor,admin"`
	// vaults: NAME, or NAME=ROLE for another role there; default: all, also later ones
	Vaults []string `json:"vaults,omitempty" complete:"vault" absent:"all vaults, also later ones"`
}

// maxGrants is the maximum number of vaults in a grant. It is greater than the number of vaults
// that a tenant can have, because a grant can name vaults that do not exist yet.
const maxGrants = 2 * tenant.MaxVaults

// roles returns the roles of the grant, by vault; the key auth.AllVaults stands for all vaults. A
// vault does not have to exist yet. It returns INVALID_PARAMETER for an empty list, an invalid name
// or role, and a vault that is named twice.
//
// An entry of the list is the name of a vault, which gets Role, or "name=role". The name can be
// that of all vaults, so one grant can give a role in all vaults and another one in a single vault.
//
// A grant that names vaults does not include all vaults: the principal has no role in the others.
// The number of entries is limited because the log of the tenant stores them.
func (g grant) roles() (map[string]auth.Role, error) {
	switch {
	case g.Vaults != nil && len(g.Vaults) == 0: // an empty list must not mean all vaults
		return nil, badVaults("give at least one vault, or omit vaults for all")
	case len(g.Vaults) == 0:
		return map[string]auth.Role{auth.AllVaults: g.Role}, nil
	}
	roles := map[string]auth.Role{}
	for _, entry := range splitNames(g.Vaults) {
		name, role, named := strings.Cut(entry, "=")
		if !named {
			role = string(g.Role)
		}
		if err := checkGrant(name, auth.Role(role)); err != nil {
			return nil, err
		}
		if _, twice := roles[name]; twice {
			return nil, badVaults("the vault %s is given twice", name)
		}
		roles[name] = auth.Role(role)
	}
	if len(roles) > maxGrants {
		return nil, badVaults("at most %d vaults can be named", maxGrants)
	}
	return roles, nil
}

// splitNames splits each text of a list at its commas, because people type several names that way.
// Spaces around a name are removed. Empty names are kept, so that they are reported as invalid.
func splitNames(list []string) []string {
	var names []string
	for _, entry := range list {
		for name := range strings.SplitSeq(entry, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// badVaults returns an INVALID_PARAMETER fault about the argument vaults, with a message in the
// format of fmt.Sprintf.
func badVaults(format string, args ...any) *fault.Fault {
	return fault.New(fault.InvalidParameter, format, args...).With("argument", "vaults")
}

// checkGrant returns a fault if the name is not a valid vault name or the role does not exist. The
// fault suggests the nearest role. The name auth.AllVaults is valid.
func checkGrant(name string, role auth.Role) error {
	if name != auth.AllVaults {
		if err := vault.CheckName(name); err != nil {
			return fault.Of(err).With("argument", "vaults")
		}
	}
	if role.Valid() {
		return nil
	}
	f := badVaults("the role in %s must be one of reader, editor, admin", name).
		With("allowed", auth.Roles())
	words := []string{}
	for _, r := range auth.Roles() {
		words = append(words, string(r))
	}
	if near := fault.Nearest(string(role), words); near != "" {
		f = f.Fix("use %s=%s", name, near)
	}
	return f
}

// checkRoles returns PERMISSION_DENIED if the roles exceed those of the caller: a caller can give
// only roles that it has itself. The fault names the first vault, in the order of names, in which
// they do, and the role of the caller there.
//
// It compares vault by vault, not only the entries of the two maps: a role in all vaults also
// applies in those where the caller has an entry of its own, which can be a lower role. For the
// same reason, an admin of one vault cannot give a role in all vaults.
func checkRoles(c auth.Caller, roles map[string]auth.Role) error {
	named := maps.Clone(roles)
	if all, ok := roles[auth.AllVaults]; ok {
		// A role in all vaults includes the vaults where the caller has its own role.
		for name := range c.Roles {
			if _, own := roles[name]; !own {
				named[name] = all
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !c.Role(name).Allows(named[name]) {
			return fault.New(fault.PermissionDenied,
				"you have a lower role than %s in %s yourself", named[name], vaultPhrase(name)).
				With("vault", name).With("your_role", c.Role(name))
		}
	}
	return nil
}

// vaultPhrase returns the words for a vault in a message.
func vaultPhrase(name string) string {
	if name == auth.AllVaults {
		return "all vaults"
	}
	return "the vault " + name
}

// unknownVaults returns the names of the vaults in roles that do not exist or are in the trash,
// sorted. Grants for them are allowed; the answer reports them, because such a name can be a
// mistake.
func unknownVaults(s *tenant.State, roles map[string]auth.Role) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		e, ok := s.Vault(name)
		if name != auth.AllVaults && (!ok || e.Status != eventlog.Active) {
			names = append(names, name)
		}
	}
	return names
}

// folderOf checks the prefix under which writes are allowed and returns it as the path of a folder
// of notes, with a slash at its end. An empty prefix allows all paths and is returned as it is. A
// prefix is valid if a note can have a path below it; otherwise the fault is that of such a path.
// The slash matters: without it, "projects/mill" would also allow "projects/mills.md".
func folderOf(prefix string) (string, error) {
	if prefix == "" {
		return "", nil
	}
	folder := strings.TrimSuffix(vault.CleanPath(prefix), "/") + "/"
	if _, err := vault.NewPath(folder + "a"); err != nil {
		return "", fault.Of(err).With("argument", "prefix").
			Fix("name a folder of notes, such as projects/mill/")
	}
	return folder, nil
}
