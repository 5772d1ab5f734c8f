package forwarded_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/forwarded"
)

// enters counts how many of an address a crowd has room for.
func enters(t *testing.T, c *forwarded.AddressLimiter, addr string) (leave []func()) {
	t.Helper()
	for range 10_000 {
		l, ok := c.Acquire(addr)
		if !ok {
			return leave
		}
		leave = append(leave, l)
	}
	require.Fail(t, "nothing is refused")
	return nil
}

// TestCrowd holds that one address has a quarter, that many leave something for the next, and that a network
// of IPv6, which one machine may have whole, is one address.
func TestCrowd(t *testing.T) {
	c := forwarded.NewAddressLimiter(100, forwarded.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.9/32")}})
	first := enters(t, c, "192.0.2.1:1")
	require.Len(t, first, 25)
	for n := range 3 {
		enters(t, c, fmt.Sprintf("[2001:db8::%d]:1", n))
	}
	require.Len(t, enters(t, c, "[2001:db8:0:1::]:1"), 25, "another network")
	require.Len(t, enters(t, c, "192.0.2.3:1"), 12, "as much as it leaves to others")
	require.Len(t, enters(t, c, "192.0.2.4:1"), 6)
	require.Len(t, enters(t, c, "192.0.2.5:1"), 3)
	proxy := enters(t, c, "10.0.0.9:1")
	require.Len(t, proxy, 4, "a proxy has all that there is")
	require.Empty(t, enters(t, c, "192.0.2.6:1"))
	for range 2 {
		first[0]() // only the first call counts
	}
	require.Len(t, enters(t, c, "192.0.2.6:1"), 1)
}

// TestNobodyIsLeftOut holds that however few places there are, one address has one.
func TestNobodyIsLeftOut(t *testing.T) {
	require.Len(t, enters(t, forwarded.NewAddressLimiter(1, forwarded.Proxies{}), "192.0.2.1:1"), 1)
	require.Len(t, enters(t, forwarded.NewAddressLimiter(3, forwarded.Proxies{}), "not an address"), 1)
}

// TestListen holds that a connection too many is told so and closed, and that one that ends leaves its place.
func TestListen(t *testing.T) {
	for _, refusal := range []string{"", "HTTP/1.1 503 Service Unavailable\r\n\r\n"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		limited := forwarded.Listen(l, forwarded.NewAddressLimiter(8, forwarded.Proxies{}), []byte(refusal))
		accepted := make(chan net.Conn, 8)
		go func() {
			defer close(accepted)
			for {
				conn, err := limited.Accept()
				if err != nil {
					return
				}
				accepted <- conn
			}
		}()
		dial := func() net.Conn {
			conn, err := net.Dial("tcp", l.Addr().String())
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
			return conn
		}
		dial()
		dial()
		one, two := <-accepted, <-accepted
		third := dial()
		_, _ = io.WriteString(third, "GET / HTTP/1.1\r\n\r\n") // it may be closed already
		got, _ := io.ReadAll(third)                            // an end, or a reset where nothing is said
		require.Equal(t, refusal, string(got))
		require.NoError(t, one.Close())
		_ = one.Close() // which is no place more
		dial()
		require.NotNil(t, <-accepted)
		fifth := dial()
		got, _ = io.ReadAll(fifth)
		require.Equal(t, refusal, string(got))
		require.NoError(t, two.Close())
		require.NoError(t, limited.Close())
	}
}
