package httptool

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/payload"
	"rookery/internal/tool"
)

// A Client calls the tools of a server over HTTP. Only Base is required. It is safe for concurrent
// use. It makes each call once, whatever comes of it: to try again is up to who knows whether the call
// carries an idempotency key.
type Client struct {
	Base     string       // of the server: http://127.0.0.1:7780
	Token    string       // sent as bearer token, over TLS or to loopback, and nowhere else
	Named    string       // where a person named the server, such as ROOKERY_SERVER; messages say it
	Shown    string       // where the token is from, such as ROOKERY_TOKEN; messages say it
	Renew    string       // what to do first where the token is refused; empty: log in
	HTTP     *http.Client // nil: one of its own. Redirects are never followed
	Agent    string       // for calls that name none
	Session  string       // for calls that name none
	ReadOnly bool         // every mutation is to be refused
	Tools    []*tool.Tool // those of the server, as far as they are known: some have an agent_id of their own
}

var _ tool.Invoker = (*Client)(nil)

// maxAnswer is the number of bytes that are read of an answer. It is well over what a server sends
// (CONTRACT §9).
const maxAnswer = 64 << 20

// patience is how long a call may take, its body and its answer included: longer than a server gives
// it (CONTRACT §9).
const patience = 2 * time.Minute

// Invoke calls a tool by its name. Where no answer of a server came, the fault is UNAVAILABLE, and
// says whether the call may have had an effect.
func (c *Client) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	if len(args) > MaxBody {
		f := payload.TooLarge(MaxBody)
		return tool.Refusal(f, nil), f
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
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

// request is the request of a call.
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
	_ = json.Unmarshal(args, &given) // what is no object, the server refuses
	if given["agent_id"] == nil || c.owns(name, "agent_id") {
		set("X-Agent-Id", c.Agent)
	}
	if given["session"] == nil || c.owns(name, "session") {
		set("X-Session-Id", c.Session)
	}
	return r, nil
}

// owns reports whether a tool has an argument of its own in the place of one that every tool takes.
func (c *Client) owns(name, arg string) bool {
	at := slices.IndexFunc(c.Tools, func(t *tool.Tool) bool { return t.AnswersTo(name) })
	if at < 0 {
		return false
	}
	a, ok := c.Tools[at].Arg(arg)
	return ok && !a.Shared
}

// post returns a request that sends JSON to a path of the server, with the token.
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

// read takes an answer for what its status says that it is. The answer to a failure may be bare.
func (c *Client) read(a Answer) (json.RawMessage, error) {
	data := a.Body
	if !json.Valid(data) || len(data) > maxAnswer {
		return nil, c.strange(a)
	}
	if a.Status >= 200 && a.Status < 300 {
		return data, nil
	}
	f := faultIn(data)
	switch {
	case f == nil:
		return nil, c.strange(a)
	case f.Status() == fault.StatusUnauthenticated:
		f = c.unknown(f)
		return tool.Refusal(f, nil), f
	}
	f.BodyTooLarge = a.Status == http.StatusRequestEntityTooLarge
	return data, f
}

// faultIn is the fault in the answer of a failure: the `error` of an envelope or, where that is
// missing or a text, what stands at the top. It is nil if there is none.
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
