package httptool

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// keepsSecrets returns INVALID_PARAMETER if a token would be sent in clear text, or if the address
// contains a user name or a password. It is called before anything is sent. On loopback a token may
// be sent without TLS.
func (c *Client) keepsSecrets(u *url.URL) error {
	switch {
	case u.User != nil:
		return fault.New(fault.InvalidParameter, "the server URL contains a user name or a password").
			Fix("leave it out, and log in: rookery login --server %s --token -", c.address())
	case c.Token != "" && u.Scheme != "https" && !isLoopback(u.Hostname()):
		return fault.New(fault.InvalidParameter, "a token is not sent to %s without TLS: it "+
			"could be intercepted", u.Host).
			Fix("use https://%s, if the server supports it", u.Host).
			Fix("or call without a token")
	}
	return nil
}

// isLoopback reports whether a host is certainly this machine, without a name lookup. The answer of
// a lookup could be that of an attacker, and a token would be sent there.
func isLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// requestFault returns the fault of a request without an answer: UNAVAILABLE, with the reason and
// what to do. A request that was not sent (sent is false) had no effect. For one that was sent, the
// outcome is unknown, and the fix is to repeat it with the same idempotency key.
func (c *Client) requestFault(err error, sent bool) error {
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	switch {
	case errors.As(err, &certificate):
		return c.certificateFault(certificate)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fault.New(fault.Unavailable, "%s does not speak TLS", c.host()).
			Fix("check the address of the server").Because(err)
	case errors.As(err, &alert):
		return c.silent("no TLS connection").Because(err)
	case errors.As(err, &dial) && dial.Op == "dial" && !errors.Is(err, context.Canceled):
		return c.silent(dialReason(err)).Because(err)
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

// silent returns the fault of a server to which no connection could be made. reason is a short
// phrase.
func (c *Client) silent(reason string) *fault.Fault {
	f := fault.New(fault.Unavailable, "no answer from %s (%s)", c.address(), reason)
	if c.Named != "" {
		f.Message += "; the address is from " + c.Named
	}
	return f.Fix("%s", c.start())
}

// dialReason returns a short phrase that says why a connection could not be made, such as
// "connection refused", for a message in parentheses.
func dialReason(err error) string {
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

// usual is the default address of a server.
const usual = "127.0.0.1:7780"

// start returns the fix for a server that does not answer: the command that starts it, if the
// address is on this machine, has a port and is plain HTTP; otherwise the advice to check the
// address.
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

// host returns the host and port of the server, without the rest of the URL.
func (c *Client) host() string {
	u, err := url.Parse(c.Base)
	if err != nil {
		return "the given address"
	}
	return cmp.Or(u.Host, "the given address")
}

// address returns the address of the server for messages, without secrets.
func (c *Client) address() string {
	u, err := url.Parse(c.Base)
	if err != nil || u.Host == "" {
		return "URL"
	}
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(u.EscapedPath(), "/")
}

// authFault returns the fault of a server that does not accept the token or requires one. It names
// the source of the token and the command that logs in. given is the server's own fault, of which
// only the code of an expired token and the id of the request are kept.
func (c *Client) authFault(given *fault.Fault) *fault.Fault {
	token := "the token that was sent"
	if c.Shown != "" {
		token = "the token from " + c.Shown
	}
	f := fault.New(fault.Unauthenticated, "%s does not accept %s: it is revoked, or belongs to another "+
		"server",
		c.host(), token)
	switch {
	case c.Token == "":
		f.Message = c.host() + " requires authentication, and no token was sent"
	case given.Code == fault.TokenExpired:
		f.Code, f.Message = given.Code, fmt.Sprintf("%s has expired; it was sent to %s", token, c.host())
	}
	f.RequestID = given.RequestID
	if c.Renew != "" {
		f = f.Fix("%s", c.Renew)
	}
	return f.Fix("rookery login --server %s --token -", c.address())
}

// foreignFault returns the fault of an answer that does not come from a Rookery server, for example
// from a gateway in front of it. It keeps a retry delay. The statuses 401, 413 and 429 have their
// usual meaning, whatever program sends them.
func (c *Client) foreignFault(a Answer) *fault.Fault {
	cause := fmt.Errorf("answer of status %d", a.Status)
	f := fault.New(fault.Unavailable, "%s answered with status %d, not like a Rookery server", c.host(),
		a.Status).Fix("check the address of the server")
	switch a.Status {
	case http.StatusUnauthorized:
		f = c.authFault(fault.New(fault.Unauthenticated, ""))
	case http.StatusTooManyRequests:
		f = fault.New(fault.RateLimited, "%s accepts no more calls for now", c.host())
	case http.StatusRequestEntityTooLarge: // from a gateway in front of the server
		f = fault.New(fault.BatchTooLarge, "the call is larger than %s accepts", c.host()).
			Fix("send less at once")
		f.BodyTooLarge = true
	}
	return f.After(retryAfter(a.Header)).Because(cause)
}

// retryAfter returns the delay in a Retry-After header in seconds, at most an hour, or 0 if there
// is none. A date is not supported; Rookery sends none.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 3600)) * time.Second
}

// certificateFault returns the UNAVAILABLE fault of a server whose certificate failed verification,
// with the reason and a remedy. It quotes nothing from the certificate except times, because anyone
// could have written that. There is no option to accept such a certificate.
func (c *Client) certificateFault(err *tls.CertificateVerificationError) *fault.Fault {
	told := func(format string, args ...any) *fault.Fault {
		return fault.New(fault.Unavailable, "the certificate of "+format, append([]any{c.host()}, args...)...).
			Because(err)
	}
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return told("%s is of a CA that this machine does not trust").
			Fix("trust the CA, if it is your own; on Linux: SSL_CERT_FILE=ca.pem rookery whoami").
			Fix("or add the certificate of the CA to the system's trust store").
			Fix("else check the address of the server")
	case errors.As(err, &name):
		return told("%s is for another name").
			Fix("call the server by the name that its certificate has")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return validityFault(told, invalid.Cert)
	}
	return told("%s does not prove the identity of the server").Fix("check the address of the server")
}

// validityFault returns the fault of a certificate that has expired or is not valid yet. told makes
// the fault. The clock of this machine may also be the cause, so that is always a fix.
func validityFault(
	told func(format string, args ...any) *fault.Fault, cert *x509.Certificate,
) *fault.Fault {
	const clock = "check the clock of this machine"
	if from := cert.NotBefore; time.Now().Before(from) {
		return told("%s is valid from %s only", from.UTC().Format(time.RFC3339)).Fix(clock)
	}
	return told("%s expired at %s", cert.NotAfter.UTC().Format(time.RFC3339)).
		Fix("renew it on the server, which loads the new one within a minute").Fix(clock)
}
