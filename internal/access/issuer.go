package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/team"
)

// An Issuer is one of the deployment, whose tokens may lead to any tenant (CONTRACT §7).
type Issuer struct {
	auth.Issuer
	Audience    string          // empty: the public URL, or a resource in it
	TenantClaim string          // the name of the claim that names the tenant; empty: none does
	Tenant      string          // of tokens without such a claim; empty: they lead nowhere
	RolesClaim  string          // the name of the claim that gives roles; empty: none does
	Role        auth.Role       // of who has no such claim, in all vaults
	Claims      auth.Conditions // all must hold
}

// shown is a token of an issuer that was verified.
type shown struct {
	claims auth.Claims
	issuer *Issuer   // of the deployment; nil: it is the tenant's own
	tenant string    // that it leads to; empty: none
	keys   string    // where the keys of that issuer are, as its rule says
	at     time.Time // when it was verified
}

// byJWT is the caller that a JSON Web Token proves.
func (g *Gate) byJWT(ctx context.Context, token, path string) (auth.Caller, error) {
	p, err := g.verified(ctx, token, path)
	if err != nil {
		return auth.Caller{}, err
	}
	enter := g.opt.Teams.Team
	if p.issuer != nil {
		enter = g.opt.Enter
	}
	return g.within(ctx, p.tenant, enter, func(t *team.Team) (auth.Caller, error) {
		return decided(t, func(state stateOf) (auth.Caller, error) { return g.ofJWT(ctx, t, p, state) })
	})
}

// tenantOf is the tenant that a token of the deployment's issuers leads to; empty if it says nothing of it,
// or says it in a form that it must not have, or means the local one without being asked in.
func (g *Gate) tenantOf(i *Issuer, c auth.Claims) string {
	if _, says := c.All[i.TenantClaim]; !says || i.TenantClaim == "" {
		return i.Tenant
	}
	name := c.Text(i.TenantClaim)
	if name == auth.Local && !g.opt.Guests {
		return ""
	}
	return name
}

// verified is what a token proves. What was proved a moment ago is not proved again, but for what may
// differ from one request to the next.
func (g *Gate) verified(ctx context.Context, token, path string) (shown, error) {
	key, now := sha256.Sum256([]byte(token)), g.opt.Now()
	p, ok := g.shown.Get(key)
	if ok && now.Sub(p.at).Abs() < shownLife && now.Before(p.claims.Expires.Add(auth.Leeway)) &&
		g.meant(p, path) {
		return p, nil
	}
	peeked, err := auth.Peek(token)
	if err != nil {
		return shown{}, err
	}
	p, err = g.byDeployment(ctx, token, peeked, path)
	if errors.Is(err, errNotOurs) {
		p, err = g.byTenant(ctx, token, peeked)
	}
	if errors.Is(err, errNotOurs) {
		err = auth.Refused().Because(err)
	}
	if err != nil {
		return shown{}, err
	}
	p.at = now
	if len(token) <= shownLong {
		g.shown.Add(key, p)
	}
	return p, nil
}

// errNotOurs says that no issuer that was asked can have meant a token for us.
var errNotOurs = errors.New("no issuer of ours made it for us")

// meant reports whether a token that was verified by one issuer of the deployment would be verified by the
// same one for a request to this path: of the entries that one issuer has, another may come first there.
func (g *Gate) meant(p shown, path string) bool {
	if p.issuer == nil {
		return true
	}
	for k := range g.opt.Issuers {
		i := &g.opt.Issuers[k]
		if i.URL == p.issuer.URL && i.Claims.Match(p.claims.All) && g.fits(i, p.claims.Audience, path) {
			return i == p.issuer
		}
	}
	return false
}

// fits reports whether one of these audiences is what a token of an issuer may be made out to.
func (g *Gate) fits(i *Issuer, audience []string, path string) bool {
	if slices.Contains(audience, cmp.Or(i.Audience, g.opt.PublicURL)) {
		return true
	}
	return slices.ContainsFunc(g.audiences(i, path), func(a string) bool {
		return slices.Contains(audience, a)
	})
}

// audiences are what a token of an issuer may be made out to so that it is good for a path: the audience
// that is said of the issuer, and no other; or, where that is the public URL, the deployment as a whole, or
// a resource of it that the path lies in (RFC 8707, RFC 9728 §3).
func (g *Gate) audiences(i *Issuer, path string) []string {
	base := g.opt.PublicURL
	if own := cmp.Or(i.Audience, base); own != base || base == "" {
		return []string{own}
	}
	all := []string{base, base + "/"}
	for at, c := range path {
		if c == '/' && at > 0 {
			all = append(all, base+path[:at])
		}
	}
	return append(all, base+path)
}

// byDeployment verifies a token with the issuers of the deployment. errNotOurs: it is of none of them.
// One that only lacks a claim, or is too old for one of them, may still be another's.
func (g *Gate) byDeployment(
	ctx context.Context, token string, peeked auth.Peeked, path string,
) (shown, error) {
	failed := errNotOurs
	for k := range g.opt.Issuers {
		i := &g.opt.Issuers[k]
		if i.URL != peeked.Issuer {
			continue
		}
		c, err := g.opt.Verifier.Verify(ctx, token, i.Issuer, g.audiences(i, path))
		switch {
		case err == nil && i.Claims.Match(c.All):
			return shown{claims: c, issuer: i, tenant: g.tenantOf(i, c)}, nil
		case err != nil && !fault.Is(err, fault.Unauthenticated):
			failed = err
		}
	}
	return shown{}, failed
}

// byTenant verifies a token with the issuers of the tenant that its audience names.
func (g *Gate) byTenant(
	ctx context.Context, token string, peeked auth.Peeked,
) (shown, error) {
	audience := g.ofTenant(peeked.Audience)
	if audience == "" {
		return shown{}, errNotOurs
	}
	name := strings.TrimPrefix(audience, team.Audience(g.opt.PublicURL, ""))
	t, err := g.tenant(ctx, name)
	if err != nil {
		return shown{}, err
	}
	keys, err := rulesFor(ctx, t, peeked.Issuer)
	if err != nil {
		return shown{}, err
	}
	failed := errNotOurs
	for _, jwks := range keys {
		from := auth.Issuer{URL: peeked.Issuer, JWKS: jwks, Public: true}
		c, err := g.opt.Verifier.Verify(ctx, token, from, []string{audience})
		switch {
		case err == nil:
			return shown{claims: c, tenant: name, keys: jwks}, nil
		case !fault.Is(err, fault.Unauthenticated):
			failed = err
		}
	}
	return shown{}, failed
}

// ofTenant is the only audience that names a tenant; empty where none does, or several do: such a token
// would be good for one tenant at the hands of another.
func (g *Gate) ofTenant(audience []string) string {
	if g.opt.PublicURL == "" {
		return ""
	}
	found := ""
	for _, a := range audience {
		name, ok := strings.CutPrefix(a, team.Audience(g.opt.PublicURL, ""))
		switch {
		case !ok || !auth.ValidName(name):
		case found != "" && found != a:
			return ""
		default:
			found = a
		}
	}
	return found
}

// rulesFor are the places of the keys that the rules of a tenant give for an issuer, each once. Where
// there is no rule in the state that is known, the newest one is asked.
func rulesFor(ctx context.Context, t *team.Team, issuer string) ([]string, error) {
	for _, state := range []stateOf{t.Current, t.Fresh} {
		s, err := state(ctx)
		if err != nil {
			return nil, err
		}
		var keys []string
		for _, rule := range s.Issuers() {
			if rule.URL == issuer && !t.Disabled(rule) && !slices.Contains(keys, rule.JWKS) {
				keys = append(keys, rule.JWKS)
			}
		}
		if len(keys) > 0 {
			return keys, nil
		}
	}
	return nil, nil
}

// ofJWT is the caller that a verified token makes in a state of its tenant.
func (g *Gate) ofJWT(
	ctx context.Context, t *team.Team, p shown, state stateOf,
) (auth.Caller, error) {
	s, err := state(ctx)
	if err != nil {
		return auth.Caller{}, err
	}
	var c auth.Caller
	if p.issuer != nil {
		c = ofDeployment(s, p)
	} else if rule, ok := p.rule(t, s); ok {
		c = ofRule(s, p, rule)
	} else {
		return auth.Caller{}, auth.Refused().Because(errors.New("no rule of the tenant lets it in"))
	}
	c.Scope, c.Expires = p.claims.Scope, p.claims.Expires
	c.Issuer, c.Subject = p.claims.Issuer, p.claims.Subject
	c.Again = func(ctx context.Context) (auth.Caller, error) {
		return g.ofJWT(ctx, t, p, t.Fresh)
	}
	return c, nil
}

// ofDeployment is the caller that a token of the deployment's issuers makes.
func ofDeployment(s *team.State, p shown) auth.Caller {
	otherwise := map[string]auth.Role{}
	if p.issuer.Role != auth.Nobody {
		otherwise[auth.AllVaults] = p.issuer.Role
	}
	return person(s, p, p.issuer.RolesClaim, otherwise)
}

// ofRule is the caller that a token makes by a rule of its tenant.
func ofRule(s *team.State, p shown, rule team.Issuer) auth.Caller {
	if rule.People() {
		return person(s, p, rule.RolesClaim, rule.Roles)
	}
	c := known(p.tenant, auth.Workload(rule.Name), rule.Name)
	c.Roles = rule.Roles
	return c
}

// person is a caller who is a principal of its own. What the tenant says of it counts before what its
// token says, and that before what everybody has who comes so.
func person(
	s *team.State, p shown, claim string, otherwise map[string]auth.Role,
) auth.Caller {
	c := known(p.tenant, auth.User(p.claims.Issuer, p.claims.Subject), p.claims.Subject)
	if m, ok := s.Member(p.claims.Issuer, p.claims.Subject); ok {
		c.Roles, c.Prefix = m.Roles, m.Prefix
		return c
	}
	c.Roles = otherwise
	if claim == "" {
		return c
	}
	if roles, carried := auth.RolesClaim(p.claims.All[claim]); carried {
		c.Roles = roles
	}
	return c
}

// rule is the rule of the tenant that a token comes in by: of those that it fulfils, and that are not
// disabled, the one with the fewest stars, then the first by name (CONTRACT §4, team).
func (p shown) rule(t *team.Team, s *team.State) (team.Issuer, bool) {
	var best team.Issuer
	found := false
	for _, rule := range s.Issuers() {
		conditions := auth.Conditions(rule.Claims)
		if rule.URL != p.claims.Issuer || rule.JWKS != p.keys || t.Disabled(rule) ||
			!conditions.Match(p.claims.All) {
			continue
		}
		if !found || conditions.Stars() < auth.Conditions(best.Claims).Stars() {
			best, found = rule, true
		}
	}
	return best, found
}
