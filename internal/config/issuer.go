package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// checkIssuers checks the issuers, and sets their defaults: the public URL as the audience, and all
// algorithms. Of two entries that match the same tokens, the second would never be used, so it is
// reported. Entries that could not be read are skipped.
func (l *loader) checkIssuers() {
	for n := range l.Issuers {
		name := fmt.Sprintf("issuers[%d]", n)
		if l.bad[name] {
			continue
		}
		i := &l.Issuers[n]
		l.checkIssuer(name, i)
		i.Audience = cmp.Or(i.Audience, l.PublicURL)
		if i.Algorithms == nil {
			i.Algorithms = auth.Algorithms()
		}
		for _, before := range l.Issuers[:n] {
			if i.Issuer != "" && i.acceptsSameTokens(before) {
				l.problem(name, "has the issuer, the audience and the claims of an earlier entry, so no token "+
					"ever matches it: merge the entries, or give them different claims")
				break
			}
		}
	}
}

// acceptsSameTokens reports whether two entries match the same tokens. Both must have their default
// audience already.
func (i *Issuer) acceptsSameTokens(other Issuer) bool {
	return i.Issuer == other.Issuer && i.Audience == other.Audience &&
		maps.Equal(i.Claims, other.Claims)
}

// checkIssuer checks one issuer. name is that of the entry, such as issuers[0].
func (l *loader) checkIssuer(name string, i *Issuer) {
	if !l.isSet(name + ".issuer") {
		l.problem(name, "must have an issuer: the `iss` of its tokens")
	} else if err := issuerURL(i.Issuer); err != nil {
		l.problem(name+".issuer", "%v", err)
	}
	if i.JWKSURL != "" {
		if _, err := webURL(i.JWKSURL); err != nil {
			l.problem(name+".jwks_url", "%v", err)
		}
	}
	if i.Audience == "" && !l.isSet("public_url") {
		l.problem(name, "must have an audience because public_url is not set: without one, tokens for all other "+
			"servers of the issuer would be valid here")
	}
	l.checkAlgorithms(name+".algorithms", i.Algorithms)
	l.checkTenant(name, i)
	if i.Role != "" && !i.Role.Valid() {
		l.problem(name+".role", "must be one of %s", roles())
	}
}

// issuerURL returns an error for a text that cannot be an issuer (RFC 8414, 2): it must be a valid
// URL of a server without a query. It may have a path, and a slash at its end counts, because it is
// compared with the `iss` of tokens byte by byte.
func issuerURL(text string) error {
	u, err := webURL(text)
	if err == nil && (u.RawQuery != "" || u.ForceQuery) {
		err = fmt.Errorf("must not have a query")
	}
	return err
}

// roles returns the names of all roles, for messages.
func roles() string {
	var all []string
	for _, r := range auth.Roles() {
		all = append(all, string(r))
	}
	return strings.Join(all, ", ")
}

// checkAlgorithms checks that the algorithms of an issuer are known and different. An unknown one
// has the most similar known one as its fix.
func (l *loader) checkAlgorithms(name string, algorithms []string) {
	for n, a := range algorithms {
		entry := fmt.Sprintf("%s[%d]", name, n)
		switch {
		case slices.Contains(algorithms[:n], a):
			l.problem(entry, "is listed twice")
		case !slices.Contains(auth.Algorithms(), a):
			f := fault.New(fault.InvalidParameter, "%s must be one of %s", entry,
				strings.Join(auth.Algorithms(), ", "))
			if near := fault.Nearest(short(a), auth.Algorithms()); near != "" {
				f = f.Fix("use %s", near)
			}
			l.add(l.place(entry), f)
		}
	}
}

// checkTenant checks the settings for the tenant of a token: one of tenant and tenant_claim must be
// set.
func (l *loader) checkTenant(name string, i *Issuer) {
	switch {
	case i.Tenant == "" && i.TenantClaim == "":
		l.problem(name, "must have tenant, the tenant of its tokens, or tenant_claim, the claim that "+
			"names it")
	case i.Tenant != "" && !auth.ValidName(i.Tenant):
		l.problem(name+".tenant", tenantForm)
	}
}

// tenantForm says which names of tenants are valid.
const tenantForm = "must have 1 to 63 characters, all of them lower-case letters a-z, digits or " +
	"dashes, and not begin with a dash"

// checkAdmins checks the first admins: each by itself, and that a tenant has only one.
func (l *loader) checkAdmins() {
	seen := map[string]bool{}
	for n, a := range l.FirstAdmins {
		name := fmt.Sprintf("first_admin[%d]", n)
		if l.bad[name] {
			continue
		}
		l.checkAdmin(name, a)
		if seen[a.Tenant] {
			l.problem(name, "is a second one for its tenant; the first admin adds the others")
		}
		seen[a.Tenant] = true
	}
}

// checkAdmin checks one first admin. A token of its issuer must be able to name its tenant, because
// otherwise no one could sign in as this admin.
func (l *loader) checkAdmin(name string, a Admin) {
	const longest = 255
	if a.Issuer == "" || a.Subject == "" || a.Tenant == "" {
		l.problem(name, "must have issuer, subject and tenant")
		return
	}
	if !auth.ValidName(a.Tenant) {
		l.problem(name+".tenant", tenantForm)
	}
	unprintable := strings.ContainsFunc(a.Subject, func(c rune) bool { return c < ' ' || c > '~' })
	if unprintable || len(a.Subject) > longest {
		l.problem(name+".subject", "must have at most %d characters, all of them printable ASCII", longest)
	}
	known := false
	for _, i := range l.Issuers {
		if i.Issuer != a.Issuer {
			continue
		}
		known = true
		if i.TenantClaim != "" || i.Tenant == a.Tenant {
			return
		}
	}
	if known {
		l.problem(name, "has a tenant that no token of its issuer can have")
		return
	}
	l.problem(name+".issuer", "must be exactly the issuer of an entry of issuers")
}
