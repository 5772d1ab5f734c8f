package peer

import (
	"io"
	"net"
	"time"
)

const (
	// refusing is how many connections are refused at once with an answer. Others are closed without one.
	refusing = 32

	// refuseTime is how long one of them may take to read its answer.
	refuseTime = time.Second
)

// A listener limits the connections that it accepts.
type listener struct {
	net.Listener
	crowd    *Crowd
	refusal  []byte
	refusing chan struct{}
}

// Listen limits the connections of a listener to those that the crowd has room for. One too many is sent the
// refusal, if there is one, and closed.
func Listen(l net.Listener, c *Crowd, refusal []byte) net.Listener {
	return &listener{l, c, refusal, make(chan struct{}, refusing)}
}

// Accept waits for the next connection that there is room for.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if leave, ok := l.crowd.Enter(conn.RemoteAddr().String()); ok {
			return &counted{conn, leave}, nil
		}
		l.refuse(conn)
	}
}

// refuse ends a connection. What its client has sent is read for a moment: a connection that is closed
// with unread bytes is reset, and the client might not see the answer.
func (l *listener) refuse(conn net.Conn) {
	select {
	case l.refusing <- struct{}{}:
	default:
		_ = conn.Close() // it is refused all the same
		return
	}
	go func() {
		defer func() { <-l.refusing }()
		defer func() { _ = conn.Close() }() // it is over
		_ = conn.SetDeadline(time.Now().Add(refuseTime))
		_, err := conn.Write(l.refusal)
		if half, ok := conn.(interface{ CloseWrite() error }); ok && err == nil && len(l.refusal) > 0 {
			_ = half.CloseWrite() // the client reads the end
			_, _ = io.CopyN(io.Discard, conn, 64<<10)
		}
	}()
}

// A counted connection gives up its place when it is closed.
type counted struct {
	net.Conn
	leave func()
}

var _ net.Conn = (*counted)(nil)

func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}

// CloseWrite ends what is sent, so that net/http can let a client read an answer to its end before it closes
// a connection of which not all was read.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
