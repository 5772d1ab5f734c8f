package tool

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"rookery/internal/fault"
)

// nextTokenKey is the member of the meta that has the token of the next page.
const nextTokenKey = "next_page_token"

// A Turner is the output of a family whose data has the token of the next page too.
type Turner interface{ TurnTo(token string) }

// boundMark begins every page token that an answer gives, before it is encoded.
const boundMark = "p2:"

// A binding says which call a page token continues: digests of the tool, of the tenant with the vault, and
// of the other arguments. It is no secret, and proves nothing: a caller who makes one up reads what it may
// read anyway.
type binding struct{ tool, vault, args [8]byte }

// bindingSize is how many bytes a binding has in a token.
const bindingSize = 3 * 8

// bound reports whether an argument must stay the same from one page to the next. The size of a page may
// change, and the version that is read, so that a list which began at the newest one can go on as of that.
func (t *Tool) bound(name string) bool {
	a, _ := t.Arg(name)
	return a.Means != MeansToken && a.Means != MeansLimit && name != "as_of" && name != "vault"
}

// bindingOf is the binding of a call with checked arguments.
func bindingOf(c *Call, args map[string]json.RawMessage) binding {
	rest := map[string]any{}
	for name, raw := range args {
		var v any
		if c.Tool.bound(name) && json.Unmarshal(raw, &v) == nil {
			rest[name] = v
		}
	}
	return binding{
		tool:  brief(c.Tool.Name),
		vault: brief(c.Caller.Tenant + "\x00" + textArg(args["vault"])),
		args:  brief(string(mustMarshal(rest))),
	}
}

// brief is the beginning of the sha256 of a text.
func brief(text string) (b [8]byte) {
	sum := sha256.Sum256([]byte(text))
	copy(b[:], sum[:])
	return b
}

// pages reports whether the tool answers a list in pages.
func (t *Tool) pages() bool {
	_, ok := t.Meant(MeansToken)
	return ok
}

// unbind replaces the page token in the arguments of a call with the one that the tool gave. It is a fault if
// that was for another call.
func unbind(c *Call, args map[string]json.RawMessage, b binding) error {
	a, _ := c.Tool.Meant(MeansToken)
	token := textArg(args[a.Name])
	if token == "" {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	rest, ok := strings.CutPrefix(string(text), boundMark)
	if err != nil || !ok || len(rest) < bindingSize || !utf8.ValidString(rest[bindingSize:]) {
		return badToken(a.Name, c.Tool.Family)
	}
	if other := b.differs(rest[:bindingSize]); other != "" {
		return fault.New(fault.InvalidParameter, "%s continues a call with %s", a.Name, other).
			With("argument", a.Name).
			Fix("repeat the call of the page before, with all its arguments and its meta.next_page_token").
			Fix("or leave %s out: the list begins anew", a.Name)
	}
	args[a.Name] = mustMarshal(rest[bindingSize:])
	return nil
}

// bind makes the page token of an answer one that continues this call only.
func (b binding) bind(r Reply) {
	if own, ok := r.Meta[nextTokenKey].(string); ok && own != "" {
		token := base64.RawURLEncoding.EncodeToString([]byte(boundMark + b.text() + own))
		r.Meta[nextTokenKey] = token
		if out, ok := r.Data.(Turner); ok {
			out.TurnTo(token)
		}
	}
}

func (b binding) text() string { return string(b.tool[:]) + string(b.vault[:]) + string(b.args[:]) }

// differs says what is another one in the binding of a token; empty: nothing is.
func (b binding) differs(token string) string {
	const each = bindingSize / 3
	switch {
	case token[:each] != string(b.tool[:]):
		return "another tool"
	case token[each:2*each] != string(b.vault[:]):
		return "another vault"
	case token[2*each:] != string(b.args[:]):
		return "other arguments"
	}
	return ""
}

// badToken is the fault of a page token that no answer gave.
func badToken(arg string, f *Family) error {
	return fault.New(f.Malformed, "%s is not one that an answer gave", arg).
		With("argument", arg).Fix("use meta.next_page_token of the page before")
}

// textArg is an argument that is a text; empty if it is not.
func textArg(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
