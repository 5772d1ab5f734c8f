package team

import (
	"context"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/repo"
)

// An Issuer is a rule of the tenant that lets in who brings a token of an issuer, on conditions.
type Issuer struct {
	Name       string               `json:"name"`
	URL        string               `json:"issuer"`
	JWKS       string               `json:"jwks_url,omitempty"` // empty: from the issuer's metadata
	Claims     map[string]string    `json:"claims,omitempty"`   // all must hold; * stands for any run without / and :
	Roles      map[string]auth.Role `json:"roles"`              // by vault, as those of a caller
	RolesClaim string               `json:"roles_claim,omitempty"`
	ClientID   string               `json:"client_id,omitempty"`

	Changed uint64 `json:"-"` // the tenant's commit that changed the entry last
}

// People reports whether those whom the rule lets in are principals each of their own. Without a client
// to log in with, and without roles in their tokens, they are one workload.
func (i Issuer) People() bool { return i.ClientID != "" || i.RolesClaim != "" }

// Issuer is the rule of a name.
func (s *State) Issuer(name string) (Issuer, bool) {
	i, ok := s.issuers[name]
	return i, ok
}

// Issuers are the rules by name.
func (s *State) Issuers() []Issuer {
	var all []Issuer
	for _, name := range slices.Sorted(maps.Keys(s.issuers)) {
		all = append(all, s.issuers[name])
	}
	return all
}

// MaxIssuers is how many rules a tenant has at most.
const MaxIssuers = 100

// Audience is what the tokens are made out to that the tenant's own issuers sign; empty where the
// deployment has no public URL.
func (t *Team) Audience() string {
	if t.opt.PublicURL == "" {
		return ""
	}
	return Audience(t.opt.PublicURL, t.opt.Tenant)
}

// Audience is the audience of the tokens for one tenant of a deployment (CONTRACT §4, team).
func Audience(publicURL, tenant string) string { return publicURL + "/t/" + tenant }

// deployment are the URLs of the deployment's issuers whose tokens may lead to the tenant.
func (t *Team) deployment() []string {
	known := []string{}
	if t.opt.Issuers != nil {
		known = append(known, t.opt.Issuers(t.opt.Tenant)...)
	}
	return known
}

// Disabled reports whether a rule says where the keys of an issuer of the deployment are. With these keys
// an admin of the tenant could sign tokens as each of the people for whom that issuer vouches, and act in
// their names. The entry of the deployment wins: the rule lets nobody in, also where it was set before the
// deployment had the issuer.
func (t *Team) Disabled(i Issuer) bool {
	return i.JWKS != "" && slices.ContainsFunc(t.deployment(), func(known string) bool {
		return sameIssuer(known, i.URL)
	})
}

// sameIssuer reports whether two URLs name one issuer to a reader: the scheme and the host have no case,
// the port of the scheme may be left out, and so may a slash at the end. The `iss` of a token is compared
// to the byte, but a rule must not name the issuer of the deployment in another spelling.
func sameIssuer(a, b string) bool { return a == b || plainURL(a) == plainURL(b) }

// plainURL is a URL in the spelling that sameIssuer compares.
func plainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	u.Host = strings.TrimSuffix(strings.ToLower(u.Host), defaultPorts[u.Scheme])
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u.String()
}

// defaultPorts are the ports of schemes, as they end a host.
var defaultPorts = map[string]string{"https": ":443", "http": ":80"}

// DisabledIssuers are the rules of a state that are disabled, by name; see Disabled.
func (t *Team) DisabledIssuers(s *State) []Issuer {
	return slices.DeleteFunc(s.Issuers(), func(i Issuer) bool { return !t.Disabled(i) })
}

// logDisabled logs which rules of the tenant are disabled.
func (t *Team) logDisabled(ctx context.Context) {
	for _, i := range t.DisabledIssuers(t.log.Known().State) {
		t.opt.Log.WarnContext(ctx, "a rule of a tenant is disabled: the deployment has its issuer, and the "+
			"rule gives other keys", slog.String("tenant", t.opt.Tenant), slog.String("rule", i.Name))
	}
}

// CheckKeys is a fault if a rule would be disabled.
func (t *Team) CheckKeys(i Issuer) error {
	if !t.Disabled(i) {
		return nil
	}
	return fault.New(fault.InvalidParameter, "the issuer is one of the server itself, and its keys are "+
		"where its metadata says").With("argument", "jwks_url").Fix("leave jwks_url out")
}

// SetIssuer adds a rule or changes one as a whole. Its conditions and URLs are to be checked before.
func (t *Team) SetIssuer(
	ctx context.Context, c repo.Call, i Issuer, answer func(i Issuer, created bool) any,
) (repo.Receipt, error) {
	return t.update(ctx, c, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
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

// same reports whether two rules say the same.
func same(a, b Issuer) bool {
	return a.URL == b.URL && a.JWKS == b.JWKS && a.RolesClaim == b.RolesClaim &&
		a.ClientID == b.ClientID && maps.Equal(a.Claims, b.Claims) && maps.Equal(a.Roles, b.Roles)
}

// RemoveIssuer takes a rule away: nobody comes in by it any more.
func (t *Team) RemoveIssuer(
	ctx context.Context, c repo.Call, name string, answer func(Issuer) any,
) (repo.Receipt, error) {
	return t.update(ctx, c, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
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
