package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"rookery/internal/clitool"
	"rookery/internal/credential"
	"rookery/internal/fault"
	"rookery/internal/httptool"
)

// server is the address of the server that is meant; empty: a directory of this machine is. A place that
// the line or the environment names goes before the server of the configuration.
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
		return "", nil // who has no home has no configuration
	}
	usual, _, err := store.Usual()
	return usual.URL, err
}

// from says of a fault which flag or variable gave the value that it is about.
func from(err error, source string) error {
	if err == nil || source == "" {
		return err
	}
	f := *fault.Of(err)
	f.Message = source + ": " + f.Message
	return &f
}

// client calls a server, with the token of the line or the environment, else with the one that is kept
// for this server and no other.
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

// named is where the address of a server is from, if that is not on the line.
func named(t clitool.Target) string {
	switch {
	case t.InEnvironment("server"):
		return t.From["server"]
	case t.Server == "":
		return "config.yaml, written by rookery login"
	}
	return ""
}

// token is what a server is shown.
func (n connector) token(ctx context.Context, t clitool.Target, server string) (string, error) {
	p, err := n.proof(ctx, t, server)
	return p.token, err
}

// A proof is a token, where it is from, and what to do where it is refused.
type proof struct{ token, from, renew string }

// proof is the token of the line or the environment, else the one that is kept for a server; empty if there
// is none.
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
		return proof{}, nil // who has no home has no credentials
	}
	token, in, err := store.Token(ctx, server.Origin)
	return proof{token: token, from: "rookery login (stored in " + in.String() + ")"}, err
}

// credentials are those of the person who runs the program.
func (n connector) credentials() (credential.Store, error) {
	dir, err := n.home("XDG_CONFIG_HOME", ".config")
	return credential.Store{Dir: filepath.Join(dir, "rookery"), NoKeyring: n.noKeyring()}, err
}

// noKeyring reports that the machine has no keyring: on Linux and its like it is reached over the bus of
// the person's session. To ask without one would start a bus.
func (n connector) noKeyring() bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" || n.app.Env("DBUS_SESSION_BUS_ADDRESS") != "" {
		return false
	}
	session := n.app.Env("XDG_RUNTIME_DIR")
	_, err := os.Stat(filepath.Join(session, "bus"))
	return session == "" || err != nil
}
