package main

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An inProcess calls the catalogue of an open data directory as the local principal, who has every
// role. The agent, the session and --readonly of the target apply to its calls, as the headers of a
// request would.
type inProcess struct {
	app    *localapp.App
	target clitool.Target
}

// Invoke implements tool.Invoker.
func (p inProcess) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	c := auth.LocalCaller()
	c.Agent = cmp.Or(p.target.Agent, c.Agent)
	c.Session = cmp.Or(p.target.Session, c.Session)
	c.ReadOnly = p.target.ReadOnly
	return p.app.Catalogue.Invoke(auth.WithCaller(ctx, c), name, args)
}

// in returns an Invoker that sets the vault of a folder in every call with such an argument. vault
// is empty for a data directory, and in then returns i itself. A folder is the only vault of its
// server, but tools without a default vault need its name.
func (n connector) in(vault string, i tool.Invoker) tool.Invoker {
	if vault == "" {
		return i
	}
	return inVault{Invoker: i, vault: vault, tools: n.app.Tools}
}

// An inVault is an Invoker whose calls are about one vault. tools are the descriptions of the
// catalogue, by which it knows the tools that take a vault.
type inVault struct {
	tool.Invoker
	vault string
	tools []*tool.Tool
}

// Invoke implements tool.Invoker.
func (v inVault) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	named, err := v.name(name, args)
	if err != nil {
		return nil, err
	}
	return v.Invoker.Invoke(ctx, name, named)
}

// name adds the vault to the arguments of a tool that has such an argument, unless they contain
// one. Arguments that are not an object, and those of an unknown tool, are returned unchanged: the
// tool or the catalogue reports the problem.
func (v inVault) name(name string, args json.RawMessage) (json.RawMessage, error) {
	const argument = "vault"
	i := slices.IndexFunc(v.tools, func(t *tool.Tool) bool { return t.Name == name })
	if i < 0 {
		return args, nil
	}
	all := map[string]json.RawMessage{}
	_, takes := v.tools[i].Arg(argument)
	if !takes || json.Unmarshal(args, &all) != nil || all[argument] != nil {
		return args, nil // the tool reports invalid arguments
	}
	raw, err := tool.Marshal(v.vault)
	if err != nil {
		return nil, err
	}
	all[argument] = raw
	return tool.Marshal(all)
}
