package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/credential"
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

// server returns the address of the selected server, or "" for a directory of this machine. A place
// in the flags or the environment takes precedence over the server in the configuration, which
// `rookery login` has set. An invalid address is an error that names its source; an address in the
// configuration was checked when it was stored, and config.yaml is checked again when it is read.
func (n connector) server(t clitool.Target) (string, error) {
	if t.Server != "" {
		_, err := credential.ParseServer(t.Server)
		return t.Server, from(err, t.From["server"])
	}
	if t.Data != "" || t.Folder != "" {
		return "", nil
	}
	store, err := n.credentials()
	if err != nil {
		return "", nil // without a home there is no configuration
	}
	usual, _, err := store.Usual()
	return usual.URL, err
}

// from adds the flag or variable with the invalid value to a fault, because the fault itself must
// not repeat the value. It copies the fault. It returns nil for nil.
func from(err error, source string) error {
	if err == nil || source == "" {
		return err
	}
	f := *fault.Of(err)
	f.Message = source + ": " + f.Message
	return &f
}

// client returns a client of a server, with the token of the flags or the environment, or else with
// the token that is stored for this server. It calls nothing. The client gets the sources of
// address and token too, for its messages: a person must see why a command goes to this server, and
// which setting to change when the token is refused.
func (n connector) client(
	ctx context.Context, t clitool.Target, server string,
) (*httptool.Client, error) {
	proof, err := n.proof(ctx, t, server)
	if err != nil {
		return nil, err
	}
	return &httptool.Client{
		Base: server, Token: proof.token, Named: named(t), Shown: proof.from, Renew: proof.renew,
		Agent: t.Agent, Session: t.Session, ReadOnly: t.ReadOnly,
		Tools: n.app.Tools,
	}, nil
}

// named returns the source of a server's address for messages: a variable, or the configuration. It
// returns "" for a flag, which the person has just typed.
func named(t clitool.Target) string {
	switch {
	case t.InEnvironment("server"):
		return t.From["server"]
	case t.Server == "":
		return "config.yaml, written by rookery login"
	}
	return ""
}

// token returns the bearer token for a server, or "".
func (n connector) token(ctx context.Context, t clitool.Target, server string) (string, error) {
	p, err := n.proof(ctx, t, server)
	return p.token, err
}

// A proof is a token, its source, and the fix if it is refused. token is empty if the caller has
// none. An empty renew leaves the fix to the client.
type proof struct{ token, from, renew string }

// proof returns the token of the flags or the environment, or else the one that is stored for the
// server. The token is empty if there is none. A stored token belongs to the origin of one server
// and is never returned for another; it is not returned for an address without TLS on another
// machine either. An error is that of the keyring, or of an address that cannot be parsed.
func (n connector) proof(ctx context.Context, t clitool.Target, address string) (proof, error) {
	if t.Token != "" {
		from := t.From["token"]
		p := proof{token: t.Token, from: from, renew: "give another one: " + from + " TOKEN"}
		if t.InEnvironment("token") {
			p.renew = "set " + from + " to another token, or unset it to use the one of rookery login"
		}
		return p, nil
	}
	server, err := credential.ParseServer(address)
	if err != nil || !server.Private() {
		return proof{}, err
	}
	store, err := n.credentials()
	if err != nil {
		return proof{}, nil // without a home there are no credentials
	}
	token, in, err := store.Token(ctx, server.Origin)
	return proof{token: token, from: "rookery login (stored in " + in.String() + ")"}, err
}

// credentials returns the credential store of the user, in rookery in $XDG_CONFIG_HOME or in
// ~/.config. It reads nothing.
func (n connector) credentials() (credential.Store, error) {
	dir, err := n.home("XDG_CONFIG_HOME", ".config")
	return credential.Store{Dir: filepath.Join(dir, "rookery"), NoKeyring: n.noKeyring()}, err
}

// noKeyring reports whether the machine has no keyring. On Linux and similar systems, it is reached
// over the user's session bus; asking for it without a session would start a bus.
func (n connector) noKeyring() bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" || n.app.Env("DBUS_SESSION_BUS_ADDRESS") != "" {
		return false
	}
	session := n.app.Env("XDG_RUNTIME_DIR")
	_, err := os.Stat(filepath.Join(session, "bus"))
	return session == "" || err != nil
}

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
