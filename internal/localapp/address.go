package localapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/rookeryhq/rookery/internal/fault"
)

// addressFile is the name of the address file. It is beside the database and contains the Address
// of the server of the directory. It exists only while a server or a Holder runs, or after one was
// killed. Only the owner can read it, because it contains keys.
const addressFile = "serve.json"

// An Address is the URL, the process and the keys of a server that has a data directory open.
type Address struct {
	URL  string `json:"url"` // the URL for all clients
	PID  int    `json:"pid"`
	Host string `json:"host,omitempty"` // the name of the machine, or container, of the process

	// Listener is the URL of the server's listener for programs of this machine. It is empty in a
	// file that an earlier release wrote.
	Listener string `json:"listener,omitempty"`
	// Direct reports whether the server's public URL has another name than its listener, and
	// programs of this machine may call the listener without TLS; see Direct.
	Direct bool `json:"direct,omitempty"`

	// Key is the bearer token of a Holder. It is empty if a server wrote the file.
	Key string `json:"key,omitempty"`

	Metrics string `json:"metrics,omitempty"` // the URL of the listener of the metrics

	Operator *Operator `json:"operator,omitempty"` // nil in a file that an earlier release wrote
}

// InUse is the error for a data directory, or a folder, that another process has open. A command
// uses it to make its calls through that process instead.
type InUse struct {
	Server string // the URL of its server; empty if it is no server, or does not listen yet
	Direct string // HOST:PORT of its listener, if programs of this machine must use it; see Direct
	Vault  string // the name of the folder's vault; empty for a data directory
	Key    string // the bearer token for the process if it is a Holder; otherwise empty
	PID    int    // of the process; 0 if it is unknown, or on another machine

	Operator *Operator // nil: the process has none
}

// Error returns the message of Fault.
func (e *InUse) Error() string { return e.Fault().Message }

// Fault returns UNAVAILABLE with the process that has the place, as far as it is known, and a fix.
func (e *InUse) Fault() *fault.Fault {
	what, verb, option := "the data directory", "serve the directory", dataOption
	if e.Vault != "" {
		what, verb, option = "the folder", "serve the folder", folderOption
	}
	if e.Key != "" {
		return fault.New(fault.Unavailable, "%s is open in the `rookery mcp` of an MCP client (process %d)",
			what, e.PID).Fix("end that client, and try again")
	}
	if e.Server != "" {
		f := fault.New(fault.Unavailable, "%s is served at %s", what, e.Server)
		if e.PID != 0 {
			f.Message += fmt.Sprintf(" (pid %d)", e.PID)
		}
		return f.Fix("use that server: --server %s", e.Server)
	}
	return fault.New(fault.Unavailable, "another process is using %s", what).
		Fix("wait until it has ended, or %s: rookery serve %s", verb, option)
}

// inUse returns the error for a place that another process has open. It reads the address file; if
// that cannot be read, the error says only that the place is in use.
func (p place) inUse() error {
	at, err := readAddress(p.dir)
	if err != nil {
		at = Address{}
	}
	return p.inUseAt(at)
}

// inUseAt returns the error for a place whose server has an address.
func (p place) inUseAt(at Address) *InUse {
	return &InUse{
		Server: at.URL, Direct: at.direct(), Vault: p.vault, Key: at.Key, PID: at.pid(), Operator: at.Operator,
	}
}

// readAddress reads the address file of a directory. The error is that of the file system, or of
// JSON; a file of an earlier release lacks fields, which are then zero.
func readAddress(dir string) (Address, error) {
	var at Address
	data, err := os.ReadFile(filepath.Join(dir, addressFile))
	if err == nil {
		err = json.Unmarshal(data, &at)
	}
	return at, err
}

// announce writes the address file, with the key of a Holder, and opens the listener of the
// Operator. The function that it returns removes the file and closes the listener, in this order,
// so that no program finds the address of a listener that is closed.
func (a *App) announce(ctx context.Context, l net.Listener, key string) (func(), error) {
	operator, closeOperator, err := a.operate(ctx)
	if err != nil {
		return nil, err
	}
	leave, err := a.leaveAddress(l, key, operator)
	if err != nil {
		closeOperator()
		return nil, err
	}
	return func() {
		leave()
		closeOperator()
	}, nil
}

// leaveAddress writes the address file and the listings. The function that it returns removes them.
// The file is written under another name and renamed, so that a reader never sees a part of it.
func (a *App) leaveAddress(l net.Listener, key string, operator *Operator) (func(), error) {
	at := Address{
		URL: a.URL(l), PID: os.Getpid(), Listener: a.listenerURL(l), Direct: a.takesDirect(l), Key: key,
		Operator: operator,
	}
	at.Host, _ = os.Hostname() // without a name, pid returns 0
	if m := a.door.metrics; m != nil {
		at.Metrics = "http://" + m.Addr().String()
	}
	data, err := json.Marshal(at)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(a.dir, addressFile)
	temp := path + ".new"
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return nil, fmt.Errorf("write the address of the server: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return nil, fmt.Errorf("write the address of the server: %w", err)
	}
	unlist := a.list(l, a.door.metrics)
	return func() {
		unlist()
		_ = os.Remove(path) // the next process removes a stale one
	}, nil
}

// removeStaleAddress removes the address file of a server that was killed. The caller has the lock of the
// database, so no server runs.
func (a *App) removeStaleAddress() error {
	err := os.Remove(filepath.Join(a.dir, addressFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the address of an earlier server: %w", err)
	}
	return nil
}

// Unwrap returns the fault, so that fault.Of finds it.
func (e *InUse) Unwrap() error { return e.Fault() }
