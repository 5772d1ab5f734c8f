package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Limits of responses of an issuer.
const (
	maxBody = 1 << 20 // bytes
	maxKeys = 100     // keys in a set, including unusable ones
)

// CheckURL returns an error for an unacceptable URL of an issuer. It must be https and contain no
// user, @ or fragment, which could disguise the server. http is accepted for loopback, unless
// public is set; with public, an IP address in the URL must be a public one. The addresses of a
// host name are checked when a connection is made.
func CheckURL(text string, public bool) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" ||
		strings.ContainsAny(text, "@\\ ") {
		return errors.New("must be an absolute https URL without user, @ and fragment")
	}
	addr, err := netip.ParseAddr(u.Hostname())
	literal := err == nil
	switch {
	case public && u.Scheme != "https":
		return errors.New("must be https")
	case public && (u.Hostname() == "localhost" || literal && !isPublic(addr)):
		return errors.New("must be on the public internet")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && (u.Hostname() == "localhost" || literal && addr.IsLoopback()):
		return nil
	}
	return errors.New("must be https, or http on loopback")
}

// A fetcher fetches the keys of issuers. Its clients are for issuers of the server's configuration,
// and for those that tenants set. The URL of the latter comes from a customer, so the client for
// them refuses every address inside the network of the server, and uses no proxy, which would
// resolve the name itself. It is safe for concurrent use.
type fetcher struct {
	trusted, public *http.Client
}

// newFetcher returns a fetcher with the client of o for public addresses, or with one of its own.
func newFetcher(o Options) fetcher {
	public := cmp.Or(o.Public, &http.Client{Transport: transport(publicOnly, nil)})
	return fetcher{
		trusted: careful(&http.Client{Transport: transport(nil, http.ProxyFromEnvironment)}),
		public:  careful(public),
	}
}

// careful returns a client without cookies that follows no redirects: the keys must be at the URL
// of the issuer.
func careful(c *http.Client) *http.Client {
	return &http.Client{
		Transport: c.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// transport returns a transport with few and short-lived connections.
func transport(
	control func(string, string, syscall.RawConn) error, proxy func(*http.Request) (*url.URL, error),
) *http.Transport {
	dialer := &net.Dialer{Timeout: fetchTime / 2, Control: control}
	return &http.Transport{
		Proxy: proxy, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: fetchTime / 2, MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConns: 16, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
	}
}

// publicOnly refuses a connection to an address that is not public. It gets the address after name
// resolution, so that DNS rebinding has no effect.
func publicOnly(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(to.Addr()) {
		return errors.New("is not on the public internet")
	}
	return nil
}

// notPublic are the special-purpose address ranges (IANA registries), including those that embed an
// IPv4 address, and one public address that a cloud provider uses for its machines.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
	"192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/3", "168.63.129.16/32",
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)

// global is the allocated global unicast space of IPv6. Everything outside is local, multicast, or
// embeds an IPv4 address.
var global = netip.MustParsePrefix("2000::/3")

// prefixes parses address prefixes, which must be valid.
func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// isPublic reports whether an address is reachable on the public internet. An IPv4 address in IPv6
// form counts as the IPv4 address. When in doubt it returns false.
func isPublic(addr netip.Addr) bool {
	addr = addr.Unmap()
	for _, p := range notPublic {
		if p.Contains(addr) {
			return false
		}
	}
	return addr.Is4() || global.Contains(addr) && addr.Zone() == ""
}

// keys fetches the current keys of the source.
func (f fetcher) keys(ctx context.Context, s source) ([]key, error) {
	where, err := f.keysURL(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("find the keys of %s: %w", s.issuer, err)
	}
	body, err := f.get(ctx, s, where)
	if err != nil {
		return nil, fmt.Errorf("fetch the keys of %s: %w", s.issuer, err)
	}
	served, err := keysIn(body)
	if err != nil {
		return nil, fmt.Errorf("read the keys of %s: %w", s.issuer, err)
	}
	return served, nil
}

// keysURL returns the URL of the source's keys: the configured one, or that in the first metadata
// document which is valid for the issuer (RFC 8414 §3, OpenID Connect Discovery §4).
func (f fetcher) keysURL(ctx context.Context, s source) (string, error) {
	if s.jwks != "" {
		return s.jwks, nil
	}
	u, err := url.Parse(s.issuer)
	if err != nil {
		return "", errors.New("invalid issuer URL")
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	base := u.Scheme + "://" + u.Host
	problem := error(nil)
	for _, place := range []string{
		base + "/.well-known/oauth-authorization-server" + path,
		base + path + "/.well-known/openid-configuration",
	} {
		jwks, err := f.metadata(ctx, s, place)
		if err == nil {
			return jwks, nil
		}
		problem = err
	}
	return "", problem
}

// metadata returns the jwks_uri of a metadata document. The document must name the issuer exactly
// (RFC 8414 §3.3), and for an https issuer the keys must be at https too.
func (f fetcher) metadata(ctx context.Context, s source, place string) (string, error) {
	body, err := f.get(ctx, s, place)
	if err != nil {
		return "", err
	}
	var m struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return "", errors.New("its metadata is not a JSON object")
	}
	if m.Issuer != s.issuer {
		return "", errors.New("its metadata is of another issuer")
	}
	if strings.HasPrefix(s.issuer, "https:") && !strings.HasPrefix(m.JWKS, "https:") {
		return "", errors.New("its metadata names keys that are not at https")
	}
	return m.JWKS, nil
}

// get fetches a document of the source, of at most maxBody bytes. Every URL is checked, also those
// that a metadata document names. Any status but 200 is an error, redirects included.
func (f fetcher) get(ctx context.Context, s source, place string) ([]byte, error) {
	if err := CheckURL(place, s.public); err != nil {
		return nil, fmt.Errorf("the URL %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return nil, errors.New("the URL cannot be asked")
	}
	req.Header.Set("Accept", "application/json")
	client := f.trusted
	if s.public {
		client = f.public
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("the answer is longer than %d bytes", maxBody)
	}
	return body, err
}
