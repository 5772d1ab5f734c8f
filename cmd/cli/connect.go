package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A connector connects to the tools that a command line selects (CONTRACT §7).
type connector struct{ app *clitool.App }

// connect returns the tools of the selected server, which is set by a flag, in the environment or
// in the configuration, in this order. Without a server, it returns the tools of the server that
// has the local data directory, or the folder, open, or else opens that in this process. The Closer
// is nil for a server.
func (n connector) connect(
	ctx context.Context, t clitool.Target,
) (tool.Invoker, io.Closer, error) {
	server, err := n.server(t)
	if err != nil {
		return nil, nil, err
	}
	if server != "" {
		client, err := n.client(ctx, t, server)
		if err != nil {
			return nil, nil, err
		}
		return client, nil, nil
	}
	cfg, err := n.config(t)
	if err != nil {
		return nil, nil, err
	}
	if t.Existing {
		if err := exists(cfg); err != nil {
			return nil, nil, err
		}
	}
	app, err := localapp.Open(ctx, cfg)
	var busy *localapp.InUse
	if errors.As(err, &busy) && busy.Server != "" {
		return n.beside(ctx, t, busy)
	}
	if err != nil {
		return nil, nil, err
	}
	if !t.Existing {
		err = n.catchUp(ctx, app)
	}
	if err != nil {
		return nil, nil, errors.Join(err, app.Close())
	}
	return n.in(app.Vault(), inProcess{app, t}), app, nil
}

// beside returns the tools of the server of this machine that has the directory open.
func (n connector) beside(
	ctx context.Context, t clitool.Target, busy *localapp.InUse,
) (tool.Invoker, io.Closer, error) {
	client, err := n.other(ctx, t, busy)
	if err != nil {
		return nil, nil, err
	}
	return n.in(busy.Vault, client), nil, nil
}

// other returns the client of the process of this machine that has the directory open.
func (n connector) other(
	ctx context.Context, t clitool.Target, busy *localapp.InUse,
) (*httptool.Client, error) {
	if busy.Key != "" {
		t.Token = busy.Key
	}
	client, err := n.client(ctx, t, busy.Server)
	if err != nil {
		return nil, err
	}
	client.HTTP, client.Named = localapp.Direct(busy.Direct), "serve.json of this directory"
	return client, nil
}

// exists returns NOT_FOUND if the directory does not exist, or the folder was never served.
func exists(cfg localapp.Config) error {
	if cfg.Folder != "" {
		return localapp.Served(cfg)
	}
	if _, err := os.Stat(cfg.Data); err != nil {
		return fault.New(fault.NotFound, "there is no data directory").Because(err)
	}
	return nil
}

// catchUp waits until the edits of a folder are ingested, and prints news about the folder.
func (n connector) catchUp(ctx context.Context, app *localapp.App) error {
	for _, line := range app.Changes() {
		if _, err := fmt.Fprintln(n.app.Err, control.Escape(line)); err != nil {
			return err
		}
	}
	return app.CaughtUp(ctx)
}

// local returns the target of a command line about a data directory of this machine, or a folder,
// and its configuration.
func (n connector) local(c *cobra.Command) (t clitool.Target, cfg localapp.Config, err error) {
	if t, err = n.app.Target(c); err != nil {
		return t, cfg, err
	}
	cfg, err = n.config(t)
	return t, cfg, err
}

// config returns the configuration of the selected data directory or folder.
func (n connector) config(t clitool.Target) (localapp.Config, error) {
	if t.Folder == "" {
		dir, err := n.dataDir(t.Data)
		return localapp.Config{Data: dir}, err
	}
	states, err := n.home("XDG_STATE_HOME", ".local/state")
	return localapp.Config{
		Folder: t.Folder, State: filepath.Join(states, "rookery", "folders"),
		Progress: n.app.Reading(), Reading: t.Reading,
	}, err
}

// servers returns the directory of the listings of this user's servers; "" if there is no home
// directory.
func (n connector) servers() string {
	states, err := n.home("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return ""
	}
	return filepath.Join(states, "rookery", "servers")
}

// dataDir returns the selected data directory: the given one, or the default.
func (n connector) dataDir(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	dir, err := n.home("XDG_DATA_HOME", ".local/share")
	return filepath.Join(dir, "rookery"), err
}

// home returns the directory in an environment variable, or else a directory in the user's home
// directory.
func (n connector) home(variable, otherwise string) (string, error) {
	if dir := n.app.Env(variable); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.New(fault.InvalidParameter, "there is no home directory for the data").
			Fix("set the directory: %s=DIR", variable).Because(err)
	}
	return filepath.Join(home, filepath.FromSlash(otherwise)), nil
}
