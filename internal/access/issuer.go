package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// An Issuer is an issuer of the deployment, whose tokens may name any tenant (CONTRACT §7).
type Issuer struct {
	auth.Issuer
	Audience    string          // empty: the public URL, or a resource below it
	TenantClaim string          // name of the claim that contains the tenant; empty: none
	Tenant      string          // of tokens without that claim; empty: they are refused
	RolesClaim  string          // name of the claim that contains roles; empty: none
	Role        auth.Role       // in all vaults, of callers without that claim
	Claims      auth.Conditions // all must match
}

// A verifiedToken is the result of verifying a token of an issuer: that it is genuine, and for which
// tenant. It says nothing about roles, which follow from the tenant's state; see jwtCaller.
type verifiedToken struct {
	claims auth.Claims
	issuer *Issuer   // of the deployment; nil: of the tenant
	tenant string    // the tenant that the token is for; empty: none
	keys   string    // URL of the tenant issuer's keys, from its rule
	at     time.Time // when it was verified
}

// byJWT authenticates a JSON Web Token. An issuer of the deployment may create the tenant
// (GateOptions.Enter), and one of a tenant cannot.
func (g *Gate) byJWT(ctx context.Context, token, path string) (auth.Caller, error) {
	p, err := g.verified(ctx, token, path)
	if err != nil {
		return auth.Caller{}, err
	}
	enter := g.opt.Tenants.Tenant
	if p.issuer != nil {
		enter = g.opt.OpenTenant
	}
	return g.withTenant(ctx, p.tenant, enter, func(t *tenant.Tenant) (auth.Caller, error) {
		return decideFresh(t, func(state stateReader) (auth.Caller, error) { return g.jwtCaller(ctx, t, p, state) })
	})
}

// tenantOf returns the tenant that a token of a deployment issuer is for. It is empty if the claim
// does not contain a string, or names the tenant local although Guests is not set.
func (g *Gate) tenantOf(i *Issuer, c auth.Claims) string {
	if _, says := c.All[i.TenantClaim]; !says || i.TenantClaim == "" {
		return i.Tenant
	}
	name := c.Text(i.TenantClaim)
	if name == auth.Local && !g.opt.AllowLocalTenant {
		return ""
	}
	return name
}

// verified verifies a token. It uses a cached result of the last minute, but always checks the path
// and the expiry.
func (g *Gate) verified(ctx context.Context, token, path string) (verifiedToken, error) {
	key, now := sha256.Sum256([]byte(token)), g.opt.Now()
	p, ok := g.cache.Get(key)
	if ok && now.Sub(p.at).Abs() < cacheLife && now.Before(p.claims.Expires.Add(auth.Leeway)) &&
		g.stillApplies(p, path) {
		return p, nil
	}
	peeked, err := auth.Peek(token)
	if err != nil {
		return verifiedToken{}, err
	}
	p, err = g.byDeployment(ctx, token, peeked, path)
	if errors.Is(err, errNotOurs) {
		p, err = g.byTenant(ctx, token, peeked)
	}
	if errors.Is(err, errNotOurs) {
		err = auth.Refused().Because(err)
	}
	if err != nil {
		return verifiedToken{}, err
	}
	p.at = now
	if len(token) <= maxCachedToken {
		g.cache.Add(key, p)
	}
	return p, nil
}

// errNotOurs is the error of a token that none of the issuers can have issued for this deployment.
var errNotOurs = errors.New("it was not issued for this server by a configured issuer")

// stillApplies reports whether a cached verification is valid for a request to path. The deployment may
// have several entries for one issuer, and another entry may come first for that path.
func (g *Gate) stillApplies(p verifiedToken, path string) bool {
	if p.issuer == nil {
		return true
	}
	for k := range g.opt.Issuers {
		i := &g.opt.Issuers[k]
		if i.URL == p.issuer.URL && i.Claims.Match(p.claims.All) && g.acceptsAudience(i, p.claims.Audience, path) {
			return i == p.issuer
		}
	}
	return false
}

// acceptsAudience reports whether one of the audiences of a token is accepted from an issuer for a path.
func (g *Gate) acceptsAudience(i *Issuer, audience []string, path string) bool {
	if slices.Contains(audience, cmp.Or(i.Audience, g.opt.PublicURL)) {
		return true
	}
	return slices.ContainsFunc(g.audiences(i, path), func(a string) bool {
		return slices.Contains(audience, a)
	})
}

// audiences returns the accepted audiences of tokens of an issuer for a path. If the issuer has an
// audience of its own, that is the only one. Otherwise it is the public URL, or any resource below
// it that contains the path (RFC 8707, RFC 9728 §3).
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

// byDeployment verifies a token with the issuers of the deployment. It returns errNotOurs if none
// of them accepts it. If one entry refuses the token, for a missing claim or its age, the next ones
// are tried.
func (g *Gate) byDeployment(
	ctx context.Context, token string, peeked auth.Peeked, path string,
) (verifiedToken, error) {
	failed := errNotOurs
	for k := range g.opt.Issuers {
		i := &g.opt.Issuers[k]
		if i.URL != peeked.Issuer {
			continue
		}
		c, err := g.opt.Verifier.Verify(ctx, token, i.Issuer, g.audiences(i, path))
		switch {
		case err == nil && i.Claims.Match(c.All):
			return verifiedToken{claims: c, issuer: i, tenant: g.tenantOf(i, c)}, nil
		case err != nil && !fault.Is(err, fault.Unauthenticated):
			failed = err
		}
	}
	return verifiedToken{}, failed
}

// byTenant verifies a token with the issuers of the tenant that its audience names. Each different
// URL of keys among the tenant's rules for the issuer is tried. The result records which keys
// verified it, because only rules with these keys may then apply.
func (g *Gate) byTenant(
	ctx context.Context, token string, peeked auth.Peeked,
) (verifiedToken, error) {
	audience := g.tenantAudience(peeked.Audience)
	if audience == "" {
		return verifiedToken{}, errNotOurs
	}
	name := strings.TrimPrefix(audience, tenant.Audience(g.opt.PublicURL, ""))
	t, err := g.tenant(ctx, name)
	if err != nil {
		return verifiedToken{}, err
	}
	keys, err := rulesFor(ctx, t, peeked.Issuer)
	if err != nil {
		return verifiedToken{}, err
	}
	failed := errNotOurs
	for _, jwks := range keys {
		from := auth.Issuer{URL: peeked.Issuer, JWKS: jwks, Public: true}
		c, err := g.opt.Verifier.Verify(ctx, token, from, []string{audience})
		switch {
		case err == nil:
			return verifiedToken{claims: c, tenant: name, keys: jwks}, nil
		case !fault.Is(err, fault.Unauthenticated):
			failed = err
		}
	}
	return verifiedToken{}, failed
}

// tenantAudience returns the audience that names a tenant. It is empty if there is none, or if there are
// several: one tenant could use such a token at another.
func (g *Gate) tenantAudience(audience []string) string {
	if g.opt.PublicURL == "" {
		return ""
	}
	found := ""
	for _, a := range audience {
		name, ok := strings.CutPrefix(a, tenant.Audience(g.opt.PublicURL, ""))
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

// rulesFor returns the JWKS URLs of a tenant's rules for an issuer, without duplicates. If the
// known state has no rule for it, the newest state is read.
func rulesFor(ctx context.Context, t *tenant.Tenant, issuer string) ([]string, error) {
	for _, state := range []stateReader{t.Current, t.Fresh} {
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

// jwtCaller returns the caller of a verified token in a state of its tenant.
func (g *Gate) jwtCaller(
	ctx context.Context, t *tenant.Tenant, p verifiedToken, state stateReader,
) (auth.Caller, error) {
	s, err := state(ctx)
	if err != nil {
		return auth.Caller{}, err
	}
	var c auth.Caller
	if p.issuer != nil {
		c = deploymentCaller(s, p)
	} else if rule, ok := p.rule(t, s); ok {
		c = ruleCaller(s, p, rule)
	} else {
		return auth.Caller{}, auth.Refused().Because(errors.New("no rule of the tenant accepts it"))
	}
	c.Scope, c.Expires = p.claims.Scope, p.claims.Expires
	c.Issuer, c.Subject = p.claims.Issuer, p.claims.Subject
	c.Refresh = func(ctx context.Context) (auth.Caller, error) {
		return g.jwtCaller(ctx, t, p, t.Fresh)
	}
	return c, nil
}

// deploymentCaller returns the caller of a token of a deployment issuer.
func deploymentCaller(s *tenant.State, p verifiedToken) auth.Caller {
	otherwise := map[string]auth.Role{}
	if p.issuer.Role != auth.Nobody {
		otherwise[auth.AllVaults] = p.issuer.Role
	}
	return personCaller(s, p, p.issuer.RolesClaim, otherwise)
}

// ruleCaller returns the caller of a token that a rule of its tenant accepts.
func ruleCaller(s *tenant.State, p verifiedToken, rule tenant.Issuer) auth.Caller {
	if rule.People() {
		return personCaller(s, p, rule.RolesClaim, rule.Roles)
	}
	c := newCaller(p.tenant, auth.Workload(rule.Name), rule.Name)
	c.Roles = rule.Roles
	return c
}

// personCaller returns a caller that is a principal of its own. Its roles are those of its membership in
// the tenant, or else those in its token's claim, or else the default. An invalid claim gives no
// roles, and not the default ones.
func personCaller(
	s *tenant.State, p verifiedToken, claim string, otherwise map[string]auth.Role,
) auth.Caller {
	c := newCaller(p.tenant, auth.User(p.claims.Issuer, p.claims.Subject), p.claims.Subject)
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

// rule returns the rule of the tenant that applies to a token: of the enabled rules that match it,
// the one with the fewest wildcards, then the first by name (CONTRACT §4, team).
func (p verifiedToken) rule(t *tenant.Tenant, s *tenant.State) (tenant.Issuer, bool) {
	var best tenant.Issuer
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
