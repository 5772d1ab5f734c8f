package peer

import (
	"net/netip"
	"sync"
)

// v6Site is how many bits of an IPv6 address name a site, which has all addresses below it.
const v6Site = 64

// A Crowd counts what each address has at once, such as connections, and limits it: to a quarter of all,
// and to as much as would be free to the others then, so that something is left for the next address. IPv6
// addresses are counted by their first 64 bits. The proxies that are trusted have no share of their own:
// everyone comes from them. It is safe for concurrent use.
type Crowd struct {
	most    int
	proxies Proxies

	mu   sync.Mutex
	held int
	of   map[netip.Addr]int
}

// NewCrowd makes a Crowd with room for so many.
func NewCrowd(most int, p Proxies) *Crowd {
	return &Crowd{most: most, proxies: p, of: map[netip.Addr]int{}}
}

// Enter counts one more of a remote address (IP:PORT) until leave is called. It reports false, and counts
// nothing, where there is no room for it.
func (c *Crowd) Enter(remote string) (leave func(), ok bool) {
	from := site(remote)
	c.mu.Lock()
	defer c.mu.Unlock()
	free, own := c.most-c.held-1, c.of[from]+1
	if free < 0 || !c.proxies.trusted(remote) && own > 1 && own > min(c.most/4, free) {
		return nil, false
	}
	c.held++
	c.of[from]++
	return sync.OnceFunc(func() { c.leave(from) }), true
}

func (c *Crowd) leave(from netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held--
	if c.of[from]--; c.of[from] == 0 {
		delete(c.of, from)
	}
}

// site is the address that a remote address is counted by; the zero one if it is none.
func site(remote string) netip.Addr {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	addr := from.Addr().Unmap().WithZone("")
	if addr.Is6() {
		return netip.PrefixFrom(addr, v6Site).Masked().Addr()
	}
	return addr
}
