package bridge

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
)

// The methods that the bridge handles in a special way.
const (
	initialize  = "initialize"
	cancelled   = "notifications/cancelled"
	callTool    = "tools/call"
	getPrompt   = "prompts/get"
	readRes     = "resources/read"
	completeArg = "completion/complete"
)

// vaultArg is the argument that names the vault, and vaultHeader the header that repeats it so that
// a proxy can route by it.
const (
	vaultArg    = "vault"
	vaultHeader = "Mcp-Param-Vault"
)

// versionKey is the member of `_meta` that says the version of the protocol.
const versionKey = "io.modelcontextprotocol/protocolVersion"

// A message is a line of the input with the parts of it that the bridge needs. If the line is not
// valid JSON-RPC, only body and batch are set.
type message struct {
	body  []byte
	cut   bool // the body is the beginning of the line
	batch bool
	ids   []json.RawMessage // of its requests, each of which gets an answer

	silent  bool            // it is well formed and has no request, so it gets no answer
	cancels json.RawMessage // the id of the request that it cancels; nil: it does not

	method string // empty in a batch
	params params
	calls  []params // of all calls of tools in it

	flight *flight
}

// params are the members of a message's params that the bridge reads. Which of them are set depends
// on the method.
type params struct {
	Name      string
	URI       string
	RequestID json.RawMessage
	Arguments map[string]json.RawMessage
	Meta      map[string]json.RawMessage `json:"_meta"`
}

// envelope is one JSON-RPC message. ID is empty for a notification, and Method for a response.
type envelope struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

// parse parses a line, which must not be empty. A line that is not a message is relayed as well:
// the server reports the error.
func parse(text []byte) *message {
	m := &message{body: text, batch: text[0] == '['}
	var all []envelope
	if m.batch {
		if json.Unmarshal(text, &all) != nil || len(all) == 0 {
			return m
		}
	} else {
		var one envelope
		if json.Unmarshal(text, &one) != nil {
			return m
		}
		all = append(all, one)
	}
	for _, e := range all {
		m.add(e)
	}
	// Only requests are answered: a notification, and a response of the client to the server, have
	// no method with an id.
	m.silent = len(m.ids) == 0
	if m.batch {
		m.method, m.params = "", params{}
	}
	if m.method == cancelled && m.silent {
		m.cancels = m.params.RequestID
	}
	return m
}

// add adds one of the messages of the line. Invalid params are ignored; the server reports them.
func (m *message) add(e envelope) {
	var p params
	_ = json.Unmarshal(e.Params, &p) // the server says what is wrong with them
	m.method, m.params = e.Method, p
	if e.Method == callTool {
		m.calls = append(m.calls, p)
	}
	// A message with a method and an id is a request. JSON-RPC does not permit null as the id of
	// one.
	if e.Method != "" && len(e.ID) > 0 && string(e.ID) != "null" {
		m.ids = append(m.ids, e.ID)
	}
}

// header sets the headers that the protocol requires for a request with this message. negotiated is
// the version in the answer to `initialize`; a version in the message takes precedence.
// `initialize` itself has no version header, because it negotiates the version.
func (m *message) header(h http.Header, negotiated string) {
	version := negotiated
	if text, ok := primitive(m.params.Meta[versionKey]); ok {
		version = text
	}
	set := func(name, value string) {
		if value != "" {
			h.Set(name, value)
		}
	}
	if m.method != initialize {
		set("Mcp-Protocol-Version", plain(version))
	}
	set("Mcp-Method", plain(m.method))
	switch m.method {
	case callTool:
		set("Mcp-Name", plain(m.params.Name))
		if vault, ok := primitive(m.params.Arguments[vaultArg]); ok {
			set(vaultHeader, encodeHeader(vault))
		}
	case getPrompt:
		set("Mcp-Name", plain(m.params.Name))
	case readRes:
		set("Mcp-Name", plain(m.params.URI))
	}
}

// plain returns a value for a header: unchanged, or in base64 if it contains a control character.
func plain(value string) string {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return inBase64(value)
	}
	return value
}

// encodeHeader returns a value as the protocol writes it in headers of parameters (SEP-2243): in base64 if
// it contains characters other than visible ASCII and inner spaces, or looks like base64 already.
func encodeHeader(value string) string {
	const first, last = ' ', '~' // of the characters that a header may have
	strange := func(c rune) bool { return c < first || c > last }
	if strings.ContainsFunc(value, strange) || value != strings.TrimSpace(value) ||
		strings.HasPrefix(value, "=?base64?") && strings.HasSuffix(value, "?=") {
		return inBase64(value)
	}
	return value
}

// inBase64 returns a value in the notation of the protocol for base64 in headers.
func inBase64(value string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

// primitive returns the text of a JSON string, number or truth value; false for anything else, such
// as a missing value.
func primitive(raw json.RawMessage) (string, bool) {
	var text string
	switch {
	case len(raw) == 0 || bytes.ContainsAny(raw[:1], "{[n"):
		return "", false
	case raw[0] != '"':
		return string(raw), true
	}
	return text, json.Unmarshal(raw, &text) == nil
}

// withVault adds a vault to a message that names none, if its tool or prompt takes one. Only then
// the body changes. A tool that the bridge does not know gets none. The error is that of encoding.
func (m *message) withVault(vault string, known catalogue) error {
	name, arguments := m.params.Name, []string{"params", "arguments"}
	switch m.method {
	case callTool, getPrompt:
		if m.params.Arguments[vaultArg] != nil || !known.takesVault(name) {
			return nil
		}
	case completeArg:
		arguments = []string{"params", "context", "arguments"}
	default:
		return nil
	}
	raw, err := tool.Marshal(vault)
	if err != nil {
		return err
	}
	body, err := insertVault(m.body, arguments, raw)
	if err != nil || body == nil {
		return err
	}
	whole := parse(body)
	m.body, m.params, m.calls = body, whole.params, whole.calls
	return nil
}

// insertVault returns an object with a vault in the object at a path of it, which is created if it
// does not exist. It returns nil if there is a vault already, or if something on the path is not an
// object.
func insertVault(object []byte, path []string, vault json.RawMessage) ([]byte, error) {
	all := map[string]json.RawMessage{}
	if len(object) > 0 && string(object) != "null" && json.Unmarshal(object, &all) != nil {
		return nil, nil
	}
	key, value := vaultArg, vault
	if len(path) > 0 {
		inner, err := insertVault(all[path[0]], path[1:], vault)
		if err != nil || inner == nil {
			return nil, err
		}
		key, value = path[0], inner
	} else if all[vaultArg] != nil {
		return nil, nil
	}
	all[key] = value
	return tool.Marshal(all)
}

// repeatable reports whether the message may be sent again when it is not known whether the server
// received it: it changes nothing, or each of its calls has an idempotency key. Messages other than
// calls of tools change nothing.
func (m *message) repeatable(known catalogue) bool {
	for _, call := range m.calls {
		if !known.hasIdempotencyKey(call.Name, call.Arguments) && !known.reads(call.Name) {
			return false
		}
	}
	return true
}

// hasIdempotencyKey reports whether the arguments of a call have an idempotency key, for each tool that the
// name may mean. For a tool that is not known, an argument with one of the two names of CONTRACT §3
// counts.
func (c catalogue) hasIdempotencyKey(name string, args map[string]json.RawMessage) bool {
	found := c.find(name)
	if len(found) == 0 {
		return args["idempotency_key"] != nil || args["idempotencyKey"] != nil
	}
	for _, t := range found {
		key, ok := t.ArgFor(tool.MeansKey)
		if !ok || len(args[key.Name]) == 0 {
			return false
		}
	}
	return true
}

// A catalogue is the list of tools that the bridge knows. The server may have others.
type catalogue []*tool.Tool

// takesVault reports whether each tool that a name may mean takes a vault; false for a name that no
// tool has.
func (c catalogue) takesVault(name string) bool {
	found := c.find(name)
	for _, t := range found {
		if _, ok := t.Arg(vaultArg); !ok {
			return false
		}
	}
	return len(found) > 0
}

// reads reports whether each tool that a name may mean only reads; false for a name that no tool
// has, because such a tool may change something.
func (c catalogue) reads(name string) bool {
	found := c.find(name)
	for _, t := range found {
		if t.MayMutate() {
			return false
		}
	}
	return len(found) > 0
}

// find returns the tools that a name may mean. It can be several, because tools of different
// families can have the same short name.
func (c catalogue) find(name string) []*tool.Tool {
	var found []*tool.Tool
	for _, t := range c {
		if t.AnswersTo(name) {
			found = append(found, t)
		}
	}
	return found
}

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
