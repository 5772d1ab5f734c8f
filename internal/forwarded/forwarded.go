// Package forwarded reports whether a request was private on its way: it came over TLS, to this server
// or to a trusted proxy, or from a program of the same machine.
package forwarded

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Forwarded is the header in which a proxy reports the scheme of the request that it received.
// Private is its value for TLS.
const (
	Forwarded = "X-Forwarded-Proto"
	Private   = "https"
)

// Proxies are the machines whose Forwarded header is trusted. The zero value trusts none; requests
// to a listener on loopback are then private, because they never left the machine.
type Proxies struct{ Trusted []netip.Prefix }

// Check returns nil for a request that came over TLS to the listener, or from a trusted proxy with
// exactly one header `X-Forwarded-Proto: https`; and, if no proxy is trusted, for a request to a
// listener on loopback. Otherwise it returns PERMISSION_DENIED. It ignores the header of all other
// clients.
func (p Proxies) Check(r *http.Request) *fault.Fault {
	switch {
	case r.TLS != nil, len(p.Trusted) == 0 && onLoopback(r):
		return nil
	case !p.trusted(r.RemoteAddr):
		return fault.New(fault.PermissionDenied, "plain HTTP is not accepted here").
			Fix("call the server by its https:// address")
	}
	said := r.Header.Values(Forwarded)
	switch {
	case len(said) > 1 || len(said) == 1 && strings.Contains(said[0], ","):
		return fault.New(fault.PermissionDenied,
			"%s has more than one value, and counts only with the one of the proxy itself", Forwarded).
			Fix("let the proxy replace the header that it receives")
	case len(said) == 0 || !strings.EqualFold(strings.TrimSpace(said[0]), Private):
		return fault.New(fault.PermissionDenied,
			"plain HTTP is not accepted here, and the proxy does not say that it was asked over https").
			Fix("call the server by its https:// address").
			Fix("let the proxy set %s: https", Forwarded)
	}
	return nil
}

// trusted reports whether a remote address (IP:PORT) is that of a trusted proxy.
func (p Proxies) trusted(remote string) bool {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	addr := from.Addr().Unmap().WithZone("")
	for _, t := range p.Trusted {
		if unmapped(t).Contains(addr) {
			return true
		}
	}
	return false
}

// unmapped returns a network of IPv4 addresses in IPv6 notation as a network of IPv4 addresses, and
// any other network unchanged.
func unmapped(p netip.Prefix) netip.Prefix {
	const mapped = 96 // bits in front of the IPv4 address
	if p.Addr().Is4In6() && p.Bits() >= mapped {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
	}
	return p
}

// onLoopback reports whether a request came to a loopback address of this machine.
func onLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap().IsLoopback()
}
