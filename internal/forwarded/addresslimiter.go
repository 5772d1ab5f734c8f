package forwarded

import (
	"net/netip"
	"sync"
)

// v6Site is the number of leading bits of an IPv6 address that identify a site, which has all
// addresses with these bits.
const v6Site = 64

// An AddressLimiter counts what each address has at once, such as connections, and limits it: to a
// quarter of the total, and to the number that would then be free for other addresses, so that the
// next address gets something. IPv6 addresses are counted by their first 64 bits. Trusted proxies
// are not limited, because all clients may come from them. It is safe for concurrent use.
type AddressLimiter struct {
	most    int
	proxies Proxies

	mu        sync.Mutex
	total     int
	byAddress map[netip.Addr]int
}

// NewAddressLimiter returns an AddressLimiter with the given total.
func NewAddressLimiter(most int, p Proxies) *AddressLimiter {
	return &AddressLimiter{most: most, proxies: p, byAddress: map[netip.Addr]int{}}
}

// Acquire counts one more for a remote address (IP:PORT) until leave is called, which may be called
// more than once. If a limit is reached, it returns false and counts nothing.
func (c *AddressLimiter) Acquire(remote string) (leave func(), ok bool) {
	from := limitKey(remote)
	c.mu.Lock()
	defer c.mu.Unlock()
	free, own := c.most-c.total-1, c.byAddress[from]+1
	if free < 0 || !c.proxies.trusted(remote) && own > 1 && own > min(c.most/4, free) {
		return nil, false
	}
	c.total++
	c.byAddress[from]++
	return sync.OnceFunc(func() { c.release(from) }), true
}

// release ends the count of one connection from an address.
func (c *AddressLimiter) release(from netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total--
	if c.byAddress[from]--; c.byAddress[from] == 0 {
		delete(c.byAddress, from)
	}
}

// limitKey returns the address by which a remote address is counted; the zero Addr if it is
// invalid.
func limitKey(remote string) netip.Addr {
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
