package credential

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// An Origin is the scheme, host and port of a server, to which a token is bound. It is normalized,
// so that equal origins have equal strings (RFC 6454 §4): in lower case, without the default port,
// with IPv6 addresses as in RFC 5952.
type Origin string

// A Server is the checked address of a server.
type Server struct {
	URL    string // base URL, without a trailing slash
	Origin Origin
	Local  bool // loopback: the data does not leave this machine
	TLS    bool // the scheme is https
}

// Private reports whether a token may be sent to the server: over TLS, or within this machine.
func (s Server) Private() bool { return s.TLS || s.Local }

// ParseServer parses the address of a server: an http or https URL, optionally with a path, without
// user, query or fragment. Errors do not contain the address, because it may contain a secret.
func ParseServer(address string) (Server, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return Server{}, fault.New(fault.InvalidParameter, "invalid server URL: it must begin with "+
			"https:// or http://").Fix("https://memory.example.test")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return Server{}, fault.New(fault.InvalidParameter, "invalid server URL: it must have no name "+
			"or password, and no ? or #").Fix("https://memory.example.test")
	}
	host, local := hostOf(u)
	s := Server{Origin: Origin(u.Scheme + "://" + host), Local: local, TLS: u.Scheme == "https"}
	s.URL = string(s.Origin) + strings.TrimRight(u.EscapedPath(), "/")
	return s, nil
}

// hostOf returns the normalized host of a URL, with its port unless it is the default one, and
// whether it is loopback.
func hostOf(u *url.URL) (host string, local bool) {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	local = host == "localhost"
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		host, local = ip.String(), ip.IsLoopback()
	}
	if port == "" || port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		// JoinHostPort adds the brackets of an IPv6 address.
		return strings.TrimSuffix(net.JoinHostPort(host, ""), ":"), local
	}
	return net.JoinHostPort(host, port), local
}
