package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// A client calls one vault of a server over connections that it keeps.
type client struct {
	base, vault string
	http        *http.Client
	header      func(http.Header) // sets more of a request's headers; nil: none
}

// newClient can make so many calls at once without opening a connection for each. Answers are not
// compressed: both ends are on one machine.
func newClient(base, vault string, calls int) *client {
	return &client{base: base, vault: vault, http: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: calls, DisableCompression: true,
	}}}
}

// close lets the connections go, so that the server need not wait for them.
func (c *client) close() { c.http.CloseIdleConnections() }

// A refusal is an answer that is no success.
type refusal struct {
	status  int // of HTTP; 0: the call was made in this process
	code    string
	message string
}

// Error says what the server said.
func (r *refusal) Error() string {
	if r.status == 0 {
		return fmt.Sprintf("in process: %s: %s", r.code, r.message)
	}
	return fmt.Sprintf("the server answered %d %s: %s", r.status, r.code, r.message)
}

// An envelope is what is read of an answer.
type envelope struct {
	Error struct{ Code, Message string }
	Meta  struct{ Version string }
}

// tool calls a tool with these arguments, and with the vault's name. The answer is not looked at,
// if it is a success.
func (c *client) tool(ctx context.Context, name string, args map[string]any) error {
	args["vault"] = c.vault
	body, err := json.Marshal(args)
	if err != nil {
		return err
	}
	_, err = c.post(ctx, name, body)
	return err
}

// post calls a tool, and is the answer.
func (c *client) post(ctx context.Context, tool string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/tools/"+tool,
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	return c.do(r)
}

// get reads something under the vault by the id or path at the end of its route.
func (c *client) get(ctx context.Context, resource, id string) error {
	target := c.base + "/v1/vaults/" + c.vault + "/" + resource + "/" + url.PathEscape(id)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	_, err = c.do(r)
	return err
}

// version is the number of commits that the vault says it has, in words such as v42.
func (c *client) version(ctx context.Context) (int, error) {
	body, err := json.Marshal(map[string]any{"vault": c.vault})
	if err != nil {
		return 0, err
	}
	data, err := c.post(ctx, "raven_stats", body)
	if err != nil {
		return 0, err
	}
	var e envelope
	var version int
	if err := json.Unmarshal(data, &e); err != nil {
		return 0, fmt.Errorf("read the envelope: %w", err)
	}
	if _, err := fmt.Sscanf(e.Meta.Version, "v%d", &version); err != nil {
		return 0, fmt.Errorf("read the version %q: %w", e.Meta.Version, err)
	}
	return version, nil
}

// do sends a request and reads the whole answer, so that the connection can be kept.
func (c *client) do(r *http.Request) ([]byte, error) {
	if c.header != nil {
		c.header(r.Header)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return data, nil
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, &refusal{status: resp.StatusCode, message: "the answer is no envelope"}
	}
	return nil, &refusal{resp.StatusCode, e.Error.Code, e.Error.Message}
}
