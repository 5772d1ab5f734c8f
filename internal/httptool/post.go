package httptool

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"github.com/rookeryhq/rookery/internal/fault"
)

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
