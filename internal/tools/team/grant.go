package team

import (
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A grant is embedded in the input of every tool that gives somebody roles.
type grant struct {
	Role   auth.Role `json:"role" enum:"reader,editor,admin" jsonschema:"the role"`
	Vaults []string  `json:"vaults,omitempty" complete:"vault" absent:"all vaults, also later ones" jsonschema:"vaults: NAME, or NAME=ROLE for another role there; default: all, also later ones"`
}

// maxGrants is how many vaults a grant names at most.
const maxGrants = 2 * team.MaxVaults

// roles are the roles that are given, by vault. A vault need not exist yet.
func (g grant) roles() (map[string]auth.Role, error) {
	switch {
	case g.Vaults != nil && len(g.Vaults) == 0: // whoever means none is not to be given all
		return nil, badVaults("give at least one vault, or omit vaults for all")
	case len(g.Vaults) == 0:
		return map[string]auth.Role{auth.AllVaults: g.Role}, nil
	}
	roles := map[string]auth.Role{}
	for _, entry := range separate(g.Vaults) {
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

// separate are the names of a list, each of which may be several with commas between them, as people type
// them.
func separate(list []string) []string {
	var names []string
	for _, entry := range list {
		for name := range strings.SplitSeq(entry, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

func badVaults(format string, args ...any) *fault.Fault {
	return fault.New(fault.InvalidParameter, format, args...).With("argument", "vaults")
}

// checkGrant is a fault if nobody can have the role in a vault of the name.
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

// within is a fault if the roles are more than the caller has itself: nobody gives what he has not.
func within(c auth.Caller, roles map[string]auth.Role) error {
	named := maps.Clone(roles)
	if all, ok := roles[auth.AllVaults]; ok {
		for name := range c.Roles { // what is given for all is given there, too
			if _, own := roles[name]; !own {
				named[name] = all
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !c.Role(name).Allows(named[name]) {
			return fault.New(fault.PermissionDenied,
				"you have a lower role than %s in %s yourself", named[name], where(name)).
				With("vault", name).With("your_role", c.Role(name))
		}
	}
	return nil
}

func where(name string) string {
	if name == auth.AllVaults {
		return "all vaults"
	}
	return "the vault " + name
}

// unknown are the vaults to which roles are given and that are not there, or in the trash.
func unknown(s *team.State, roles map[string]auth.Role) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		e, ok := s.Vault(name)
		if name != auth.AllVaults && (!ok || e.Status != repo.Active) {
			names = append(names, name)
		}
	}
	return names
}

// folderOf reads the prefix that somebody may write under: a folder of notes, with a slash at its end.
// Empty: everything.
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
