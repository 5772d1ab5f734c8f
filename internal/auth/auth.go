// Package auth represents the caller of a call: its principal, its agent and its roles. It parses
// and verifies the two kinds of tokens that authenticate a caller: JSON Web Tokens of an issuer,
// and API tokens.
//
// The package knows neither the network side of a server nor a tenant's members: package access
// combines it with the directory of a tenant, and decides which caller a request has. A verified
// token gives Claims; what they mean, and which roles follow, is not decided here.
//
// A JSON Web Token is handled in four steps, in this order. parse (token.go) accepts only texts
// that all parsers read in the same way. keyring (keys.go) finds the key that the issuer serves for
// it; fetch.go and jwks.go fetch and decode the keys. Verify (jwt.go) checks the signature before
// it looks at a claim. claimsOf (claims.go) decodes the claims. An error says to the caller only
// that the token was refused; its reason is for the log.
package auth

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Role determines what a caller may do in a vault. Roles are ordered: a higher role includes all
// lower ones (CONTRACT §4, team).
type Role string

// The roles, lowest first. Nobody is lower than all of them.
const (
	Nobody Role = ""
	Reader Role = "reader" // all tools that change nothing
	Editor Role = "editor" // also mutations of a vault's contents
	Admin  Role = "admin"  // also the team tools
)

// Anyone is required by tools that return only information about the caller itself: every
// authenticated caller may call them. It is never the role of a caller.
const Anyone Role = "anyone"

// order contains the roles, lowest first.
var order = []Role{Nobody, Reader, Editor, Admin}

// Roles returns the roles that a caller can have, lowest first. They are also the OAuth scopes.
func Roles() []Role { return slices.Clone(order[1:]) }

// Valid reports whether the role is one that a caller can have.
func (r Role) Valid() bool { return r != Nobody && slices.Contains(order, r) }

// Allows reports whether the role is at least need. An unknown role allows only Anyone, and no
// role allows an unknown one.
func (r Role) Allows(need Role) bool {
	if need == Anyone {
		return true
	}
	least := slices.Index(order, need)
	return least >= 0 && r != Nobody && slices.Index(order, r) >= least
}

// AtMost returns the lower of two roles.
func (r Role) AtMost(most Role) Role {
	if most.Allows(r) {
		return r
	}
	return most
}

// Local is the name of the principal and of the tenant if authentication is off, which is possible
// on loopback only (CONTRACT §4, team).
const Local = "local"

// A Caller describes the caller of a call and its permissions. The zero value has none. It is
// passed by value in the context of a call; its maps and slices are shared and must not be changed.
type Caller struct {
	Tenant    string
	Principal string          // returned by User, APIToken or Workload; or Local
	Agent     string          // the agent that acts for the principal; the principal if the call names none
	Session   string          // identifies the view state
	Roles     map[string]Role // by vault; AllVaults means the vaults without an entry of their own
	Scope     Role            // upper limit of all roles; Nobody: no limit
	Prefix    string          // only notes under this prefix may be written; empty: all
	Tools     []string        // long names of the tools that may be called; nil: all
	ReadOnly  bool            // refuse every mutation
	RequestID string          // id of the call in logs and answers
	Began     time.Time       // when the call arrived; zero: unknown

	Name    string    // display name of the principal: a subject, or the name of a token or rule
	TokenID string    // id of the API token; empty: none was used
	Issuer  string    // of the JSON Web Token; empty: none was used
	Subject string    // of the JSON Web Token; empty: none was used
	Expires time.Time // expiry of the token; zero: never

	// Refresh returns the caller with its permissions in the newest state of its tenant. Permissions
	// may be up to a minute old, but refusals must be decided on the newest state (log.md §6). Nil:
	// the permissions never change.
	Refresh func(context.Context) (Caller, error)

	// Allowance is set to the remaining allowance of the caller, if its rate is limited. Nil: it is
	// not reported.
	Allowance *Allowance
}

// An Allowance is the remaining part of a rate limit, for the headers of a response. The limiter
// sets it through Caller.Allowance while the call is made.
type Allowance struct {
	Limit     int           // most calls at once; 0: no limit
	Remaining int           // calls that are allowed now
	Reset     time.Duration // until Limit calls are allowed
}

// AllVaults is the key of Caller.Roles for every vault of the tenant.
const AllVaults = "*"

// LocalCaller returns the caller of unauthenticated requests on loopback: principal `local` of
// tenant `local`, an admin.
func LocalCaller() Caller {
	return Caller{
		Tenant: Local, Principal: Local, Name: Local, Agent: Local, Session: DefaultSession,
		Roles: map[string]Role{AllVaults: Admin},
	}
}

// DefaultSession is the session of a call that names none.
const DefaultSession = "default"

// Role returns the caller's role in a vault. "" means the highest role in any vault, and AllVaults
// the role in the tenant as a whole. It is limited by the scope; the prefix, the tools and ReadOnly
// are checked separately.
func (c Caller) Role(vault string) Role { return c.capped(c.granted(vault)) }

// LacksScope reports whether the caller lacks the role only because of the scopes of its token.
func (c Caller) LacksScope(vault string, need Role) bool {
	granted := c.granted(vault)
	return granted.Allows(need) && !c.capped(granted).Allows(need)
}

// capped returns a role limited by the scope.
func (c Caller) capped(r Role) Role {
	if c.Scope == Nobody {
		return r
	}
	return r.AtMost(c.Scope)
}

// granted returns a role before the scope is applied.
func (c Caller) granted(vault string) Role {
	if vault == "" {
		return c.highest()
	}
	if r, ok := c.Roles[vault]; ok {
		return r
	}
	return c.Roles[AllVaults]
}

// highest returns the highest role in any vault.
func (c Caller) highest() Role {
	best := Nobody
	for _, r := range c.Roles {
		if r.Allows(best) || best == Nobody {
			best = r
		}
	}
	return best
}

// Effective returns the caller's roles by vault, limited by the scope, in a new map. It has an
// entry for AllVaults if Roles has.
func (c Caller) Effective() map[string]Role {
	all := maps.Clone(c.Roles)
	for vault, r := range all {
		all[vault] = c.capped(r)
	}
	return all
}

// MayCall reports whether the caller's token allows it to call a tool, given by its long name.
func (c Caller) MayCall(tool string) bool { return c.Tools == nil || slices.Contains(c.Tools, tool) }

// A callerKey is the context key of the caller.
type callerKey struct{}

// WithCaller returns a context that contains the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller in a context; the zero Caller if there is none.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// Refused returns the UNAUTHENTICATED error of a token that does not authenticate a caller. It is
// always the same, so that an attacker learns nothing from it. Add the reason with Because, for the
// log; it must not contain any part of the token.
func Refused() *fault.Fault {
	return fault.New(fault.Unauthenticated, "the token was not accepted").
		Fix("send a token that this server accepts")
}

// Expired returns the TOKEN_EXPIRED error of a token that is valid except for its expiry.
func Expired() *fault.Fault {
	return fault.New(fault.TokenExpired, "the token has expired").
		Fix("get a new token")
}

// keysUnavailable returns the UNAVAILABLE error of a token that cannot be checked, because the keys of
// its issuer could not be fetched. The caller should try again after that time; the token may be
// valid.
func keysUnavailable(after time.Duration) *fault.Fault {
	return fault.New(fault.Unavailable, "the keys of the token's issuer cannot be fetched now").
		Fix("try again later").After(after)
}
