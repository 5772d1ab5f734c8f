package localapp

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/forwarded"
	"github.com/rookeryhq/rookery/internal/tool"
)

const (
	// maxStreams is the largest number of concurrent requests of one HTTP/2 connection.
	maxStreams = 100

	// minReserve is the smallest number of open files that are reserved for the store.
	minReserve = 128
)

// limitServer sets the configuration of the server, with the default of MaxConnections.
func (a *App) limitServer(c config.Config) {
	a.server = c
	a.server.MaxConnections = cmp.Or(c.MaxConnections, config.DefaultConnections)
}

// limited limits the connections of a listener, so that enough open files are left for the store.
// One connection too many gets the answer 503, or is closed at once if the listener has TLS,
// because an answer would need a handshake first. The limit also applies to each address
// separately; see forwarded.NewAddressLimiter.
func (a *App) limited(l net.Listener) net.Listener {
	most := a.server.MaxConnections
	if files, known := maxFiles(); known {
		most = min(most, connectionsOf(files))
	}
	refusal := tooMany()
	if a.door.tls != nil {
		refusal = nil
	}
	return forwarded.Listen(l, forwarded.NewAddressLimiter(most, a.server.Proxies()), refusal)
}

// connectionsOf returns the largest number of connections of a process that may have that many open
// files: all but a quarter, and all but minReserve, but at least 1. With 1,024 files it is 768.
func connectionsOf(files uint64) int {
	const enough = 1 << 20
	files = min(files, enough)
	return max(1, int(files)-max(minReserve, int(files)/4)) //nolint:gosec // it is at most a million
}

// tooMany returns the complete HTTP response for a connection above the limit. It is sent without
// reading the request, so it has no request id, and the connection is closed after it.
func tooMany() []byte {
	body := tool.Refusal(fault.New(fault.Unavailable,
		"too many connections from this address, or to this server").After(time.Second), nil)
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"+
		"Retry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// streams returns HTTP/2 limits: the concurrent requests of a connection, and the timeouts after
// which a connection whose client does not read, or has gone, is closed. HTTP/1 connections have
// the timeouts of newServer.
func streams() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams: maxStreams,
		SendPingTimeout:      time.Minute,
		PingTimeout:          15 * time.Second,
		WriteByteTimeout:     15 * time.Second,
	}
}
