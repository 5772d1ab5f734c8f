package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"rookery/internal/auth"
	"rookery/internal/clitool"
	"rookery/internal/fault"
	"rookery/internal/httptool"
	"rookery/internal/localapp"
	"rookery/internal/tool"
)

// A connector finds the tools that a command line means (CONTRACT §7).
type connector struct{ env func(string) string }

// connect reaches a server if one is named; else the server that holds the local data directory, if
// one does; else the directory itself, in process.
func (n connector) connect(
	ctx context.Context, t clitool.Target,
) (tool.Invoker, io.Closer, error) {
	if t.Folder != "" {
		return nil, nil, notInPlace()
	}
	if t.Server != "" {
		return client(t, t.Server), nil, nil
	}
	dir, err := n.dataDir(t.Data)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(dir); t.Existing && err != nil {
		return nil, nil, fault.New(fault.NotFound, "there is no data directory").Because(err)
	}
	app, err := localapp.Open(ctx, localapp.Config{Data: dir})
	var busy *localapp.InUse
	if errors.As(err, &busy) && busy.Server != "" {
		return client(t, busy.Server), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return inProcess{app, t}, app, nil
}

// notInPlace is the fault of a --vault that is a folder.
func notInPlace() error {
	return fault.New(fault.InvalidParameter,
		"--vault takes the name of a vault; a folder is brought in by an import").
		Fix("rookery vault import DIR --vault NAME --create")
}

func client(t clitool.Target, server string) tool.Invoker {
	return &httptool.Client{
		Base: server, Token: t.Token, Agent: t.Agent, Session: t.Session, ReadOnly: t.ReadOnly,
	}
}

// local is what a command line means that is about a data directory of this machine, and the directory.
func (n connector) local(
	app *clitool.App, c *cobra.Command,
) (t clitool.Target, dir string, err error) {
	if t, err = app.Target(c); err != nil {
		return t, "", err
	}
	if t.Folder != "" {
		return t, "", notInPlace()
	}
	dir, err = n.dataDir(t.Data)
	return t, dir, err
}

// dataDir is the data directory that is meant.
func (n connector) dataDir(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	if home := n.env("XDG_DATA_HOME"); home != "" {
		return filepath.Join(home, "rookery"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.New(fault.InvalidParameter, "there is no home directory to keep data in").
			Fix("--data DIR").Because(err)
	}
	return filepath.Join(home, ".local", "share", "rookery"), nil
}

// inProcess calls the catalogue of an open data directory as the local principal.
type inProcess struct {
	app    *localapp.App
	target clitool.Target
}

func (p inProcess) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	c := auth.LocalCaller()
	c.Agent = cmp.Or(p.target.Agent, c.Agent)
	c.Session = cmp.Or(p.target.Session, c.Session)
	c.ReadOnly = p.target.ReadOnly
	return p.app.Catalogue.Invoke(auth.WithCaller(ctx, c), name, args)
}
