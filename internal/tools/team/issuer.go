package team

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An issuerSetIn is the input of team_issuer_set. It describes the whole rule: a rule of the same
// name is replaced, and fields that are omitted become empty. With ClientID or RolesClaim the rule
// is for people: each subject is a principal of its own. Otherwise it is for a workload, such as a
// CI job: all its tokens act as one principal, and Claims must restrict them.
type issuerSetIn struct {
	// a to z, 0 to 9 and -, not beginning with -; a workload acts as workload:NAME
	Name string `json:"name" max:"63" complete:"issuer"`
	// iss of the tokens: a public https URL
	Issuer string `json:"issuer" max:"2048" what:"url"`
	// audience (aud) of the tokens; only the audience of the tenant is allowed, which the answer
	// contains
	Audience string `json:"audience,omitempty" max:"2048" absent:"that of the tenant"`
	// public https URL of the issuer's keys; default: the URL in the issuer's metadata
	JWKS string `json:"jwks_url,omitempty" max:"2048" what:"url" absent:"from the issuer's metadata"`
	// required claims of a token; all must match; * matches any characters except / and :
	Claims tool.Fields `json:"claims,omitempty"`
	grant
	// the claim with a person's roles: an object by vault, or one role; role is for tokens without
	// it
	RolesClaim string `json:"roles_claim,omitempty" max:"255"`
	// client with which people log in at the issuer; each person is a principal
	ClientID string `json:"client_id,omitempty" max:"255"`
	tool.Mutation
}

// issuerOut is the output of the tools that change an issuer.
type issuerOut struct {
	tool.Aside `json:"-"`
	// created, updated, removed or unchanged
	Action string     `json:"action,omitempty"`
	Issuer *issuerRow `json:"issuer,omitempty"`
	planOut[issuerRow]
}

// issuerSet returns the tool that creates or replaces an issuer, which is a rule of the tenant for
// tokens of an identity provider.
func (f tools) issuerSet() *tool.Tool {
	return changeTool(f, tool.Spec{
		Name: "team_issuer_set", Family: Family, Title: "Trust an issuer",
		Role: auth.Admin, Kind: tool.Write, Idempotent: true, Tenant: true,
		Route:    tool.Route{Method: "PATCH", Path: "/issuers/{name}"},
		Commands: []tool.Command{{Words: "issuer set", Args: []string{"name"}}},
	}, f.setIssuer)
}

// setIssuer creates or replaces a rule. A rule that is invalid today may have been accepted at the
// first attempt of the same call, which then gets the recorded answer. PERMISSION_DENIED is
// returned at once, also for a repeated call: a caller that lost its role gets no earlier answers.
func (f tools) setIssuer(ctx context.Context, w change, in issuerSetIn) (issuerOut, error) {
	s, _, err := w.tenant.State(ctx)
	if err != nil {
		return issuerOut{}, err
	}
	rule, err := in.rule(w.caller, w.tenant.Audience())
	if err == nil {
		err = w.tenant.CheckKeys(rule)
	}
	switch {
	case fault.Is(err, fault.PermissionDenied):
		return issuerOut{}, err
	// The rule may have been valid at the first attempt: the public URL and the issuers of the
	// deployment can change.
	case err != nil:
		return refuse[issuerOut](ctx, w, err)
	}
	return mutation.ChangeTenant(func(keep func(issuerOut) any) (eventlog.Receipt, error) {
		return w.tenant.SetIssuer(ctx, w.call, rule, func(i tenant.Issuer, created bool) any {
			out := issuerOut{}
			out.UnknownVaults = unknownVaults(s, i.Roles)
			out.Action, out.Issuer = out.set(in.DryRun, created, i.Changed, rowOfIssuer(w.tenant, i))
			return keep(out)
		})
	})
}

// rule returns the requested rule for a tenant whose tokens have this audience. It returns
// PERMISSION_DENIED if the rule could give more than the caller's own roles, and INVALID_PARAMETER
// if a rule for workloads would accept every token of its issuer.
//
// The second check is needed because an issuer such as a CI service signs tokens for all its
// customers: a rule without a restriction would let any of them in. With a roles claim the tokens
// themselves name the roles, so the caller must be an admin of all vaults.
func (in issuerSetIn) rule(c auth.Caller, audience string) (tenant.Issuer, error) {
	i := tenant.Issuer{
		Name: in.Name, URL: in.Issuer, JWKS: in.JWKS, RolesClaim: in.RolesClaim, ClientID: in.ClientID,
	}
	if err := in.check(audience); err != nil {
		return i, err
	}
	var err error
	if i.Claims, err = conditions(in.Claims); err != nil {
		return i, err
	}
	if !i.People() && auth.Conditions(i.Claims).Vacuous() {
		return i, fault.New(fault.InvalidParameter, "the rule would accept every token of the issuer: restrict "+
			"the workload in claims").With("argument", "claims").
			Fix("--claims repository=OWNER/NAME")
	}
	if i.Roles, err = in.roles(); err != nil {
		return i, err
	}
	most := i.Roles
	if in.RolesClaim != "" { // then the issuer can give any role
		most = map[string]auth.Role{auth.AllVaults: auth.Admin}
	}
	return i, checkRoles(c, most)
}

// check returns a fault with all problems of the names and URLs of the input, or nil. It makes no
// requests: whether the URLs lead to an issuer is found out when the first token arrives.
//
// Names must be printable ASCII because logs and messages contain them.
func (in issuerSetIn) check(audience string) error {
	var problems []*fault.Fault
	if err := vault.CheckName(in.Name); err != nil {
		problems = append(problems, fault.Of(err).With("argument", "name"))
	}
	for _, u := range []struct{ arg, text string }{{"issuer", in.Issuer}, {"jwks_url", in.JWKS}} {
		if u.text == "" {
			continue
		}
		if err := checkPublic(u.text); err != nil {
			problems = append(problems,
				fault.New(fault.InvalidParameter, "%s %v", u.arg, err).With("argument", u.arg))
		}
	}
	for _, n := range []struct{ arg, text string }{
		{"roles_claim", in.RolesClaim}, {"client_id", in.ClientID},
	} {
		if n.text != "" && !printable(n.text) {
			problems = append(problems, fault.New(fault.InvalidParameter,
				"%s must be printable ASCII", n.arg).With("argument", n.arg))
		}
	}
	if f := in.checkAudience(audience); f != nil {
		problems = append(problems, f)
	}
	return fault.Join(Family.Several, problems).Err()
}

// checkAudience returns a fault if the input names another audience than that of the tenant, or if
// the tenant has none because the deployment has no public URL. It returns nil otherwise. All
// issuers of a tenant have the same audience, so a token for one tenant is not valid in another.
func (in issuerSetIn) checkAudience(audience string) *fault.Fault {
	switch {
	case audience == "":
		return fault.New(fault.InvalidParameter, "this deployment has no public URL, so no issuer of a "+
			"tenant can issue tokens for it").
			Fix("set public_url in the configuration of the server")
	case in.Audience != "" && in.Audience != audience:
		return fault.New(fault.InvalidParameter, "the audience of the tenant's issuers is %s", audience).
			With("argument", "audience").With("allowed", []string{audience}).
			Fix("omit audience, and configure the issuer to issue its tokens for %s", audience)
	}
	return nil
}

// The limits of the conditions of a rule: their number, and the size of each.
const (
	maxConditions = 20
	maxPattern    = 255 // in bytes, of the name of a claim and of its pattern
)

// conditions returns the required claims with their patterns as texts, or nil if none are given.
// Numbers and booleans are converted to texts. The fault of an invalid claim is INVALID_PARAMETER;
// the claims are checked in the order of their names, so that it is always the same one.
//
// A pattern is compared with the whole claim; see auth.Conditions. A pattern that is a list or an
// object is refused.
func conditions(given tool.Fields) (map[string]string, error) {
	if len(given) > maxConditions {
		return nil, badClaims("at most %d claims can be required", maxConditions)
	}
	all := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		text, ok := patternOf(given[name])
		switch {
		case !printable(name) || len(name) > maxPattern:
			return nil, badClaims("the name of a claim must have 1 to %d printable ASCII characters", maxPattern)
		case !ok:
			return nil, badClaims("claim %s must be one string, number, true or false", name)
		case text == "" || len(text) > maxPattern:
			return nil, badClaims("claim %s must be 1 to %d bytes long", name, maxPattern)
		}
		all[name] = text
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// badClaims returns an INVALID_PARAMETER fault about the argument claims.
func badClaims(format string, args ...any) error {
	return fault.New(fault.InvalidParameter, format, args...).With("argument", "claims").
		Fix("--claims NAME=PATTERN, once for each claim")
}

// patternOf returns the text with which a claim is compared. ok is false if the value is not a
// string, number or boolean. A number or boolean becomes its JSON text.
func patternOf(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case tool.Text:
		return string(v), true
	case bool, float64, json.Number:
		text, err := json.Marshal(v)
		return string(text), err == nil
	}
	return "", false
}

// checkPublic returns an error if a tenant must not name a URL. The URL must be https, and its host
// must be a public address or have a public name. The address to which a name resolves is checked
// when it is fetched (package auth).
//
// Otherwise a tenant could make the server send requests into the network of its operator. A name
// counts as public if it has at least two labels, and the last one is neither in local nor numeric.
// The error completes a sentence that begins with the name of the argument.
//
// An address is compared with the reserved ranges by auth.CheckURL. A name that ends with a dot is
// treated like the same name without it.
func checkPublic(text string) error {
	if !printable(text) {
		return errors.New("must be an absolute https URL")
	}
	if err := auth.CheckURL(text, true); err != nil {
		return err
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("must be an absolute https URL")
	}
	// CheckURL has checked that an IP address in the URL is public.
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return nil
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == host || local[last] || numeric.MatchString(last) {
		return errors.New("must be on the public internet")
	}
	return nil
}

// numeric matches the last label of a host that some programs parse as an IPv4 address, as in 127.1
// or 0x7f000001. Such a host is refused, because it could be an address inside the network.
var numeric = regexp.MustCompile(`^(\d+|0x[0-9a-f]*)$`)

// local contains the top-level domains that do not resolve publicly (RFC 6761, RFC 6762, RFC 8375),
// or that name different hosts in different networks.
var local = map[string]bool{
	"localhost": true, "local": true, "internal": true, "localdomain": true, "lan": true,
	"home": true, "arpa": true, "onion": true,
}

// An issuerRow is one rule of a list of issuers. A rule says which tokens of an identity provider
// are accepted, and which roles they get. Disabled is the reason why a rule accepts no tokens, or
// empty. Principal is set for a rule for workloads, such as CI jobs.
type issuerRow struct {
	Name   string `json:"name"`
	Issuer string `json:"issuer"`
	// what its tokens must be made out to
	Audience string `json:"audience"`
	// absent: as the issuer's metadata says
	JWKS   string            `json:"jwks_url,omitempty"`
	Claims map[string]string `json:"claims,omitempty"`
	// by vault; * is every vault
	Roles      map[string]auth.Role `json:"roles"`
	RolesClaim string               `json:"roles_claim,omitempty"`
	ClientID   string               `json:"client_id,omitempty"`
	// why the rule is disabled; absent if it is in use
	Disabled string `json:"disabled,omitempty"`
	// the principal of a workload; absent: each person is a principal
	Principal string `json:"principal,omitempty"`
}

// issuerList returns the tool that lists the issuers of the tenant, sorted by name.
func (f tools) issuerList() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "team_issuer_list", Family: Family, Title: "List issuers",
		Role: auth.Admin, Kind: tool.Read, Tenant: true,
		Route:    tool.Route{Method: "GET", Path: "/issuers"},
		Commands: []tool.Command{{Words: "issuer list"}},
		Columns:  []string{"name", "issuer", "principal", "roles", "claims", "disabled"},
		Empty: []tool.Empty{
			{Of: "issuers"},
		},
	}, func(t *tenant.Tenant, s *tenant.State) listing[tenant.Issuer, *issuerRow] {
		return listing[tenant.Issuer, *issuerRow]{
			s.Issuers(), func(i tenant.Issuer) string { return i.Name },
			func(i tenant.Issuer) *issuerRow { return rowOfIssuer(t, i) },
		}
	})
}

// disabledReason is the value of Disabled for every disabled rule. There is only one reason; see
// team.Tenant.Disabled.
const disabledReason = "the issuer is in the configuration of the server, and the rule has other keys"

// rowOfIssuer returns the row of a rule. The principal is set only for a rule for workloads, whose
// tokens all act as one principal.
func rowOfIssuer(t *tenant.Tenant, i tenant.Issuer) *issuerRow {
	row := &issuerRow{
		Name: i.Name, Issuer: i.URL, Audience: t.Audience(), JWKS: i.JWKS, Claims: i.Claims,
		Roles: i.Roles, RolesClaim: i.RolesClaim, ClientID: i.ClientID,
	}
	if t.Disabled(i) {
		row.Disabled = disabledReason
	}
	if !i.People() {
		row.Principal = auth.Workload(i.Name)
	}
	return row
}

// An issuerRemoveIn is the input of team_issuer_remove.
type issuerRemoveIn struct {
	// name of the rule
	Name string `json:"name" max:"63" complete:"issuer"`
	tool.Mutation
}

// issuerRemove returns the tool that removes an issuer.
func (f tools) issuerRemove() *tool.Tool {
	return changeTool(f, tool.Spec{
		Name: "team_issuer_remove", Family: Family, Title: "Remove an issuer",
		Role: auth.Admin, Kind: tool.Destroy, Idempotent: true, Tenant: true,
		Route:    tool.Route{Method: "POST", Path: "/issuers/remove"},
		Commands: []tool.Command{{Words: "issuer remove", Args: []string{"name"}}},
	}, f.removeIssuer)
}

// removeIssuer removes a rule. Tokens of its issuer are no longer accepted by it, although another
// rule can still accept them. Members that the issuer authenticated stay members. A name without a
// rule is NOT_FOUND.
func (f tools) removeIssuer(ctx context.Context, w change, in issuerRemoveIn) (issuerOut, error) {
	return mutation.ChangeTenant(func(keep func(issuerOut) any) (eventlog.Receipt, error) {
		return w.tenant.RemoveIssuer(ctx, w.call, in.Name, func(i tenant.Issuer) any {
			out := issuerOut{}
			out.Action, out.Issuer = out.removed(in.DryRun, rowOfIssuer(w.tenant, i))
			return keep(out)
		})
	})
}
