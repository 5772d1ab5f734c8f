package tool

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
)

// nextTokenKey is the key in the meta of an answer that contains the token of the next page.
const nextTokenKey = "next_page_token"

// A TokenSetter is an output whose data contains the token of the next page too. SetNextToken sets
// that token.
type TokenSetter interface{ SetNextToken(token string) }

// boundMark is the prefix of every page token in an answer, before base64 encoding.
const boundMark = "p2:"

// A binding identifies the call that a page token continues, by digests of the tool's name, of the
// tenant and the vault, and of the other arguments. It is not a secret and gives no access: a
// caller who forges one can only read data that it may read anyway.
type binding struct{ tool, vault, args [8]byte }

// bindingSize is the length in bytes of a binding within a token.
const bindingSize = 3 * 8

// bound reports whether an argument must be the same for all pages of a list. The page size may
// change. So may as_of, so that a list which began at the newest version can continue at that
// version. The vault has its own digest in the binding.
func (t *Tool) bound(name string) bool {
	a, _ := t.Arg(name)
	return a.Means != MeansToken && a.Means != MeansLimit && name != "as_of" && name != "vault"
}

// bindingOf returns the binding of a call. args are its arguments after the check. It is computed
// from their values, so two spellings of a value, such as 1.0 and 1, have the same binding.
func bindingOf(c *Call, args checked) binding {
	rest := map[string]any{}
	for name, v := range args.values {
		if c.Tool.bound(name) {
			rest[name] = v
		}
	}
	vault, _ := args.values["vault"].(string)
	return binding{
		tool:  brief(c.Tool.Name),
		vault: brief(c.Caller.Tenant + "\x00" + vault),
		args:  brief(string(mustMarshal(rest))),
	}
}

// brief returns the first 8 bytes of the SHA-256 of a text.
func brief(text string) (b [8]byte) {
	sum := sha256.Sum256([]byte(text))
	copy(b[:], sum[:])
	return b
}

// pages reports whether the tool returns a list in pages: whether it takes a page token.
func (t *Tool) pages() bool {
	_, ok := t.ArgFor(MeansToken)
	return ok
}

// unbind replaces the page token in args by the token that the tool itself wrote. It returns a
// fault if the token is malformed or belongs to another call. Without a token it does nothing. The
// part of the token after the binding is that of the tool, which must check it: the binding is not
// a signature.
func unbind(c *Call, args checked, b binding) error {
	a, _ := c.Tool.ArgFor(MeansToken)
	token, _ := args.values[a.Name].(string)
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
			Fix("or leave %s out: the list starts from the beginning", a.Name)
	}
	args.set(a.Name, mustMarshal(rest[bindingSize:]), rest[bindingSize:])
	return nil
}

// bind replaces the tool's page token in an answer by one that continues only this call: base64url
// of boundMark, the binding and the token. An answer without a token stays as it is. A TokenSetter
// has the token in its data, too.
func (b binding) bind(r Reply) {
	if own, ok := r.Meta[nextTokenKey].(string); ok && own != "" {
		token := base64.RawURLEncoding.EncodeToString([]byte(boundMark + b.text() + own))
		r.Meta[nextTokenKey] = token
		if out, ok := r.Data.(TokenSetter); ok {
			out.SetNextToken(token)
		}
	}
}

// text returns the bindingSize bytes of the binding.
func (b binding) text() string { return string(b.tool[:]) + string(b.vault[:]) + string(b.args[:]) }

// differs reports in words which part of the binding in a token differs from b; "" if none does.
// token must have bindingSize bytes.
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

// badToken returns the fault of a page token that did not come from an answer.
func badToken(arg string, f *Family) error {
	return fault.New(f.Malformed, "%s was not returned by an earlier call", arg).
		With("argument", arg).Fix("use meta.next_page_token of the page before")
}

// tokenMark is the prefix of every page token of a tool; other texts are rejected.
const tokenMark = "p1:"

// Token returns a tool's page token for the page that follows the item with the key after. The
// catalogue binds it to the call and encodes it before it is answered; see binding.
func Token(after string) string { return tokenMark + after }

// After returns the key of the last item of the previous page, or "" for the first page. It returns
// a fault with the family's Malformed code if the token was not written by Token.
func (p Page) After(f *Family) (string, error) { return ReadToken("page_token", p.PageToken, f) }

// ReadToken returns the key in a token that Token wrote, or "" for an empty token. arg is the
// argument's name in the fault of an invalid token.
func ReadToken(arg, token string, f *Family) (string, error) {
	if token == "" {
		return "", nil
	}
	after, ok := strings.CutPrefix(token, tokenMark)
	if !ok {
		return "", badToken(arg, f)
	}
	return after, nil
}

// Paged records a page of a list in the meta: count, the number of its items; total, the number of
// items of the whole list; more, whether another page follows; and then the token of the next page.
// last is the key of the last item.
func (a *Aside) Paged(count, total int, more bool, last string) {
	a.Note("count", count)
	a.Note("total", total)
	a.Note("has_more", more)
	if more {
		a.Note(nextTokenKey, Token(last))
	}
}

// Limits that apply to every tool (CONTRACT §9).
const (
	MaxBody = 4 << 20 // bytes of the arguments of a call, and of its answer
	MaxPage = 200     // items of a page, unless a Spec says otherwise
)
