package localapp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"rookery/internal/fault"
)

// addressFile, beside the database, says where the server of the directory listens.
const addressFile = "serve.json"

// An Address is where a server that holds a data directory can be called.
type Address struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
}

// InUse says that another process holds the data directory, or the folder.
type InUse struct {
	Server string // the URL of its server; empty if it is none, or has not begun to listen
	Vault  string // the name of the folder's vault; empty for a data directory
}

// Error says what to do.
func (e *InUse) Error() string { return e.Fault().Message }

// Fault is UNAVAILABLE, with what to do.
func (e *InUse) Fault() *fault.Fault {
	what, verb, option := "the data directory", "serve the directory", dataOption
	if e.Vault != "" {
		what, verb, option = "the folder", "serve the folder", folderOption
	}
	if e.Server != "" {
		return fault.New(fault.Unavailable, "%s is served at %s", what, e.Server).
			Fix("use that server: --server %s", e.Server)
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
	return &InUse{Server: at.URL, Vault: p.vault}
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

// announce leaves the address for other processes. The function takes it away.
func (a *App) announce(url string) (func(), error) {
	data, err := json.Marshal(Address{URL: url, PID: os.Getpid()})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(a.dir, addressFile)
	temp := path + ".new"
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return nil, fmt.Errorf("leave the address of the server: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return nil, fmt.Errorf("leave the address of the server: %w", err)
	}
	return func() { _ = os.Remove(path) }, nil // a stale one is forgotten by the next process
}

// forget takes away the address that a killed server left. Who has the lock knows that nobody
// serves.
func (a *App) forget() error {
	err := os.Remove(filepath.Join(a.dir, addressFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the address of an earlier server: %w", err)
	}
	return nil
}

// Unwrap lets every caller see the fault.
func (e *InUse) Unwrap() error { return e.Fault() }
