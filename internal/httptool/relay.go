package httptool

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"rookery/internal/fault"
)

// An Answer is what a server answered to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	// Sent reports that the request may have reached the server. It is set with an error, too:
	// while it is false, the request had no effect.
	Sent bool
}

// Post sends a body to a path of the server, with the token of the client and these headers, and
// returns the answer, whatever its status. An error is the fault of a server that cannot be called,
// or whose answer did not come or is too large.
func (c *Client) Post(
	ctx context.Context, path string, h http.Header, body []byte,
) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := c.post(ctx, path, body)
	if err != nil {
		return Answer{}, err
	}
	maps.Copy(r.Header, h)
	a, err := c.send(r)
	if err == nil && len(a.Body) > maxAnswer {
		return a, c.strange(a)
	}
	return a, err
}

// Check returns the fault of an address that the client does not call, or does not send its token
// to. It sends nothing.
func (c *Client) Check() error {
	_, err := c.post(context.Background(), "/", nil)
	return err
}

// Answers returns nil if the server answers a request that changes nothing, whatever the answer is. An error
// is the fault of a request that was not sent. The token is not sent.
func (c *Client) Answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	target := strings.TrimSuffix(c.Base, "/") + "/healthz"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return c.Check()
	}
	if _, err = c.send(r); err != nil {
		return c.unreached(err, false)
	}
	return nil
}

// Refusal returns the fault of an answer that is no answer of the protocol: that of a server that
// does not accept the token, with how to log in, or that of another program. Given is the fault in
// the answer; nil: it has none.
func (c *Client) Refusal(a Answer, given *fault.Fault) *fault.Fault {
	if a.Status == http.StatusUnauthorized && given != nil {
		return c.unknown(given)
	}
	return c.strange(a)
}

// send sends a request and returns the answer.
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
		return Answer{Sent: sent.Load()}, c.unreached(err, sent.Load())
	}
	defer func() { _ = resp.Body.Close() }() // all that matters has been read
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return Answer{Sent: true}, c.unreached(err, true)
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: data, Sent: true}, nil
}
