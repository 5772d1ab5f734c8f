package httptool

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"rookery/internal/fault"
)

// keepsSecrets refuses an address to which a token would go in the clear, or in which there is a
// password, before anything is sent.
func (c *Client) keepsSecrets(u *url.URL) error {
	switch {
	case u.User != nil:
		return fault.New(fault.InvalidParameter, "the address of the server has a name or a password in it").
			Fix("leave it out, and log in: rookery login --server %s --token -", c.address())
	case c.Token != "" && u.Scheme != "https" && !isLoopback(u.Hostname()):
		return fault.New(fault.InvalidParameter, "a token is not sent to %s without TLS: whoever is on "+
			"the way could use it", u.Host).
			Fix("use https://%s, if the server has it", u.Host).
			Fix("or call without a token")
	}
	return nil
}

// isLoopback reports whether a host is this machine, whatever a name server says.
func isLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// unreached is the fault of a request that no answer came to. One that was not sent had no effect.
func (c *Client) unreached(err error, sent bool) error {
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	switch {
	case errors.As(err, &certificate):
		return c.unproved(certificate)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fault.New(fault.Unavailable, "%s does not speak TLS", c.host()).
			Fix("check the address of the server").Because(err)
	case errors.As(err, &alert):
		return c.silent("no TLS connection").Because(err)
	case errors.As(err, &dial) && dial.Op == "dial" && !errors.Is(err, context.Canceled):
		return c.silent(undialled(err)).Because(err)
	case !sent:
		return fault.New(fault.Unavailable, "no connection to %s could be made: the request was not sent",
			c.host()).Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Unavailable, "%s did not answer in time: outcome unknown", c.address()).
			Fix("repeat with the same idempotency key").Because(err)
	}
	return fault.New(fault.Unavailable,
		"the connection to %s ended before the answer: outcome unknown", c.host()).
		Fix("repeat with the same idempotency key").Because(err)
}

// silent is the fault of a server that no connection could be made to, and why.
func (c *Client) silent(reason string) *fault.Fault {
	f := fault.New(fault.Unavailable, "no answer from %s (%s)", c.address(), reason)
	if c.Named != "" {
		f.Message += "; the address is from " + c.Named
	}
	return f.Fix("%s", c.start())
}

// undialled says in a few words why a connection could not be made.
func undialled(err error) string {
	var name *net.DNSError
	var slow net.Error
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return "no such host"
	case errors.As(err, &name):
		return "the name of the host could not be looked up"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to the host"
	case errors.As(err, &slow) && slow.Timeout():
		return "timed out"
	}
	return "no connection"
}

// usual is where a server listens that is not told where.
const usual = "127.0.0.1:7780"

// start is what to do where no server answers: start it, if it is on this machine.
func (c *Client) start() string {
	u, err := url.Parse(c.Base)
	switch {
	case err != nil || !isLoopback(u.Hostname()) || u.Scheme != "http" || u.Port() == "":
		return "check the address, or ask the person who runs the server"
	case u.Host == usual:
		return "start a server: rookery serve"
	}
	return "start a server: rookery serve --listen " + u.Host
}

// host is the server without what a URL may hold beside it.
func (c *Client) host() string {
	u, err := url.Parse(c.Base)
	if err != nil {
		return "the given address"
	}
	return cmp.Or(u.Host, "the given address")
}

// address is the address of the server as a person writes it, without what is secret.
func (c *Client) address() string {
	u, err := url.Parse(c.Base)
	if err != nil || u.Host == "" {
		return "URL"
	}
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(u.EscapedPath(), "/")
}

// unknown is the fault of a server that does not know who calls, which says where the token is from and how
// to log in. Given is the one that it answered.
func (c *Client) unknown(given *fault.Fault) *fault.Fault {
	token := "the token that was sent"
	if c.Shown != "" {
		token = "the token from " + c.Shown
	}
	f := fault.New(fault.Unauthenticated, "%s does not accept %s: it is revoked, or of another server",
		c.host(), token)
	switch {
	case c.Token == "":
		f.Message = c.host() + " has to know who calls, and no token was sent"
	case given.Code == fault.TokenExpired:
		f.Code, f.Message = given.Code, fmt.Sprintf("%s has expired; it was sent to %s", token, c.host())
	}
	f.RequestID = given.RequestID
	if c.Renew != "" {
		f = f.Fix("%s", c.Renew)
	}
	return f.Fix("rookery login --server %s --token -", c.address())
}

// strange is the fault of an answer that no server of ours gives. One before it may have refused the
// call, and say when to try again.
func (c *Client) strange(a Answer) *fault.Fault {
	cause := fmt.Errorf("answer of status %d", a.Status)
	f := fault.New(fault.Unavailable, "%s answered with status %d, and not as Rookery does", c.host(),
		a.Status).Fix("check the address of the server")
	switch a.Status {
	case http.StatusUnauthorized:
		f = c.unknown(fault.New(fault.Unauthenticated, ""))
	case http.StatusTooManyRequests:
		f = fault.New(fault.RateLimited, "%s takes no more calls for now", c.host())
	case http.StatusRequestEntityTooLarge: // of a gateway in front of the server
		f = fault.New(fault.BatchTooLarge, "the call is larger than %s takes", c.host()).
			Fix("send less at once")
		f.BodyTooLarge = true
	}
	return f.After(retryAfter(a.Header)).Because(cause)
}

// retryAfter is how long an answer asks to wait, in seconds and up to an hour; 0: it does not say.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 3600)) * time.Second
}
