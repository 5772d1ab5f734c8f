package mcptool

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Headers in which a client repeats parts of the body, for proxies that do not read bodies.
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
)

// headersAgree returns the fault of a header that is sent twice, or that differs from the method or
// the name in a message of the body. The SDK checks this only in the newest protocol, but a proxy
// that routes by a header does not know which protocol is used. In a batch, every message must
// agree.
//
// Without this check, a caller could name a harmless method in the header, which a proxy permits,
// and another one in the body. Therefore all values of a duplicate key are compared.
func headersAgree(h http.Header, body []byte) *fault.Fault {
	for _, name := range []string{"MCP-Protocol-Version", methodHeader, nameHeader, vaultHeader} {
		if len(h.Values(name)) > 1 {
			return fault.New(fault.InvalidParameter, "header %s must be one value", name)
		}
	}
	for _, part := range messagesOf(body) {
		methods := textsOf(membersOf(part, "method"))
		if differs(h, methodHeader, methods) {
			return fault.New(fault.InvalidParameter, "header %s and the body name different methods", methodHeader)
		}
		if key := nameKeys[methods[0]]; key != "" && differs(h, nameHeader, namesOf(part, key)) {
			return fault.New(fault.InvalidParameter, "header %s and the body name different things", nameHeader)
		}
	}
	return nil
}

// nameKeys maps the methods with the header Mcp-Name to the parameter that it repeats.
var nameKeys = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// namesOf returns the values of a parameter of a message, with "" if it has none, so that a header
// without the parameter differs.
func namesOf(message json.RawMessage, key string) []string {
	var all []json.RawMessage
	for _, params := range membersOf(message, "params") {
		all = append(all, membersOf(params, key)...)
	}
	return textsOf(all)
}

// membersOf returns all values of a key in a JSON object; keys are compared exactly. Of a duplicate
// key, two parsers may use different values, so all are returned. It returns nil for anything but
// an object.
func membersOf(object json.RawMessage, key string) []json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(object))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var all []json.RawMessage
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return all
		}
		if name == key {
			all = append(all, value)
		}
	}
	return all
}

// textsOf decodes JSON strings. A value of another type becomes "", and an empty list becomes one
// "", so the result is never empty.
func textsOf(all []json.RawMessage) []string {
	texts := make([]string, max(1, len(all)))
	for i, raw := range all {
		_ = json.Unmarshal(raw, &texts[i]) // another type leaves it empty
	}
	return texts
}

// differs reports whether a header is sent and differs from one of the texts. A header that cannot
// be decoded differs from every text.
func differs(h http.Header, name string, texts []string) bool {
	sent := h.Get(name)
	if sent == "" {
		return false
	}
	plain, ok := plainHeader(sent)
	return !ok || slices.ContainsFunc(texts, func(text string) bool { return text != plain })
}

// plainHeader decodes the value of a header: Base64 between =?base64? and ?=, for values that a
// header cannot contain, otherwise the literal value. It returns false if the Base64 is invalid.
func plainHeader(value string) (plain string, ok bool) {
	coded, begins := strings.CutPrefix(value, "=?base64?")
	coded, ends := strings.CutSuffix(coded, "?=")
	if !begins || !ends {
		return value, true
	}
	data, err := base64.StdEncoding.DecodeString(coded)
	return string(data), err == nil
}
