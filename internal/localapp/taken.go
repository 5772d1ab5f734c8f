package localapp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A listing is the content of the file that names the directory of the server on a port. The file
// belongs to the user who runs the server. It can be stale, so it is compared with the address file
// in that directory. It contains nothing secret.
type listing struct {
	Dir   string `json:"dir"`   // the directory with the address file
	Place string `json:"place"` // the data directory, or the folder, as the user named it
}

// listed returns the path of the listing of a port.
func listed(servers, port string) string { return filepath.Join(servers, port+".json") }

// list writes a listing for each port that the server listens on; nil listeners are skipped. The
// function that it returns removes them. Listings only improve an error message, so errors are
// ignored: the user of a server may have no home directory.
func (a *App) list(listeners ...net.Listener) (remove func()) {
	data, err := json.Marshal(listing{Dir: absolute(a.dir), Place: absolute(a.shown)})
	if err != nil || a.servers == "" || os.MkdirAll(a.servers, 0o700) != nil {
		return func() {}
	}
	var files []string
	for _, l := range listeners {
		if l == nil {
			continue
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		file := listed(a.servers, port)
		if os.WriteFile(file, data, 0o600) == nil {
			files = append(files, file)
		}
	}
	return func() {
		for _, file := range files {
			_ = os.Remove(file) // a stale one is recognised
		}
	}
}

// absolute returns the absolute path, or path itself if the working directory is unknown.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// An address is an address to listen on, and the option that sets it, for messages. The zero value
// of servers means that no other server is looked up.
type address struct {
	hostport string
	option   string // the option, for a fix with another address
	servers  string // the directory of listings; empty if there is none
}

// listen opens a listener. Its error is a fault with the reason, and with the program that has the
// address if it is in use: INVALID_PARAMETER for an address that this user or machine cannot have,
// otherwise UNAVAILABLE.
func (a address) listen(ctx context.Context) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.hostport)
	var name *net.DNSError
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, a.taken(ctx).Because(err)
	case errors.Is(err, syscall.EACCES):
		return nil, fault.New(fault.InvalidParameter, "%s: this user has no permission to listen on that "+
			"port",
			a.hostport).Fix("choose a port above 1023: %s %s", a.option, DefaultListen).Because(err)
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.As(err, &name):
		return nil, fault.New(fault.InvalidParameter, "%s is not an address of this machine", a.hostport).
			Fix("%s %s", a.option, DefaultListen).Because(err)
	}
	return nil, fault.New(fault.Unavailable, "%s cannot be listened on", a.hostport).
		Fix("%s", a.free()).Because(err)
}

// free returns the fix to listen on another port.
func (a address) free() string {
	return fmt.Sprintf("choose another port, or 0 for a free one: %s 127.0.0.1:0", a.option)
}

// taken returns the fault for an address that is in use. It names the server of this user that is
// listed for the port, if it answers; otherwise it asks the port itself whether it is a Rookery
// server.
func (a address) taken(ctx context.Context) *fault.Fault {
	in := fault.New(fault.Unavailable, "%s: address already in use, by ", a.hostport)
	at, place := a.server()
	switch {
	case at.alive(ctx):
		in.Message += "a Rookery server on " + place + at.process()
	case healthy(ctx, a.hostport):
		in.Message += "a Rookery server"
	default:
		in.Message += "another program"
	}
	return in.Fix("%s", a.free())
}

// server returns the server of this user that is listed for the port, and its place as near returns
// it. It returns a zero Address if none is listed, or if the listing is stale: the server in that
// directory has another port now.
func (a address) server() (Address, string) {
	_, port, _ := net.SplitHostPort(a.hostport)
	data, err := os.ReadFile(listed(a.servers, port))
	var l listing
	if a.servers == "" || err != nil || json.Unmarshal(data, &l) != nil {
		return Address{}, ""
	}
	at, err := readAddress(l.Dir)
	if err != nil || portOf(at.Listener) != port && portOf(at.Metrics) != port {
		return Address{}, ""
	}
	return at, displayPath(l.Place)
}

// portOf returns the port in a URL, or "" if there is none.
func portOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Port()
}

// displayPath returns a path as its user would write it: relative to the working directory, else to the
// home directory, else only its last part. It is never absolute, because messages may be copied
// into reports.
func displayPath(path string) string {
	here, _ := os.Getwd()
	home, _ := os.UserHomeDir()
	for _, from := range []struct{ dir, prefix string }{{here, "./"}, {home, "~/"}} {
		rest, err := filepath.Rel(cmp.Or(from.dir, "?"), path)
		switch {
		case err != nil || rest == ".." || strings.HasPrefix(rest, ".."+string(filepath.Separator)):
			continue
		case rest == ".":
			return strings.TrimSuffix(from.prefix, "/")
		}
		return from.prefix + filepath.ToSlash(rest)
	}
	return filepath.Base(path)
}

// process returns the process id of a server in parentheses, or "" if the server is on another
// machine.
func (at Address) process() string {
	if pid := at.pid(); pid != 0 {
		return fmt.Sprintf(" (pid %d)", pid)
	}
	return ""
}

// pid returns the process id of the server, or 0 if it ran on another machine or in a container,
// where the number means another process.
func (at Address) pid() int {
	if host, err := os.Hostname(); err != nil || host != at.Host {
		return 0
	}
	return at.PID
}

// healthy reports whether the program that listens on an address answers /healthz as a Rookery
// server does. That page contains no other information about the server. It is asked over plain
// HTTP, with a short timeout and a small limit of the answer, because any program may be there.
func healthy(ctx context.Context, hostport string) bool {
	host, port, err := net.SplitHostPort(hostport)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	page := "http://" + net.JoinHostPort(host, port) + "/healthz"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return false
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	var answer struct {
		OK   bool
		Data struct{ Status string }
	}
	return err == nil && json.Unmarshal(data, &answer) == nil && answer.OK &&
		answer.Data.Status == "healthy"
}
