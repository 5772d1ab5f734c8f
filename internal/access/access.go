// Package access decides who calls, and who may call what: before any tool runs (DESIGN §1.7). No tool
// checks a role itself.
package access

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/tool"
)

// A Directory is what has to be known of a caller's tenant.
type Directory interface {
	// Vaults lists the names of the vaults that exist and are not in the trash: as it was at most a minute
	// ago or, if fresh, as far as it is known now.
	Vaults(ctx context.Context, c auth.Caller, fresh bool) ([]string, error)
	// ClaimAgent is a fault if the agent of the caller is another principal's. writes says that the call
	// is to make it the caller's.
	ClaimAgent(ctx context.Context, c auth.Caller, writes bool) error
}

// Check is the interceptor. It fills in the vault that is implied where the caller can see exactly
// one; refuses a vault that the caller may not see as one that does not exist, and after the same reads;
// a tool above its role, or that its token does not name; every mutation of a read-only caller; and an
// agent that is another principal's. A refusal is decided on the newest state of the tenant. A vault that is gone
// may be so because the tenant is: then the caller is UNAUTHENTICATED.
func Check(d Directory) tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			again := c.Caller.Again
			if err := admit(ctx, c, d); err != nil {
				return tool.Reply{}, err
			}
			r, err := next(ctx, c)
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

// admit is check, once more if a refusal may be due to what this process does not know yet.
func admit(ctx context.Context, c *tool.Call, d Directory) error {
	err := check(ctx, c, d)
	if err == nil || c.Caller.Again == nil || !refused(err) {
		return err
	}
	now, err := c.Caller.Again(ctx)
	if err != nil {
		return err
	}
	c.Caller.Roles, c.Caller.Prefix, c.Caller.Tools = now.Roles, now.Prefix, now.Tools
	c.Caller.ReadOnly, c.Caller.Again = c.Caller.ReadOnly || now.ReadOnly, nil
	return check(ctx, c, d)
}

// refused reports whether a call is not for the caller, rather than wrong.
func refused(err error) bool {
	s := fault.Of(err).Status()
	return s == fault.StatusForbidden || s == fault.StatusNotFound ||
		fault.Is(err, fault.InvalidParameter) // the vault that was implied was not the only one, or none
}

func check(ctx context.Context, c *tool.Call, d Directory) error {
	if !c.Tool.Named(c.Caller) {
		return fault.New(fault.PermissionDenied, "the token does not let its bearer call %s",
			c.Tool.Name).With("tools", c.Caller.Tools)
	}
	where, err := place(ctx, c, d)
	if err != nil {
		return err
	}
	if err := enough(c, where); err != nil {
		return err
	}
	err = cmp.Or(narrowed(c), checkSession(c.Caller))
	switch {
	case err != nil:
		return err
	case c.Caller.Principal == auth.Local: // nobody else is there to whom an agent could belong
		return checkAgent(c.Caller)
	}
	return d.ClaimAgent(ctx, c.Caller, false)
}

// checkAgent is a fault if the agent of a caller has no name that an agent can have.
func checkAgent(c auth.Caller) error {
	if c.Agent == c.Principal {
		return nil
	}
	if err := auth.CheckName(c.Agent); err != nil {
		return fault.Of(err).With("argument", "agent_id")
	}
	return nil
}

// checkSession is a fault if the session of a caller has characters that do not print: answers show it.
func checkSession(c auth.Caller) error {
	if !strings.ContainsFunc(c.Session, auth.Unprintable) {
		return nil
	}
	return fault.New(fault.InvalidParameter, "a session is one line of characters that print").
		With("argument", "session")
}

// Claim is the interceptor that makes the agent of a call the caller's, if the call is to change something.
// It stands behind the limits, so that who is over them writes nothing, however many agents are made up.
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

// changes reports whether a call is to change something: it can be read, and does not only show its plan.
func changes(c *tool.Call) bool {
	return c.Needs().Kind.Changes() && c.Malformed == nil && !c.Dry()
}

// place is the vault in which the caller needs the role of the tool: its name, AllVaults for the tenant
// as a whole, or "" for any.
func place(ctx context.Context, c *tool.Call, d Directory) (string, error) {
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

// enough is a fault if the role of the caller is not high enough there.
func enough(c *tool.Call, where string) error {
	role, need := c.Caller.Role(where), c.Needs().Role
	if role.Allows(need) {
		return nil
	}
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
	if c.Caller.Scoped(where, need) {
		f = f.With(lacksScope, true).Fix("ask for a token with the scope %s", need)
	}
	return f.With(neededRole, need)
}

// narrowed is a fault if the call changes something, and the caller may only read; or if it would give
// more access than the caller has.
func narrowed(c *tool.Call) error {
	switch kind := c.Needs().Kind; {
	case kind.Changes() && c.Caller.ReadOnly:
		return fault.New(fault.ReadOnly, "this call may only read, and %s changes something",
			c.Tool.Name)
	case !kind.Mutates():
		return nil
	case c.Tool.Tenant && (c.Caller.Tools != nil || c.Caller.Prefix != ""):
		return fault.New(fault.PermissionDenied,
			"a caller bound to a prefix, or to some tools, cannot change the tenant")
	}
	return nil
}

// vaultOf is the vault that the call is about, which is put into its arguments if it was implied.
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
		f := fault.New(fault.InvalidParameter, "say which vault is meant: argument \"vault\"").
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
