// Package access authenticates callers and authorizes calls, before any tool runs (DESIGN §1.7). No
// tool checks a role itself.
//
// A request passes three stages. A Gate finds out who sends it: from its token, or from the
// connection if authentication is off. Shares divide the capacity of the server before the body is
// read. Check then decides whether the caller may make the call, and Claim records the agent of a
// change.
//
// Permissions may be a minute old when they grant something, and must be of the newest state of the
// tenant when they refuse. Therefore every decision is a function of a state: it is made on the
// known one first, and repeated on the newest one if the result is a refusal.
//
// A caller must not learn from a refusal about anything that it cannot see. A tenant that does not
// exist is refused as an invalid token, and a vault that the caller cannot see as one that does not
// exist, both after the same reads.
package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A Directory provides the facts about a caller's tenant that authorization needs.
type Directory interface {
	// Vaults returns the names of the vaults that exist and are not in the trash. The result may be
	// up to a minute old, unless fresh is set.
	Vaults(ctx context.Context, c auth.Caller, fresh bool) ([]string, error)
	// ClaimAgent returns an error if the agent of the caller belongs to another principal. If
	// writes is set, it also records that the agent belongs to the caller.
	ClaimAgent(ctx context.Context, c auth.Caller, writes bool) error
}

// Check returns the interceptor that authorizes calls. It sets the argument "vault" where it is
// omitted and the caller can see exactly one vault. It refuses a vault that the caller cannot see
// with the same error, after the same reads, as one that does not exist. It also refuses a tool
// above the caller's role or not named by its token, a mutation by a read-only caller, and an agent
// of another principal. Refusals are decided on the newest state of the tenant. If the vault does
// not exist because the tenant was erased, the error is UNAUTHENTICATED.
func Check(d Directory) tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			again := c.Caller.Refresh
			if err := admit(ctx, c, d); err != nil {
				return tool.Reply{}, err
			}
			r, err := next(ctx, c)
			// A NOT_FOUND of the vault may mean that the whole tenant was erased after the call was
			// authorized.
			if again == nil || !fault.LacksVault(err) {
				return r, err
			}
			if _, now := again(ctx); fault.Is(now, fault.Unauthenticated) {
				return tool.Reply{}, now
			}
			return r, err
		}
	}
}

// admit is check, repeated with the newest roles if the first refusal may be based on old ones. It
// then sets these roles in c, so that the tool sees them, and clears Again, so that they are read
// once for each call.
func admit(ctx context.Context, c *tool.Call, d Directory) error {
	err := check(ctx, c, d)
	if err == nil || c.Caller.Refresh == nil || !refused(err) {
		return err
	}
	now, err := c.Caller.Refresh(ctx)
	if err != nil {
		return err
	}
	c.Caller.Roles, c.Caller.Prefix, c.Caller.Tools = now.Roles, now.Prefix, now.Tools
	c.Caller.ReadOnly, c.Caller.Refresh = c.Caller.ReadOnly || now.ReadOnly, nil
	return check(ctx, c, d)
}

// refused reports whether an error refuses the caller, in contrast to a malformed call.
func refused(err error) bool {
	s := fault.Of(err).Status()
	return s == fault.StatusForbidden || s == fault.StatusNotFound ||
		fault.Is(err, fault.InvalidParameter) // the implied vault was not unique
}

// check authorizes a call with the current roles of its caller: first the tools that the token
// names, then the role, then the restrictions of the caller, and last the agent, which may cost a
// read of the table.
func check(ctx context.Context, c *tool.Call, d Directory) error {
	if !c.Tool.Permitted(c.Caller) {
		return fault.New(fault.PermissionDenied, "the token does not permit calls of %s",
			c.Tool.Name).With("tools", c.Caller.Tools)
	}
	where, err := roleScope(ctx, c, d)
	if err != nil {
		return err
	}
	if err := checkRole(c, where); err != nil {
		return err
	}
	err = cmp.Or(checkRestrictions(c), checkSession(c.Caller))
	switch {
	case err != nil:
		return err
	case c.Caller.Principal == auth.Local: // with a single principal, an agent cannot belong to another
		return checkAgent(c.Caller)
	}
	return d.ClaimAgent(ctx, c.Caller, false)
}

// checkAgent returns an error if the agent of a caller has an invalid name.
func checkAgent(c auth.Caller) error {
	if c.Agent == c.Principal {
		return nil
	}
	if err := auth.CheckName(c.Agent); err != nil {
		return fault.Of(err).With("argument", "agent_id")
	}
	return nil
}

// checkSession returns an error if the session of a caller contains unprintable characters, because
// answers contain it.
func checkSession(c auth.Caller) error {
	if !strings.ContainsFunc(c.Session, auth.Unprintable) {
		return nil
	}
	return fault.New(fault.InvalidParameter, "a session must be one line of printable characters").
		With("argument", "session")
}

// Claim returns the interceptor that records that the agent of a call belongs to its caller, if the
// call changes something. It must come after the rate limits, so that a caller over its rate causes
// no writes, however many agents it names.
func Claim(d Directory) tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			if changes(c) && c.Caller.Principal != auth.Local {
				if err := d.ClaimAgent(ctx, c.Caller, true); err != nil {
					return tool.Reply{}, err
				}
			}
			return next(ctx, c)
		}
	}
}

// changes reports whether a call will change something: it is not malformed and not a dry run.
func changes(c *tool.Call) bool {
	return c.Needs().Kind.Changes() && c.Malformed == nil && !c.Dry()
}

// roleScope returns where the caller needs the role of the tool: the name of a vault, AllVaults for the
// tenant as a whole, or "" for any vault. A malformed call is checked as one without a vault, so
// that its error is not a way around the check. Tools with a Subject name the vault in another
// argument.
func roleScope(ctx context.Context, c *tool.Call, d Directory) (string, error) {
	if c.Tool.Tenant {
		return auth.AllVaults, nil
	}
	_, named := c.Args["vault"]
	a, ok := c.Tool.Arg("vault")
	if c.Malformed == nil && ok && !a.Shared && (named || !c.Tool.Anywhere) {
		return vaultOf(ctx, c, d)
	}
	return c.Text(c.Tool.Subject), nil
}

// checkRole returns an error if the caller's role in a vault is too low. For a vault that the caller
// cannot see it is NOT_FOUND, unless the tool creates the vault. Otherwise it is
// PERMISSION_DENIED, with the needed role as a detail; if only the scopes of the token are missing,
// the fault says so, and a challenge names them.
func checkRole(c *tool.Call, where string) error {
	role, need := c.Caller.Role(where), c.Needs().Role
	if role.Allows(need) {
		return nil
	}
	// A caller without any role in a vault must not learn that the vault exists.
	unseen := where != "" && where != auth.AllVaults && !role.Allows(auth.Reader)
	if unseen && !c.Tool.Makes {
		return fault.NoVault(where)
	}
	f := fault.New(fault.PermissionDenied, "%s needs the role %s", c.Tool.Name, need)
	if need != c.Tool.Role {
		f = fault.New(fault.PermissionDenied, "%s with these arguments needs the role %s", c.Tool.Name, need)
	}
	if c.Tool.Tenant {
		f.Message += " in all vaults"
	}
	if c.Caller.LacksScope(where, need) {
		f = f.With(lacksScope, true).Fix("ask for a token with the scope %s", need)
	}
	return f.With(neededRole, need)
}

// checkRestrictions returns READ_ONLY if a read-only caller makes a change, and PERMISSION_DENIED if a
// caller bound to a prefix or to some tools changes the tenant: that could give it more access than
// it has.
func checkRestrictions(c *tool.Call) error {
	switch kind := c.Needs().Kind; {
	case kind.Changes() && c.Caller.ReadOnly:
		return fault.New(fault.ReadOnly, "this call is read-only, and %s is a change",
			c.Tool.Name)
	case !kind.Mutates():
		return nil
	case c.Tool.Tenant && (c.Caller.Tools != nil || c.Caller.Prefix != ""):
		return fault.New(fault.PermissionDenied,
			"a caller bound to a prefix, or to some tools, cannot change the tenant")
	}
	return nil
}

// vaultOf returns the vault that a call is about. If the argument is omitted, vaultOf sets it to
// the only vault that the caller can see, so that the tool and the audit log have it. If there is
// none, or more than one, the error is INVALID_PARAMETER and lists them.
func vaultOf(ctx context.Context, c *tool.Call, d Directory) (string, error) {
	if raw, given := c.Args["vault"]; given {
		var name string
		if json.Unmarshal(raw, &name) != nil || name == "" {
			return "", fault.New(fault.InvalidParameter, "argument \"vault\" must be a vault's name").
				With("argument", "vault")
		}
		return name, nil
	}
	var seen []string
	// The newest state is read only if the known one does not contain exactly one visible vault.
	for _, fresh := range []bool{false, true} {
		all, err := d.Vaults(ctx, c.Caller, fresh)
		if err != nil {
			return "", err
		}
		seen = slices.DeleteFunc(all, func(name string) bool {
			return !c.Caller.Role(name).Allows(auth.Reader)
		})
		if len(seen) == 1 {
			break
		}
	}
	if len(seen) != 1 {
		f := fault.New(fault.InvalidParameter, "give the vault: argument \"vault\"").
			With("argument", "vault").With("available", seen)
		if len(seen) == 0 {
			f = f.Try("team_vault_create", fault.Args{"name": "main"}).
				Fix("ask an admin for a role in a vault")
		}
		return "", f
	}
	implied, err := tool.Marshal(seen[0])
	c.Args["vault"] = implied
	return seen[0], err
}

// A Reason is the reason why a request was refused before any tool was called.
type Reason string

// The reasons.
const (
	NoToken  Reason = "no_token"   // a token is required, and there is none
	Invalid  Reason = "invalid"    // the token is invalid, for whatever reason
	Expired  Reason = "expired"    // the token has expired
	Host     Reason = "host"       // the Host header names another server
	Origin   Reason = "origin"     // the request comes from a page of another origin
	Plain    Reason = "plain_http" // the request came over plain HTTP
	Overload Reason = "overload"   // too many calls are in flight
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{NoToken, Invalid, Expired, Host, Origin, Plain, Overload}
}

// Unauthenticated returns the reason of a refusal with status 401. sent reports whether the request
// had a token.
func Unauthenticated(f *fault.Fault, sent bool) Reason {
	switch {
	case !sent:
		return NoToken
	case f.Code == fault.TokenExpired:
		return Expired
	}
	return Invalid
}

// maxRequestID is the largest length of a request id, in bytes.
const maxRequestID = 128

// RequestID returns the given request id if it can be logged: if it is printable ASCII without
// spaces, not too long, and contains no token. Otherwise it returns a new id.
func RequestID(given string) string {
	strange := func(c rune) bool { return c <= ' ' || c > '~' }
	if given == "" || len(given) > maxRequestID || strings.ContainsFunc(given, strange) ||
		auth.ContainsToken(given) {
		return rand.Text()
	}
	return given
}

// A registryDirectory is the Directory of the tenants of a deployment.
type registryDirectory struct{ *tenant.Registry }

var _ Directory = registryDirectory{}

// NewDirectory returns the Directory of the tenants of a deployment.
func NewDirectory(t *tenant.Registry) Directory { return registryDirectory{t} }

// Vaults implements Directory.
func (t registryDirectory) Vaults(ctx context.Context, c auth.Caller, fresh bool) ([]string, error) {
	own, err := t.Tenant(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	state := own.Current
	if fresh {
		state = own.Fresh
	}
	s, err := state(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range s.Vaults() {
		if e.Status == eventlog.Active {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// ClaimAgent implements Directory.
func (t registryDirectory) ClaimAgent(ctx context.Context, c auth.Caller, writes bool) error {
	own, err := t.Tenant(ctx, c.Tenant)
	if err != nil {
		return err
	}
	return own.ClaimAgent(ctx, c, writes)
}
