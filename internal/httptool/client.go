package httptool

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
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
