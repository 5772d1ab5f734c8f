package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/rookeryhq/rookery/bench/corpus"
)

// A client calls one vault of a server over persistent connections.
type client struct {
	base, vault string
	http        *http.Client
	header      func(http.Header) // sets further headers of a request; nil: none
}

// newClient returns a client that can make the given number of concurrent calls without a new
// connection for each. Answers are not compressed, because both ends are on one machine.
func newClient(base, vault string, calls int) *client {
	return &client{base: base, vault: vault, http: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: calls, DisableCompression: true,
	}}}
}

// close closes idle connections, so that the server does not have to wait for them.
func (c *client) close() { c.http.CloseIdleConnections() }

// A refusal is the error of a call that the server refused.
type refusal struct {
	status  int // HTTP status; 0: the call was made in this process
	code    string
	message string
}

// Error returns the status and the message of the server.
func (r *refusal) Error() string {
	if r.status == 0 {
		return fmt.Sprintf("in process: %s: %s", r.code, r.message)
	}
	return fmt.Sprintf("the server answered %d %s: %s", r.status, r.code, r.message)
}

// An envelope contains the members of an answer that are read.
type envelope struct {
	Error struct{ Code, Message string }
	Meta  struct{ Version string }
}

// tool calls a tool with the arguments and the name of the vault. It discards the answer.
func (c *client) tool(ctx context.Context, name string, args map[string]any) error {
	args["vault"] = c.vault
	body, err := json.Marshal(args)
	if err != nil {
		return err
	}
	_, err = c.post(ctx, name, body)
	return err
}

// post calls a tool and returns the answer. An answer with an error is a *refusal.
func (c *client) post(ctx context.Context, tool string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/tools/"+tool,
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	return c.do(r)
}

// get reads a resource of the vault, identified by the id or path at the end of its route.
func (c *client) get(ctx context.Context, resource, id string) error {
	target := c.base + "/v1/vaults/" + c.vault + "/" + resource + "/" + url.PathEscape(id)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	_, err = c.do(r)
	return err
}

// version returns the number of commits of the vault, from a version such as v42.
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

// do sends a request and reads the whole answer, so that the connection can be reused.
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

// The limits of one call of an import (CONTRACT §4): its notes, and the bytes of its body, of which
// some are reserved for everything except notes.
const (
	maxNotes = 1000
	maxBody  = 4<<20 - 4<<10
)

// A chunk is the body of one call of an import.
type chunk struct {
	body  []byte
	notes int
}

// An importNote is a file in the format of the tool.
type importNote struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// chunks yields the bodies of the calls that import the files into a vault: as few calls as
// possible, in order.
func chunks(vault string, files []corpus.File) iter.Seq2[chunk, error] {
	return func(yield func(chunk, error) bool) {
		for len(files) > 0 {
			c, err := firstChunk(vault, files)
			if !yield(c, err) || err != nil {
				return
			}
			files = files[c.notes:]
		}
	}
}

// firstChunk returns a body with as many of the files as one call can import.
func firstChunk(vault string, files []corpus.File) (chunk, error) {
	var notes []json.RawMessage
	size := 0
	for _, f := range files[:min(len(files), maxNotes)] {
		note, err := encode(importNote(f))
		if err != nil {
			return chunk{}, err
		}
		if size += len(note) + 1; size > maxBody {
			break
		}
		notes = append(notes, note)
	}
	if len(notes) == 0 {
		return chunk{}, fmt.Errorf("%s is too large for a call", files[0].Path)
	}
	body, err := encode(map[string]any{"vault": vault, "notes": notes})
	return chunk{body, len(notes)}, err
}

// encode encodes a value as JSON without HTML escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a call: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
