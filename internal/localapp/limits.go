package localapp

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"time"

	"rookery/internal/config"
	"rookery/internal/fault"
	"rookery/internal/peer"
	"rookery/internal/tool"
)

const (
	// maxStreams is how many requests a connection over HTTP/2 has at once.
	maxStreams = 100

	// minReserve is how many of the files that the process may open are kept for the store, at least.
	minReserve = 128
)

// limitServer sets what the server does at once, by what its file says.
func (a *App) limitServer(c config.Config) {
	a.server = c
	a.server.MaxConnections = cmp.Or(c.MaxConnections, config.DefaultConnections)
}

// limited limits the connections of a listener, so that files are left for the store. One too many is told
// so, unless the listener has TLS: then it is closed.
func (a *App) limited(l net.Listener) net.Listener {
	most := a.server.MaxConnections
	if files, known := maxFiles(); known {
		most = min(most, connectionsOf(files))
	}
	refusal := tooMany()
	if a.door.tls != nil {
		refusal = nil
	}
	return peer.Listen(l, peer.NewCrowd(most, a.server.Proxies()), refusal)
}

// connectionsOf is how many connections there may be in a process that may open so many files. A quarter of
// them, and at least minReserve, are left for the store.
func connectionsOf(files uint64) int {
	const enough = 1 << 20
	files = min(files, enough)
	return max(1, int(files)-max(minReserve, int(files)/4)) //nolint:gosec // it is at most a million
}

// tooMany returns the answer to a connection that there is no room for, as it goes over the wire.
func tooMany() []byte {
	body := tool.Refusal(fault.New(fault.Unavailable,
		"too many connections from this address, or to this server").After(time.Second), nil)
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"+
		"Retry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// streams limits the requests of a connection over HTTP/2, and ends one that does not read, or is gone.
func streams() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams: maxStreams,
		SendPingTimeout:      time.Minute,
		PingTimeout:          15 * time.Second,
		WriteByteTimeout:     15 * time.Second,
	}
}
