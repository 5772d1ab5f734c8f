package httptool

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httpbody"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A Client calls the tools of a server over HTTP. Only Base is required. It is safe for concurrent
// use, if its fields are not changed. It never repeats a call: that is up to the caller, who knows
// whether the call has an idempotency key. The token is never sent to another server: redirects are
// not followed.
type Client struct {
	Base     string       // URL of the server, such as http://127.0.0.1:7780
	Token    string       // bearer token, sent only over TLS or to loopback
	Named    string       // source of the address for messages, such as ROOKERY_SERVER
	Shown    string       // source of the token for messages, such as ROOKERY_TOKEN
	Renew    string       // first fix if the token is refused; empty: log in
	HTTP     *http.Client // nil: a client of its own. Redirects are never followed
	Agent    string       // for calls without an agent
	Session  string       // for calls without a session
	ReadOnly bool         // ask the server to refuse mutations
	Tools    []*tool.Tool // known tools of the server; some have an agent_id or session of their own
}

var _ tool.Invoker = (*Client)(nil)

// maxAnswer is the maximum number of bytes read of an answer. It is well above what a server sends
// (CONTRACT §9).
const maxAnswer = 64 << 20

// callTimeout is the time limit of a call, including its body and its answer. It is longer than the
// server's own limit (CONTRACT §9).
const callTimeout = 2 * time.Minute

// Invoke calls a tool by name. It implements tool.Invoker: the answer is an envelope, also together
// with a fault that the server returned. If the server did not answer, there is no envelope, and
// the fault is UNAVAILABLE and says whether the call may have had an effect. Arguments that are
// larger than a server accepts are BATCH_TOO_LARGE and are not sent.
func (c *Client) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	if len(args) > MaxBody {
		f := httpbody.TooLarge(MaxBody)
		return tool.Refusal(f, nil), f
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := c.request(ctx, name, args)
	if err != nil {
		return nil, err
	}
	a, err := c.send(r)
	if err != nil {
		return nil, err
	}
	return c.read(a)
}

// request returns the HTTP request of a call, with the agent and the session of the client in
// headers if the arguments do not have them. A tool whose argument of that name means something
// else gets the header in any case.
func (c *Client) request(
	ctx context.Context, name string, args json.RawMessage,
) (*http.Request, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	r, err := c.post(ctx, "/v1/tools/"+url.PathEscape(name), args)
	if err != nil {
		return nil, err
	}
	set := func(header, value string) {
		if value != "" {
			r.Header.Set(header, value)
		}
	}
	if c.ReadOnly {
		set("X-Readonly", "1")
	}
	set(requestID, auth.CallerOf(ctx).RequestID)
	var given map[string]json.RawMessage
	_ = json.Unmarshal(args, &given) // the server refuses arguments that are not an object
	if given["agent_id"] == nil || c.owns(name, "agent_id") {
		set("X-Agent-Id", c.Agent)
	}
	if given["session"] == nil || c.owns(name, "session") {
		set("X-Session-Id", c.Session)
	}
	return r, nil
}

// owns reports whether a tool has an argument of its own in place of a shared one.
func (c *Client) owns(name, arg string) bool {
	at := slices.IndexFunc(c.Tools, func(t *tool.Tool) bool { return t.AnswersTo(name) })
	if at < 0 {
		return false
	}
	a, ok := c.Tools[at].Arg(arg)
	return ok && !a.Shared
}

// post returns a request that sends JSON to a path of the server, with the token. It returns
// INVALID_PARAMETER if the address is not a URL of a server, or if the token must not be sent
// there.
func (c *Client) post(ctx context.Context, path string, body []byte) (*http.Request, error) {
	target := strings.TrimSuffix(c.Base, "/") + path
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil || r.URL.Host == "" {
		return nil, fault.New(fault.InvalidParameter, "invalid server URL").
			Fix("http://127.0.0.1:7780")
	}
	if err := c.keepsSecrets(r.URL); err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return r, nil
}

// read interprets an answer by its status. A failure may be in the bare form. An answer that is not
// JSON, or is too large, does not come from a Rookery server.
func (c *Client) read(a Answer) (json.RawMessage, error) {
	data := a.Body
	if !json.Valid(data) || len(data) > maxAnswer {
		return nil, c.foreignFault(a)
	}
	if a.Status >= 200 && a.Status < 300 {
		return data, nil
	}
	f := faultIn(data)
	switch {
	case f == nil:
		return nil, c.foreignFault(a)
	case f.Status() == fault.StatusUnauthenticated:
		f = c.authFault(f)
		return tool.Refusal(f, nil), f
	}
	f.BodyTooLarge = a.Status == http.StatusRequestEntityTooLarge
	return data, f
}

// faultIn returns the fault in the answer of a failed call: the `error` of an envelope or, in the
// bare form, the object itself, whose message may be the text under `error`. It returns nil if
// there is none.
func faultIn(data []byte) *fault.Fault {
	var answer struct{ Error json.RawMessage }
	if json.Unmarshal(data, &answer) != nil {
		return nil
	}
	var f fault.Fault
	if json.Unmarshal(answer.Error, &f) == nil && f.Code != "" {
		return &f
	}
	if json.Unmarshal(data, &f) != nil || f.Code == "" {
		return nil
	}
	var text string
	if json.Unmarshal(answer.Error, &text) == nil {
		f.Message = text
	}
	return &f
}

// An Answer is a server's response to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	// Sent reports whether the request may have reached the server. It is also set together with an
	// error. If it is false, the request had no effect.
	Sent bool
}

// Post sends a body to a path of the server, with the client's token and the headers h, and returns
// the answer, whatever its status. The error is a fault if the server cannot be called, does not
// answer, or sends too much. It is for other protocols than that of Invoke, such as MCP.
func (c *Client) Post(
	ctx context.Context, path string, h http.Header, body []byte,
) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := c.post(ctx, path, body)
	if err != nil {
		return Answer{}, err
	}
	maps.Copy(r.Header, h)
	a, err := c.send(r)
	if err == nil && len(a.Body) > maxAnswer {
		return a, c.foreignFault(a)
	}
	return a, err
}

// Check returns a fault if the client refuses to call its address, or to send its token there. It
// sends nothing.
func (c *Client) Check() error {
	_, err := c.post(context.Background(), "/", nil)
	return err
}

// Answers returns nil if the server responds, with any status, to a request that changes nothing:
// GET /healthz. The token is not sent. The error is a fault that says that no request was sent.
func (c *Client) Answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	target := strings.TrimSuffix(c.Base, "/") + "/healthz"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return c.Check()
	}
	if _, err = c.send(r); err != nil {
		return c.requestFault(err, false)
	}
	return nil
}

// Refusal returns the fault of an answer that is not one of the protocol: from a server that does
// not accept the token, with the command that logs in, or from another program. given is the fault
// in the answer, or nil if it has none.
func (c *Client) Refusal(a Answer, given *fault.Fault) *fault.Fault {
	if a.Status == http.StatusUnauthorized && given != nil {
		return c.authFault(given)
	}
	return c.foreignFault(a)
}

// send sends a request and returns the answer, of at most maxAnswer bytes and one more. Answer.Sent
// is set as soon as the headers were written, also with an error, so that the caller knows whether
// the request may have had an effect.
func (c *Client) send(r *http.Request) (Answer, error) {
	client := http.Client{}
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	var sent atomic.Bool
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		WroteHeaders: func() { sent.Store(true) },
	}))
	resp, err := client.Do(r)
	if err != nil {
		return Answer{Sent: sent.Load()}, c.requestFault(err, sent.Load())
	}
	defer func() { _ = resp.Body.Close() }() // everything needed has been read
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return Answer{Sent: true}, c.requestFault(err, true)
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: data, Sent: true}, nil
}

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
