package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// isSet reports whether a key has a value, even an invalid one. name is the full name, such as
// tls.cert. A check that needs two keys uses it, so that an invalid value is not also reported as
// missing.
func (l *loader) isSet(name string) bool { _, ok := l.places[name]; return ok }

// problem reports a problem with a key, at the position of the key or of its nearest parent. The
// message is the name of the key, followed by the formatted text.
func (l *loader) problem(name, format string, args ...any) {
	l.report(l.place(name), name+" "+format, args...)
}

// checkServer checks everything except issuers and first admins. Values that were invalid when they
// were read are empty here, and are not reported twice. It normalizes URLs and origins.
func (l *loader) checkServer() {
	if l.Listen != "" && !validAddress(l.Listen) {
		l.problem("listen", "must be HOST:PORT, such as 0.0.0.0:7780")
	}
	l.checkTLS()
	l.checkProxies()
	l.checkPublicURL()
	l.checkMetrics()
	for i, text := range l.CORSOrigins {
		l.CORSOrigins[i] = l.checkOrigin("cors_origins["+strconv.Itoa(i)+"]", text)
	}
}

// validAddress reports whether a text is an address to listen on: HOST:PORT, where the host may be
// empty, an IP address or a name, and the port is a number. It does not look the name up.
func validAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 || n > maxPort || port[0] == '+' {
		return false
	}
	_, notAddr := netip.ParseAddr(host)
	return host == "" || notAddr == nil || hostname.MatchString(strings.ToLower(host))
}

// checkTLS checks that a certificate and its key are given together. Whether the files can be used
// is found by TLSConfig.
func (l *loader) checkTLS() {
	cert, key := l.isSet("tls.cert"), l.isSet("tls.key")
	switch {
	case cert && !key:
		l.problem("tls", "has a certificate and no key: add tls.key")
	case key && !cert:
		l.problem("tls", "has a key and no certificate: add tls.cert")
	case l.isSet("tls") && !cert:
		l.problem("tls", "must have cert and key")
	}
}

// checkProxies parses the networks of the proxies and adds the valid ones to TrustedProxies. A
// request from one of them may say that its client used https, so each network must be as small as
// possible.
func (l *loader) checkProxies() {
	for i, text := range l.proxies {
		if text == "" {
			continue // it was not a text
		}
		name := "trusted_proxies[" + strconv.Itoa(i) + "]"
		if p, f := network(text); f != nil {
			f.Message = name + " " + f.Message
			l.add(l.place(name), f)
		} else {
			l.TrustedProxies = append(l.TrustedProxies, p)
		}
	}
}

// The widest networks that are private: 10.0.0.0/8 and fc00::/7.
const (
	minBits4 = 8
	minBits6 = 7
)

// network parses an address, or a network as ADDRESS/BITS. IPv4 addresses in IPv6 form become IPv4.
// The fault of an invalid one has no name of a key yet. A network with bits after its prefix is
// refused, because it is unclear whether the address or the network is meant.
func network(text string) (netip.Prefix, *fault.Fault) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fault.New(fault.InvalidParameter,
			"must be an address or a network, such as 10.0.0.5 or 10.0.0.0/8")
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	widest := minBits6
	if p.Addr().Is4() {
		widest = minBits4
	}
	switch {
	case p.Bits() < widest:
		return p, fault.New(fault.InvalidParameter, "is too wide for a private network: any client in it "+
			"could claim that plain HTTP was https").
			Fix("name the addresses of the proxies, or a network that contains only them")
	case p != p.Masked():
		return p, fault.New(fault.InvalidParameter, "has bits behind the network").
			Fix("write %s for the network, or %s for the address", p.Masked(), p.Addr())
	}
	return p, nil
}

// checkPublicURL checks and normalizes the public URL. It must be https if the server has a
// certificate or trusts a proxy, because plain HTTP is then refused.
func (l *loader) checkPublicURL() {
	if l.PublicURL == "" {
		return
	}
	url, err := rootURL(l.PublicURL)
	switch {
	case err != nil:
		l.problem("public_url", "%v", err)
	case strings.HasPrefix(url, "http:") && (l.isSet("tls.cert") || l.isSet("trusted_proxies")):
		l.problem("public_url", "must begin with https://, for plain HTTP is refused with %s",
			l.encryption())
	default:
		l.PublicURL = url
	}
}

// encryption returns the key that sets how requests are encrypted, for a message: tls or
// trusted_proxies.
func (l *loader) encryption() string {
	if l.isSet("tls.cert") {
		return "tls"
	}
	return "trusted_proxies"
}

// checkMetrics checks the address of the metrics, which have no authentication: it must be on
// loopback or in a private network, and another one than that of the server.
func (l *loader) checkMetrics() {
	host, port, _ := net.SplitHostPort(l.MetricsListen)
	addr, err := netip.ParseAddr(host)
	addr = addr.Unmap()
	private := host == "localhost" || err == nil && (addr.IsLoopback() || addr.IsPrivate())
	switch {
	case l.MetricsListen == "":
	case !validAddress(l.MetricsListen):
		l.problem("metrics_listen", "must be HOST:PORT, such as 127.0.0.1:7781")
	case !private:
		l.problem("metrics_listen", "must be an address on loopback or in a private network, such as "+
			"127.0.0.1:7781 or 10.0.0.5:7781: authentication is off there")
	case l.MetricsListen == l.Listen && port != "0":
		l.problem("metrics_listen", "must be another address than listen")
	}
}

// checkOrigin checks the origin of pages that may call the server, and returns it in the form of
// browsers, because it is compared with the header Origin as a text. It returns "" after a problem.
func (l *loader) checkOrigin(name, text string) string {
	switch {
	case text == "":
		return ""
	case strings.Contains(text, "*"):
		l.problem(name, "must be one origin: with * every web page could make calls for its visitor")
		return ""
	}
	url, err := rootURL(text)
	if err != nil {
		l.problem(name, "%v", err)
	}
	return url
}
