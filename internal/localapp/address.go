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

	"rookery/internal/fault"
)

// addressFile, beside the database, says where the server of the directory listens.
const addressFile = "serve.json"

// An Address is where a server that holds a data directory can be called.
type Address struct {
	URL  string `json:"url"` // by everybody
	PID  int    `json:"pid"`
	Host string `json:"host,omitempty"` // the name of the machine, or container, that the process runs on

	// Listener is the URL of its listener as this machine sees it. Empty: an earlier release wrote this.
	Listener string `json:"listener,omitempty"`
	// Direct says that it is called by a name that its listener does not have, and that programs of this
	// machine may call the listener all the same; see Direct.
	Direct bool `json:"direct,omitempty"`

	// Key is the bearer token of a Holder. Empty: a server wrote this.
	Key string `json:"key,omitempty"`

	Metrics string `json:"metrics,omitempty"` // the URL of the listener of the metrics

	Operator *Operator `json:"operator,omitempty"` // nil: an earlier release wrote this
}

// InUse says that another process holds the data directory, or the folder.
type InUse struct {
	Server string // the URL of its server; empty if it is none, or has not begun to listen
	Direct string // HOST:PORT of its listener, if that is the way from this machine; see Direct
	Vault  string // the name of the folder's vault; empty for a data directory
	Key    string // the bearer token for the process, if it is a Holder; else empty
	PID    int    // of the process; 0 if it is not known, or not on this machine

	Operator *Operator // nil: the process has none
}

// Error says what to do.
func (e *InUse) Error() string { return e.Fault().Message }

// Fault is UNAVAILABLE, with what to do.
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

// inUse is the error for a place that another process holds.
func (p place) inUse() error {
	at, err := readAddress(p.dir)
	if err != nil {
		at = Address{}
	}
	return p.inUseAt(at)
}

// inUseAt is the error for a place that is served at an address.
func (p place) inUseAt(at Address) *InUse {
	return &InUse{
		Server: at.URL, Direct: at.direct(), Vault: p.vault, Key: at.Key, PID: at.pid(), Operator: at.Operator,
	}
}

// readAddress reads where the server of a directory listens.
func readAddress(dir string) (Address, error) {
	var at Address
	data, err := os.ReadFile(filepath.Join(dir, addressFile))
	if err == nil {
		err = json.Unmarshal(data, &at)
	}
	return at, err
}

// announce leaves the address for other processes, and the key of a Holder. The function removes it.
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

// leaveAddress writes the address file, and the listings. The function removes them.
func (a *App) leaveAddress(l net.Listener, key string, operator *Operator) (func(), error) {
	at := Address{
		URL: a.URL(l), PID: os.Getpid(), Listener: a.listenerURL(l), Direct: a.takesDirect(l), Key: key,
		Operator: operator,
	}
	at.Host, _ = os.Hostname() // without one, the id of the process is not told
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
		_ = os.Remove(path) // a stale one is forgotten by the next process
	}, nil
}

// forget takes away the address that a killed server left. Who has the lock knows that nobody
// serves.
func (a *App) forget() error {
	err := os.Remove(filepath.Join(a.dir, addressFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the address of an earlier server: %w", err)
	}
	return nil
}

// Unwrap lets every caller see the fault.
func (e *InUse) Unwrap() error { return e.Fault() }
