package tenant

import (
	"context"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
)

// An Issuer is a rule of the tenant: tokens of an issuer that meet its conditions are accepted.
// Several rules can have one issuer, with different conditions, as for the repositories of a forge.
// The rule determines the roles of a caller, unless RolesClaim names a claim that contains them.
type Issuer struct {
	Name       string               `json:"name"`
	URL        string               `json:"issuer"`
	JWKS       string               `json:"jwks_url,omitempty"` // URL of the keys; empty: from the issuer's metadata
	Claims     map[string]string    `json:"claims,omitempty"`   // required claims; * matches any run of characters except / and :
	Roles      map[string]auth.Role `json:"roles"`              // by vault, as in auth.Caller
	RolesClaim string               `json:"roles_claim,omitempty"`
	ClientID   string               `json:"client_id,omitempty"`

	Changed uint64 `json:"-"` // seq of the tenant's commit that last changed the entry
}

// People reports whether each subject of the rule is a principal of its own. Without a client to
// log in with and without roles in their tokens, all subjects are one workload.
func (i Issuer) People() bool { return i.ClientID != "" || i.RolesClaim != "" }

// Issuer returns the rule with a name.
func (s *State) Issuer(name string) (Issuer, bool) {
	i, ok := s.issuers[name]
	return i, ok
}

// Issuers returns the rules, sorted by name.
func (s *State) Issuers() []Issuer {
	var all []Issuer
	for _, name := range slices.Sorted(maps.Keys(s.issuers)) {
		all = append(all, s.issuers[name])
	}
	return all
}

// MaxIssuers is the maximum number of rules of a tenant.
const MaxIssuers = 100

// Audience returns the required audience of tokens from the tenant's own issuers, or "" if the
// deployment has no public URL.
func (t *Tenant) Audience() string {
	if t.opt.PublicURL == "" {
		return ""
	}
	return Audience(t.opt.PublicURL, t.opt.Tenant)
}

// Audience returns the audience of tokens for one tenant of a deployment (CONTRACT §4, team).
func Audience(publicURL, tenant string) string { return publicURL + "/t/" + tenant }

// deployment returns the URLs of the deployment's issuers whose tokens the tenant accepts.
func (t *Tenant) deployment() []string {
	known := []string{}
	if t.opt.Issuers != nil {
		known = append(known, t.opt.Issuers(t.opt.Tenant)...)
	}
	return known
}

// Disabled reports whether a rule specifies the keys of one of the deployment's issuers. With such
// keys an admin of the tenant could sign tokens in the name of anyone for whom that issuer vouches.
// The deployment's entry takes precedence: the rule accepts no tokens, even if it is older than
// that entry. A rule that names the issuer without keys is accepted, because the keys are then the
// issuer's own.
func (t *Tenant) Disabled(i Issuer) bool {
	return i.JWKS != "" && slices.ContainsFunc(t.deployment(), func(known string) bool {
		return sameIssuer(known, i.URL)
	})
}

// sameIssuer reports whether two URLs denote the same issuer: the case of scheme and host, the
// default port and trailing slashes are ignored. The `iss` of a token is compared byte by byte, but
// a rule must not name the deployment's issuer in another spelling. Texts that are not URLs are
// compared as they are.
func sameIssuer(a, b string) bool { return a == b || plainURL(a) == plainURL(b) }

// plainURL returns a URL in the normal form that sameIssuer compares.
func plainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	u.Host = strings.TrimSuffix(strings.ToLower(u.Host), defaultPorts[u.Scheme])
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u.String()
}

// defaultPorts maps a scheme to its default port, as the suffix of a host.
var defaultPorts = map[string]string{"https": ":443", "http": ":80"}

// DisabledIssuers returns the disabled rules of a state, sorted by name; see Disabled.
func (t *Tenant) DisabledIssuers(s *State) []Issuer {
	return slices.DeleteFunc(s.Issuers(), func(i Issuer) bool { return !t.Disabled(i) })
}

// logDisabled logs each disabled rule of the tenant.
func (t *Tenant) logDisabled(ctx context.Context) {
	for _, i := range t.DisabledIssuers(t.log.Known().State) {
		t.opt.Log.WarnContext(ctx, "a rule of a tenant is disabled: the deployment has its issuer, and the "+
			"rule gives other keys", slog.String("tenant", t.opt.Tenant), slog.String("rule", i.Name))
	}
}

// CheckKeys returns a fault if a rule would be disabled.
func (t *Tenant) CheckKeys(i Issuer) error {
	if !t.Disabled(i) {
		return nil
	}
	return fault.New(fault.InvalidParameter, "the issuer is one of the server itself, and its keys are "+
		"where its metadata says").With("argument", "jwks_url").Fix("leave jwks_url out")
}

// SetIssuer adds a rule or replaces the one of the same name. The caller must have validated its
// conditions and URLs. answer returns the answer to store for the call; created is false if the
// rule existed. A rule that is equal to the present one makes no commit. More than MaxIssuers are
// QUOTA_EXCEEDED.
func (t *Tenant) SetIssuer(
	ctx context.Context, c eventlog.Call, i Issuer, answer func(i Issuer, created bool) any,
) (eventlog.Receipt, error) {
	return t.update(ctx, c, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		was, there := d.State().Issuer(i.Name)
		if err := d.Touch(was.Changed); err != nil {
			return nil, err
		}
		if !there && len(d.State().issuers) >= MaxIssuers {
			return nil, fault.New(fault.QuotaExceeded, "a tenant has at most %d issuers", MaxIssuers).
				With("limit", MaxIssuers)
		}
		if there && same(was, i) {
			return answer(was, false), nil
		}
		return answer(i, !there), d.Record(kindIssuer, i.Name, i)
	})
}

// same reports whether two rules are equal except for Name and Changed.
func same(a, b Issuer) bool {
	return a.URL == b.URL && a.JWKS == b.JWKS && a.RolesClaim == b.RolesClaim &&
		a.ClientID == b.ClientID && maps.Equal(a.Claims, b.Claims) && maps.Equal(a.Roles, b.Roles)
}

// RemoveIssuer removes a rule: its tokens are no longer accepted. A rule that does not exist is
// NOT_FOUND.
func (t *Tenant) RemoveIssuer(
	ctx context.Context, c eventlog.Call, name string, answer func(Issuer) any,
) (eventlog.Receipt, error) {
	return t.update(ctx, c, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		was, there := d.State().Issuer(name)
		if !there {
			return nil, fault.New(fault.NotFound, "there is no issuer of that name").
				Try("team_issuer_list", nil)
		}
		if err := d.Touch(was.Changed); err != nil {
			return nil, err
		}
		return answer(was), d.Record(kindIssuer, name, nil)
	})
}
