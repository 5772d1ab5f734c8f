package localapp_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// roles are the roles of a guest.
type roles = map[string]auth.Role

// guests returns all kinds of callers.
func (h *hosted) guests(t testing.TB) []guest {
	t.Helper()
	return slices.Concat(h.strangers(t), h.people(t), h.holders(t), h.workloads(t))
}

// strangers returns callers that are refused.
func (h *hosted) strangers(t testing.TB) []guest {
	t.Helper()
	good := h.jwt("ann", args{"roles": roles{"*": auth.Admin}})
	lost := h.newToken(t, args{"name": "lost", "role": "admin"})
	all := []guest{
		{name: "no token"},
		{name: "another scheme", tokens: []string{"Basic cm9vdDpyb290"}},
		{name: "no scheme", tokens: []string{good}},
		{name: "an empty token", tokens: []string{"Bearer "}},
		{name: "two tokens", tokens: []string{"Bearer " + good, "Bearer " + good}},
		{name: "words behind the token", tokens: []string{"Bearer " + good + " " + good}},
		h.bearing("another audience", h.jwt("ann", args{
			"aud": "https://other.example.test", "roles": roles{"*": auth.Admin},
		})),
		h.bearing("a tenant that is none", h.jwt("root", args{"tenant": "initech"})),
		h.bearing("an API token of nobody", lost[:len(lost)-1]+other(lost[len(lost)-1:])),
	}
	for i := range all {
		all[i].code = fault.Unauthenticated
	}
	expired := h.bearing("an expired token", h.jwt("ann", args{
		"exp": time.Now().Unix() - 3600, "iat": time.Now().Unix() - 7200, "roles": roles{"*": auth.Admin},
	}))
	expired.code = fault.TokenExpired
	return append(all, expired)
}

// other returns another letter of the alphabet of API tokens.
func other(letter string) string {
	if letter == "a" {
		return "b"
	}
	return "a"
}

// people returns callers with a JSON Web Token.
func (h *hosted) people(t testing.TB) []guest {
	t.Helper()
	person := func(name string, claims args, has roles) guest {
		v := h.bearing(name, h.jwt(strings.ReplaceAll(name, " ", "-"), claims))
		v.who.Roles = has
		return v
	}
	var all []guest
	for _, role := range auth.Roles() {
		has := roles{"main": role}
		all = append(all, person(string(role), args{"roles": has}, has))
	}
	everywhere, elsewhere := roles{"*": auth.Reader}, roles{"nowhere": auth.Admin}
	all = append(all,
		person("reader everywhere", args{"roles": "reader"}, everywhere),
		person("nobody", args{}, nil),
		person("admin elsewhere", args{"roles": elsewhere}, elsewhere),
		h.root("heronlabs"), h.root("lynxworks"),
	)
	scoped := person("an admin with a reader's scope",
		args{"roles": "admin", "scope": "openid reader"}, roles{"*": auth.Admin})
	scoped.who.Scope = auth.Reader
	careful := person("an editor who only reads", args{"roles": roles{"main": "editor"}},
		roles{"main": auth.Editor})
	careful.header, careful.who.ReadOnly = http.Header{"X-Readonly": {"1"}}, true
	h.done(t, h.root("heronlabs"), "team_member_set",
		args{"subject": "a-member", "role": "editor", "vaults": []string{"main"}})
	member := person("a member", args{"roles": "admin"}, roles{"main": auth.Editor})
	return append(all, scoped, careful, member)
}

// holders returns callers with an API token.
func (h *hosted) holders(t testing.TB) []guest {
	t.Helper()
	var all []guest
	holder := func(name string, in args, who auth.Caller) {
		in["name"] = name
		v := h.bearing(name, h.newToken(t, in))
		who.Tenant = "heronlabs"
		v.who = who
		all = append(all, v)
	}
	for _, role := range auth.Roles() {
		holder("token of a "+string(role), args{"role": role, "vaults": []string{"main"}},
			auth.Caller{Roles: roles{"main": role}})
	}
	admin := roles{"*": auth.Admin}
	holder("token of an admin under inbox", args{"role": "admin", "prefix": "inbox"},
		auth.Caller{Roles: admin, Prefix: "inbox/"})
	holder("token of an admin for two tools",
		args{"role": "admin", "tools": []string{"raven_read", "team_member_set"}},
		auth.Caller{Roles: admin, Tools: []string{"raven_read", "team_member_set"}})
	holder("token of an admin who only reads", args{"role": "admin", "readonly": true},
		auth.Caller{Roles: admin, ReadOnly: true})
	return all
}

// workloads returns callers that a rule of heronlabs accepts.
func (h *hosted) workloads(t testing.TB) []guest {
	t.Helper()
	h.done(t, h.root("heronlabs"), "team_issuer_set", args{
		"name": "ci", "issuer": h.public.URL, "jwks_url": h.public.JWKS, "role": "reader",
		"vaults": []string{"main"}, "claims": args{"repository": "heronlabs/site"},
	})
	claims := h.public.Claims("repo:heronlabs/site", hostedURL+"/t/heronlabs")
	claims["repository"], claims["exp"] = "heronlabs/site", inYears()
	in := h.bearing("a workload", h.public.Sign(claims))
	in.who.Roles = roles{"main": auth.Reader}
	claims["aud"] = hostedURL + "/t/lynxworks"
	elsewhere := h.bearing("a workload of another tenant", h.public.Sign(claims))
	claims["aud"], claims["repository"] = hostedURL+"/t/heronlabs", "heronlabs/other"
	unmeant := h.bearing("a workload that no rule means", h.public.Sign(claims))
	elsewhere.code, unmeant.code = fault.Unauthenticated, fault.Unauthenticated
	return []guest{in, elsewhere, unmeant}
}

// refusal returns the code with which the guest is refused, or "". It uses only the tool's Spec.
// vault is the vault that the call names.
func (v guest) refusal(made *tool.Tool, vault string) fault.Code {
	if v.code != "" {
		return v.code
	}
	if !v.who.MayCall(made.Name) && made.Role != auth.Anyone {
		return fault.PermissionDenied
	}
	where := ""
	switch a, inVault := made.Arg("vault"); {
	case made.Tenant:
		where = auth.AllVaults
	case inVault && !a.Shared, made.Subject != "":
		where = vault
	}
	role := v.who.Role(where)
	switch {
	case !role.Allows(made.Role) && where == vault && !role.Allows(auth.Reader) && !made.Makes:
		return fault.NotFound
	case !role.Allows(made.Role):
		return fault.PermissionDenied
	case !made.Kind.Changes():
		return ""
	case v.who.ReadOnly:
		return fault.ReadOnly
	case made.Tenant && (v.who.Tools != nil || v.who.Prefix != ""):
		return fault.PermissionDenied
	}
	return ""
}

// sees reports whether the guest may read a guest vault.
func (v guest) sees(d guestVault) bool {
	return v.code == "" && v.who.Tenant == d.tenant && v.who.Role(d.vault).Allows(auth.Reader)
}

// requireNothingForeign requires that a text contains nothing that the guest cannot see: no word of
// a guest vault, no name of a vault or a tenant. Text of the request itself is no secret, nor are the
// inputs of a tenant's people for its admins, who see them in the audit log.
func (v guest) requireNothingForeign(t testing.TB, text, named, what string) {
	t.Helper()
	if named != "" {
		text = strings.ReplaceAll(text, named, "")
	}
	for _, d := range guestVaults {
		if !v.sees(d) {
			require.NotContains(t, text, d.word, what)
		}
		if !v.sees(d) && d.vault != "main" && !v.who.Role(auth.AllVaults).Allows(auth.Admin) {
			require.NotContains(t, text, d.vault, what)
		}
		if v.who.Tenant != d.tenant {
			require.NotContains(t, text, d.tenant, what)
		}
	}
}
