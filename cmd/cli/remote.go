package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/credential"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
)

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
