package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"rookery/internal/clitool"
	"rookery/internal/credential"
	"rookery/internal/httptool"
)

// server is the address of the server that is meant; empty: a directory of this machine is. A place that
// the line or the environment names goes before the server of the configuration.
func (n connector) server(t clitool.Target) (string, error) {
	if t.Server != "" || t.Data != "" || t.Folder != "" {
		return t.Server, nil
	}
	store, err := n.credentials()
	if err != nil {
		return "", nil // who has no home has no configuration
	}
	usual, _, err := store.Usual()
	return usual.URL, err
}

// client calls a server, with the token of the line or the environment, else with the one that is kept
// for this server and no other.
func (n connector) client(
	ctx context.Context, t clitool.Target, server string,
) (*httptool.Client, error) {
	token, err := n.token(ctx, t, server)
	if err != nil {
		return nil, err
	}
	return &httptool.Client{
		Base: server, Token: token, Agent: t.Agent, Session: t.Session, ReadOnly: t.ReadOnly,
	}, nil
}

// token is what a server is shown.
func (n connector) token(ctx context.Context, t clitool.Target, server string) (string, error) {
	if t.Token != "" {
		return t.Token, nil
	}
	return n.kept(ctx, server)
}

// kept is the token that is kept for a server; empty if there is none.
func (n connector) kept(ctx context.Context, address string) (string, error) {
	server, err := credential.ParseServer(address)
	if err != nil || !server.Private() {
		return "", err
	}
	store, err := n.credentials()
	if err != nil {
		return "", nil // who has no home has no credentials
	}
	return store.Token(ctx, server.Origin)
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
