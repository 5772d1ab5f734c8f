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

// A connector connects to the tools that a command line selects (CONTRACT §7). It is the only part
// of the program that knows all kinds of targets. It is a small value without state, made where it
// is needed.
type connector struct{ app *clitool.App }

// connect returns the tools of the selected server, which is set by a flag, in the environment or
// in the configuration, in this order. Without a server, it returns the tools of the server that
// has the local data directory, or the folder, open, or else opens that in this process. The Closer
// is nil for a server.
//
// Only one process can have a directory open, so a command beside a server becomes a call to this
// server. The caller does not notice: the tools, their answers and their errors are the same. A
// process that has the directory open but cannot be called is an error, *localapp.InUse.
//
// If the target is Existing, nothing is created: a directory that does not exist is NOT_FOUND.
// Otherwise the edits of a folder are ingested before the command runs, so that its answer is about
// the files as they are.
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

// beside returns the tools of the server of this machine that has the directory open, with the
// vault of the folder in each call if the directory is a folder.
func (n connector) beside(
	ctx context.Context, t clitool.Target, busy *localapp.InUse,
) (tool.Invoker, io.Closer, error) {
	client, err := n.other(ctx, t, busy)
	if err != nil {
		return nil, nil, err
	}
	return n.in(busy.Vault, client), nil, nil
}

// other returns the client of the process of this machine that has the directory open. A key
// replaces the token of the target: it is for the process of an MCP client, which accepts nothing
// else, and it is as secret as the directory, whose serve.json contains it. The client may use a
// direct listener instead of the URL, because the URL may be that of a proxy which this machine
// cannot reach.
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

// exists returns NOT_FOUND if the data directory does not exist, or the folder was never served. It
// creates nothing, which opening the directory would.
func exists(cfg localapp.Config) error {
	if cfg.Folder != "" {
		return localapp.Served(cfg)
	}
	if _, err := os.Stat(cfg.Data); err != nil {
		return fault.New(fault.NotFound, "there is no data directory").Because(err)
	}
	return nil
}

// catchUp waits until the edits of a folder are ingested, and prints news about the folder on
// standard error, such as that it was moved. It does nothing for a data directory.
func (n connector) catchUp(ctx context.Context, app *localapp.App) error {
	for _, line := range app.Changes() {
		if _, err := fmt.Fprintln(n.app.Err, control.Escape(line)); err != nil {
			return err
		}
	}
	return app.CaughtUp(ctx)
}

// local returns the target of a command line about a data directory of this machine, or a folder,
// and its configuration. It does not look for a server in the configuration file, and it does not
// refuse one in the flags; a command that cannot work with a server must do that. Nothing is opened
// or created.
func (n connector) local(c *cobra.Command) (t clitool.Target, cfg localapp.Config, err error) {
	if t, err = n.app.Target(c); err != nil {
		return t, cfg, err
	}
	cfg, err = n.config(t)
	return t, cfg, err
}

// config returns the configuration of the selected data directory or folder. The history of a
// folder is not in the folder, which may be synced by other programs, but in the user's state
// directory: rookery/folders in $XDG_STATE_HOME, or in ~/.local/state. Progress shows that a large
// folder is being read.
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

// servers returns the directory of the listings of this user's servers, in the state directory; ""
// if there is no home directory. A server that starts adds itself there.
func (n connector) servers() string {
	states, err := n.home("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return ""
	}
	return filepath.Join(states, "rookery", "servers")
}

// dataDir returns the selected data directory: the given one, or else rookery in $XDG_DATA_HOME or
// in ~/.local/share.
func (n connector) dataDir(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	dir, err := n.home("XDG_DATA_HOME", ".local/share")
	return filepath.Join(dir, "rookery"), err
}

// home returns the directory in an environment variable, or else a directory in the user's home
// directory; otherwise is its path there, with slashes. It returns INVALID_PARAMETER if there is
// neither, as in some containers, with the variable as the fix. The names are those of the XDG Base
// Directory Specification, on every system.
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
