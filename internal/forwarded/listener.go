package forwarded

import (
	"io"
	"net"
	"time"
)

const (
	// maxRefusals is how many connections are refused with an answer at once. Others are closed
	// without one.
	maxRefusals = 32

	// refuseTime is the timeout of the answer to a refused connection.
	refuseTime = time.Second
)

// A listener limits the connections that it accepts.
type listener struct {
	net.Listener
	limiter  *AddressLimiter
	refusal  []byte
	refusing chan struct{}
}

// Listen returns a listener that accepts only connections that the AddressLimiter has room for. It
// sends the refusal to other connections, unless it is empty, and closes them.
func Listen(l net.Listener, c *AddressLimiter, refusal []byte) net.Listener {
	return &listener{l, c, refusal, make(chan struct{}, maxRefusals)}
}

// Accept waits for the next connection that is accepted.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if leave, ok := l.limiter.Acquire(conn.RemoteAddr().String()); ok {
			return &limitedConn{conn, leave}, nil
		}
		l.refuse(conn)
	}
}

// refuse closes a connection after it has sent the refusal. It reads some data of the client,
// because a connection that is closed with unread bytes is reset, and the client might not receive
// the answer.
func (l *listener) refuse(conn net.Conn) {
	select {
	case l.refusing <- struct{}{}:
	default:
		_ = conn.Close() // the connection is refused without an answer
		return
	}
	go func() {
		defer func() { <-l.refusing }()
		defer func() { _ = conn.Close() }() // the answer was sent, or has failed
		_ = conn.SetDeadline(time.Now().Add(refuseTime))
		_, err := conn.Write(l.refusal)
		if half, ok := conn.(interface{ CloseWrite() error }); ok && err == nil && len(l.refusal) > 0 {
			_ = half.CloseWrite() // the client sees the end of the answer
			_, _ = io.CopyN(io.Discard, conn, 64<<10)
		}
	}()
}

// A limitedConn is a connection that leaves the AddressLimiter when it is closed.
type limitedConn struct {
	net.Conn
	leave func()
}

var _ net.Conn = (*limitedConn)(nil)

func (c *limitedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// CloseWrite closes the writing side, so that net/http can let a client read a whole answer before
// it closes a connection with unread data.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
