package team

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
)

// checkPublic returns an error if a tenant must not name a URL. The URL must be https, and its host
// must be a public address or have a public name. The address to which a name resolves is checked
// when it is fetched (package auth).
//
// Otherwise a tenant could make the server send requests into the network of its operator. A name
// counts as public if it has at least two labels, and the last one is neither in local nor numeric.
// The error completes a sentence that begins with the name of the argument.
//
// An address is compared with the reserved ranges by auth.CheckURL. A name that ends with a dot is
// treated like the same name without it.
func checkPublic(text string) error {
	if !printable(text) {
		return errors.New("must be an absolute https URL")
	}
	if err := auth.CheckURL(text, true); err != nil {
		return err
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("must be an absolute https URL")
	}
	// CheckURL has checked that an IP address in the URL is public.
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return nil
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == host || local[last] || numeric.MatchString(last) {
		return errors.New("must be on the public internet")
	}
	return nil
}

// numeric matches the last label of a host that some programs parse as an IPv4 address, as in 127.1
// or 0x7f000001. Such a host is refused, because it could be an address inside the network.
var numeric = regexp.MustCompile(`^(\d+|0x[0-9a-f]*)$`)

// local contains the top-level domains that do not resolve publicly (RFC 6761, RFC 6762, RFC 8375),
// or that name different hosts in different networks.
var local = map[string]bool{
	"localhost": true, "local": true, "internal": true, "localdomain": true, "lan": true,
	"home": true, "arpa": true, "onion": true,
}
