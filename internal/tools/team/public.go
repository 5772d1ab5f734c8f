package team

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
)

// checkPublic is what is wrong with a URL that a tenant may name: it must be https, on a host that has a
// public name. To which address the name leads is checked when it is asked (auth).
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
	if _, err := netip.ParseAddr(u.Hostname()); err == nil { // a public one, as CheckURL has seen
		return nil
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == host || local[last] || numeric.MatchString(last) {
		return errors.New("must be on the public internet")
	}
	return nil
}

// numeric is the end of a host that some programs read as an IPv4 address: 127.1, 0x7f000001.
var numeric = regexp.MustCompile(`^(\d+|0x[0-9a-f]*)$`)

// local are the top-level names that lead to nothing public (RFC 6761, RFC 6762, RFC 8375), or that no
// two networks have in common.
var local = map[string]bool{
	"localhost": true, "local": true, "internal": true, "localdomain": true, "lan": true,
	"home": true, "arpa": true, "onion": true,
}
