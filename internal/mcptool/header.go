package mcptool

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"rookery/internal/fault"
)

// Headers in which a client repeats what is in the body, for proxies that do not read bodies.
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
)

// headersAgree returns the fault of a header that is sent twice, or that names another method or another
// tool, prompt or resource than a message of the body. The SDK compares them in the newest protocol only; a
// proxy that routes by a header does not know which protocol is spoken.
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

// nameKeys are the methods for which the header Mcp-Name is sent, and the parameter that it repeats.
var nameKeys = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// namesOf are the values of a parameter of a message.
func namesOf(message json.RawMessage, key string) []string {
	var all []json.RawMessage
	for _, params := range membersOf(message, "params") {
		all = append(all, membersOf(params, key)...)
	}
	return textsOf(all)
}

// membersOf are the values of a key in a JSON object, spelled exactly so: of a key that is there twice, two
// readers may take different ones.
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

// textsOf reads JSON strings. What is not a string is the empty text, and so is the absence of all.
func textsOf(all []json.RawMessage) []string {
	texts := make([]string, max(1, len(all)))
	for i, raw := range all {
		_ = json.Unmarshal(raw, &texts[i]) // another type stays empty
	}
	return texts
}

// differs reports whether a header is sent and says something else than one of the texts.
func differs(h http.Header, name string, texts []string) bool {
	sent := h.Get(name)
	if sent == "" {
		return false
	}
	plain, ok := plainHeader(sent)
	return !ok || slices.ContainsFunc(texts, func(text string) bool { return text != plain })
}

// plainHeader decodes the value of a header. One that begins with =?base64? and ends with ?= is Base64; any
// other is taken literally, also one with only the beginning. It reports false if the Base64 is not valid.
func plainHeader(value string) (plain string, ok bool) {
	coded, begins := strings.CutPrefix(value, "=?base64?")
	coded, ends := strings.CutSuffix(coded, "?=")
	if !begins || !ends {
		return value, true
	}
	data, err := base64.StdEncoding.DecodeString(coded)
	return string(data), err == nil
}
