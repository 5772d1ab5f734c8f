package credential

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"rookery/internal/fault"
)

// An Origin is a server as a token is bound to it: scheme, host and port, in one spelling for all that
// lead to the same place (RFC 6454 §4): lower case, without the default port, IPv6 as RFC 5952 has it.
type Origin string

// A Server is an address of a server that has been checked.
type Server struct {
	URL    string // its base, without a slash at the end
	Origin Origin
	Local  bool // it is loopback: nobody beside this machine reads what is sent
	TLS    bool
}

// Private reports whether a token may be sent there: over TLS, or within this machine.
func (s Server) Private() bool { return s.TLS || s.Local }

// ParseServer reads the address of a server: http or https, with a path if it has one, and nothing that
// names a person. It never echoes the address: there may be a secret in it.
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

// hostOf is the host of a URL, with its port unless it is the default one, and whether it is loopback.
func hostOf(u *url.URL) (host string, local bool) {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	local = host == "localhost"
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		host, local = ip.String(), ip.IsLoopback()
	}
	if port == "" || port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		return strings.TrimSuffix(net.JoinHostPort(host, ""), ":"), local
	}
	return net.JoinHostPort(host, port), local
}
