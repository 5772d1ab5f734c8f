// Package access decides who may call what: the check of roles and of the read-only switch, before
// any tool runs (DESIGN §1.7). No tool checks a role itself.
package access

import (
	"context"
	"encoding/json"
	"slices"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/tool"
)

// Vaults lists the names of the vaults of the caller's tenant that exist and are not in the trash.
type Vaults func(ctx context.Context, c auth.Caller) ([]string, error)

// Check is the interceptor. It fills in the vault that is implied where the caller can see exactly
// one, refuses a vault that the caller may not see as one that does not exist, a tool above its
// role, and every mutation of a read-only caller.
func Check(vaults Vaults) tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			if err := check(ctx, c, vaults); err != nil {
				return tool.Reply{}, err
			}
			return next(ctx, c)
		}
	}
}

func check(ctx context.Context, c *tool.Call, vaults Vaults) error {
	name := c.Text(c.Tool.Subject)
	_, named := c.Args["vault"]
	if a, ok := c.Tool.Arg("vault"); ok && !a.Shared && (named || !c.Tool.Anywhere) {
		var err error
		if name, err = vaultOf(ctx, c, vaults); err != nil {
			return err
		}
	}
	if role := c.Caller.Role(name); !role.Allows(c.Tool.Role) {
		if name != "" && !role.Allows(auth.Reader) {
			return fault.NoVault(name)
		}
		return fault.New(fault.PermissionDenied, "%s needs the role %s", c.Tool.Name, c.Tool.Role).
			With("required_role", c.Tool.Role)
	}
	if c.Caller.ReadOnly && c.Tool.Kind.Mutates() {
		return fault.New(fault.ReadOnly, "this call may only read, and %s changes something",
			c.Tool.Name)
	}
	return nil
}

// vaultOf is the vault that the call is about, which is put into its arguments if it was implied.
func vaultOf(ctx context.Context, c *tool.Call, vaults Vaults) (string, error) {
	if raw, given := c.Args["vault"]; given {
		var name string
		if json.Unmarshal(raw, &name) != nil || name == "" {
			return "", fault.New(fault.InvalidParameter, "argument \"vault\" must be a vault's name").
				With("argument", "vault")
		}
		return name, nil
	}
	all, err := vaults(ctx, c.Caller)
	if err != nil {
		return "", err
	}
	seen := slices.DeleteFunc(all, func(name string) bool {
		return !c.Caller.Role(name).Allows(auth.Reader)
	})
	if len(seen) != 1 {
		f := fault.New(fault.InvalidParameter, "say which vault is meant: argument \"vault\"").
			With("argument", "vault").With("available", seen)
		if len(seen) == 0 {
			f = f.Fix("rookery vault create NAME")
		}
		return "", f
	}
	c.Args["vault"], err = tool.Marshal(seen[0])
	return seen[0], err
}
