package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/forwarded"
)

// hostname matches a host name in lower case.
var hostname = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)

// webURL parses the URL of a server. It must be https, or http on loopback, so that tokens cannot
// be read on their way, and must not be ambiguous. The error completes a sentence that begins with
// the name of the setting.
func webURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Opaque != "" || u.Host == "" || hasInvalidURLChars(text):
		return nil, fmt.Errorf("must be a URL such as https://notes.example.com")
	case u.User != nil || strings.Contains(text, "@"):
		return nil, fmt.Errorf("must not have a user, a password or @")
	case strings.Contains(text, "#"):
		return nil, fmt.Errorf("must not have a fragment")
	}
	host := strings.ToLower(u.Hostname())
	if !validHost(host) || !validPort(u) {
		return nil, fmt.Errorf("must name a host, and a port if it is not the usual one")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopbackHost(host)) {
		return nil, fmt.Errorf("must begin with https:// (http:// is for loopback only)")
	}
	return u, nil
}

// hasInvalidURLChars reports whether a text contains characters that are not allowed in URLs:
// spaces, control characters, characters outside ASCII, and some others that programs treat
// differently.
func hasInvalidURLChars(text string) bool {
	return strings.ContainsFunc(text, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`"<>\^`+"`{|}", c)
	})
}

// validHost reports whether a text is an IP address without a zone, or a host name in lower case.
func validHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Zone() == "" || hostname.MatchString(host)
}

// validPort reports whether the port of a URL is missing or valid. A colon without a port is not.
func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.Atoi(u.Port())
	return err == nil && n > 0 && n <= maxPort
}

// maxPort is the largest number of a port.
const maxPort = 65535

// loopbackHost reports whether a host is this machine.
func loopbackHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// origin returns the scheme, the host and the port of a URL in the form of browsers: in lower case,
// and without the default port. It has no slash at its end.
func origin(u *url.URL) string {
	host := strings.ToLower(u.Host)
	return u.Scheme + "://" + strings.TrimSuffix(host, ":"+usualPort(u))
}

// usualPort returns the default port of the scheme of a URL: 80 for http, otherwise 443.
func usualPort(u *url.URL) string {
	if u.Scheme == "http" {
		return "80"
	}
	return "443"
}

// rootURL parses the URL of a server without a path, and returns its origin, without a slash at the
// end. The errors are those of webURL, and those for a path or a query.
func rootURL(text string) (string, error) {
	u, err := webURL(text)
	switch {
	case err != nil:
		return "", err
	case u.Path != "" && u.Path != "/":
		return "", fmt.Errorf("must not have a path: the server answers at the root of its host")
	case u.RawQuery != "" || u.ForceQuery:
		return "", fmt.Errorf("must not have a query")
	}
	return origin(u), nil
}

// Hosts returns the accepted values of the header Host: the host of the public URL with its port,
// and without it if it is the default port. It returns nil if there is no public URL; the server
// then accepts the names of loopback only.
func (c Config) Hosts() []string {
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Host == "" {
		return nil
	}
	if u.Port() != "" {
		return []string{u.Host}
	}
	return []string{u.Host, u.Host + ":" + usualPort(u)}
}

// OnLoopback reports whether only programs of this machine can reach the listener. The default
// address is on loopback.
func (c Config) OnLoopback() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	return c.Listen == "" || err == nil && loopbackHost(host)
}

// Local reports whether authentication is off, so that every client is the principal `local`
// (CONTRACT §4, team). That is so only on loopback, and only if nothing is configured that is of
// use to clients elsewhere: issuers, a public URL, proxies or tokens. hasTokens reports whether the
// tenant `local` has API tokens.
func (c Config) Local(hasTokens bool) bool {
	return c.OnLoopback() && len(c.Issuers) == 0 && c.PublicURL == "" &&
		len(c.TrustedProxies) == 0 && !hasTokens
}

// Check returns a *fault.Fault, INVALID_PARAMETER, if the server must not listen on its address, or
// cannot. Elsewhere than on loopback it must authenticate callers, tokens must not be readable on
// their way, and it must have a public URL. hasTokens reports whether the tenant `local` has API
// tokens. It reports all problems at once, each with several ways to correct it.
func (c Config) Check(hasTokens bool) error {
	if c.OnLoopback() {
		return nil
	}
	if !validAddress(c.Listen) {
		return fault.New(fault.InvalidParameter, "--listen must be HOST:PORT").
			Fix("--listen 127.0.0.1:7780")
	}
	var problems []*fault.Fault
	if len(c.Issuers) == 0 && !hasTokens {
		problems = append(problems, refusal("no authentication is configured").
			Fix("add issuers, whose tokens are accepted").
			Fix("or make an API token first, while the server listens on loopback").
			Fix("or listen: 127.0.0.1:7780"))
	}
	if c.TLS == (TLS{}) && len(c.TrustedProxies) == 0 {
		problems = append(problems, refusal("tokens and notes would go over plain HTTP").
			Fix("tls: {cert: cert.pem, key: key.pem}").
			Fix("or, if a proxy terminates TLS, its address: trusted_proxies: [10.0.0.5]"))
	}
	if c.PublicURL == "" {
		problems = append(problems, refusal("the public URL of the server is not configured").
			Fix("public_url: https://notes.example.com"))
	}
	return fault.Join(fault.InvalidParameter, problems).Err()
}

// refusal returns the fault of a listener that is not on loopback.
func refusal(why string) *fault.Fault {
	return fault.New(fault.InvalidParameter, "the server can listen on loopback only: %s", why)
}

// Proxies returns the trusted proxies, for the checks of requests. Without proxies, only requests
// over TLS or from loopback are trusted.
func (c Config) Proxies() forwarded.Proxies { return forwarded.Proxies{Trusted: c.TrustedProxies} }
