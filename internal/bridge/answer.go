package bridge

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
)

// answerLines returns the lines of an answer: its body, or the messages of its events. The fault is
// not nil for a response that does not contain MCP messages, such as that of a proxy, and for one
// that refuses the token.
func (m *message) answerLines(client *httptool.Client, a httptool.Answer) ([][]byte, *fault.Fault) {
	var lines [][]byte
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	switch body := bytes.TrimSpace(a.Body); {
	case kind == "text/event-stream":
		lines = events(body)
	case len(body) > 0:
		lines = [][]byte{body}
	}
	given, ok := refusalIn(lines)
	// The answer is not from an MCP server, or the token is not valid. The client of the bridge can
	// do nothing about either, so the fault must name the cause.
	if !ok || a.Status == http.StatusUnauthorized {
		return nil, client.Refusal(a, given)
	}
	if len(lines) == 0 && !m.silent {
		return nil, client.Refusal(a, nil)
	}
	for i, l := range lines {
		lines[i] = m.withRequestID(oneLine(l))
	}
	return m.each(lines), nil
}

// refusalIn returns the fault in an answer that refuses the whole request; an empty fault if there
// is none. ok is false if a line of the answer is neither a message nor a batch.
func refusalIn(lines [][]byte) (f *fault.Fault, ok bool) {
	f = &fault.Fault{}
	for _, l := range lines {
		if len(l) > 0 && l[0] == '[' && json.Valid(l) {
			continue
		}
		var a struct {
			Version string `json:"jsonrpc"`
			Error   struct{ Data json.RawMessage }
		}
		if json.Unmarshal(l, &a) != nil || a.Version == "" {
			return f, false
		}
		_ = json.Unmarshal(a.Error.Data, f) // an answer that is no refusal has none
	}
	return f, true
}

// withRequestID returns the answer to a message with the id of its request. A server that did not read
// the whole message does not know the id, and a server may write a number in another form. An
// answer to a batch, and a request or notification of the server, are returned unchanged.
func (m *message) withRequestID(text []byte) []byte {
	if m.batch || len(m.ids) != 1 || text[0] != '{' {
		return text
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil || all["method"] != nil || bytes.Equal(all["id"], m.ids[0]) {
		return text
	}
	all["id"] = m.ids[0]
	if changed, err := tool.Marshal(all); err == nil {
		return changed
	}
	return text
}

// each converts an error that refuses a whole batch to an error for each of its requests, because a
// client matches answers by their ids. Other lines are returned unchanged.
func (m *message) each(lines [][]byte) [][]byte {
	if !m.batch || len(m.ids) == 0 || len(lines) != 1 || lines[0][0] != '{' {
		return lines
	}
	var a struct{ Error json.RawMessage }
	if json.Unmarshal(lines[0], &a) != nil || a.Error == nil {
		return lines
	}
	return [][]byte{refusal(m, a.Error)}
}

// refusalLines returns a fault as the answer to each request of a message that the server did not
// answer. A notification has no answer; the fault is logged. The code is INTERNAL_ERROR if the
// fault is not the client's, and otherwise INVALID_REQUEST; the data is the fault.
func (b *bridge) refusalLines(m *message, f *fault.Fault) [][]byte {
	if m.silent {
		b.opt.Log.Warn("a notification was not sent", "code", string(f.Code))
		return nil
	}
	code := int64(jsonrpc.CodeInvalidRequest)
	if f.HTTP() >= 500 {
		code = jsonrpc.CodeInternalError
	}
	data, err := tool.Marshal(f)
	if err != nil {
		data = nil // the message says enough
	}
	text, err := tool.Marshal(&jsonrpc.Error{Code: code, Message: f.Message, Data: data})
	if err != nil {
		return nil
	}
	return [][]byte{refusal(m, text)}
}

// refusal returns a JSON-RPC error as the answer to each request of a message, on one line: a list
// for a batch. For a message without a known id, the id is null. It returns nil if the error cannot
// be encoded.
func refusal(m *message, problem json.RawMessage) []byte {
	type answer struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   json.RawMessage `json:"error"`
	}
	var all []answer
	for _, id := range m.ids {
		all = append(all, answer{"2.0", id, problem})
	}
	var whole any = all
	switch {
	case len(all) == 0:
		whole = answer{"2.0", json.RawMessage("null"), problem}
	case !m.batch:
		whole = all[0]
	}
	text, err := tool.Marshal(whole)
	if err != nil {
		return nil
	}
	return text
}

// events returns the data of the events of a stream (text/event-stream). Each is one message.
// Events without data are left out.
func events(stream []byte) [][]byte {
	var all [][]byte
	stream = bytes.ReplaceAll(stream, []byte("\r\n"), []byte("\n"))
	for event := range bytes.SplitSeq(stream, []byte("\n\n")) {
		var data []byte
		for l := range bytes.Lines(event) {
			if text, ok := bytes.CutPrefix(bytes.TrimRight(l, "\n"), []byte("data:")); ok {
				data = append(append(data, bytes.TrimPrefix(text, []byte(" "))...), '\n')
			}
		}
		if data = bytes.TrimSpace(data); len(data) > 0 {
			all = append(all, data)
		}
	}
	return all
}

// oneLine returns JSON without line breaks, which would divide it into several messages: unchanged
// if it has none.
func oneLine(text []byte) []byte {
	var compact bytes.Buffer
	if !bytes.ContainsAny(text, "\r\n") || json.Compact(&compact, text) != nil {
		return text
	}
	return compact.Bytes()
}
