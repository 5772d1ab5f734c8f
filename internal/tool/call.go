package tool

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A Call is one call as interceptors see it. Its arguments are decoded but not yet checked against
// the tool's schema.
type Call struct {
	Tool   *Tool
	Caller auth.Caller
	Args   map[string]json.RawMessage

	// Malformed is the fault of arguments that could not be read as a whole; nil: they could. It is
	// returned only after the interceptors have authorized the call.
	Malformed error

	// Warnings are added to the answer by interceptors, also if the call fails.
	Warnings []Warning
}

// Text returns the string value of an argument, or "" if it is missing or not a string.
func (c *Call) Text(name string) string {
	var s string
	if json.Unmarshal(c.Args[name], &s) != nil {
		return ""
	}
	return s
}

// Needs returns the role that the call needs and the kind of change it makes. Tool.Reads can lower
// those of the tool, and Tool.Raises can raise them, depending on the arguments.
func (c *Call) Needs() Raise {
	needs := Raise{c.Tool.Role, c.Tool.Kind}
	if w := c.Tool.Reads; w != nil && slices.Contains(w.Values, c.Text(w.Arg)) {
		return Raise{auth.Reader, Read}
	}
	if len(c.Tool.Raises) == 0 {
		return needs
	}
	for name, raw := range c.Args {
		a, ok := c.Tool.Arg(name)
		if r, raises := c.Tool.Raises[a.Name]; ok && raises && !isNothing(raw) {
			needs = needs.above(r)
		}
	}
	return needs
}

// isNothing reports whether a value means the same as a missing argument: false or null.
func isNothing(raw json.RawMessage) bool {
	text := strings.TrimSpace(string(raw))
	return text == "false" || text == "null"
}

// A Handler executes a call and returns its reply. The reply may be valid in part if the error is
// not nil; see Reply.Partial.
type Handler func(ctx context.Context, c *Call) (Reply, error)

// An Interceptor wraps a handler to do work that every call needs, such as authorization or audit.
type Interceptor func(next Handler) Handler

// ArgFor returns the value of the call's argument with a meaning, by its name or an alias. It
// returns nil if the argument is not given.
func (c *Call) ArgFor(m Meaning) json.RawMessage {
	a, ok := c.Tool.ArgFor(m)
	if !ok {
		return nil
	}
	for _, name := range append([]string{a.Name}, a.Aliases...) {
		if raw, given := c.Args[name]; given {
			return raw
		}
	}
	return nil
}

// Dry reports whether the call only shows its plan.
func (c *Call) Dry() bool { return string(c.ArgFor(MeansDry)) == "true" }

// named returns the names in a list. An entry may contain several names separated by commas, as in
// a query string.
func named(list []string) []string {
	names := strings.Split(strings.Join(list, ","), ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// only returns the JSON of an answer's data with only the given fields of each item of its list or,
// if it has no list, of the data itself.
func (t *Tool) only(data json.RawMessage, fields []string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	var items []map[string]json.RawMessage
	list := t.listIn(members, fields)
	if list == "" || json.Unmarshal(members[list], &items) != nil {
		keep(members, fields)
		return Marshal(members)
	}
	for _, item := range items {
		keep(item, fields)
	}
	var err error
	if members[list], err = Marshal(items); err != nil {
		return nil, err
	}
	return Marshal(members)
}

// listIn returns the key of the list in the data of an answer: the one that the Spec names, else
// `items`, else the only list of objects. It returns "" if there is no such list, or if one of the
// fields is a member of the data itself.
func (t *Tool) listIn(data map[string]json.RawMessage, fields []string) string {
	if t.List != "" {
		return t.List
	}
	if _, ok := data[itemsKey]; ok {
		return itemsKey
	}
	var lists []string
	for name, s := range t.OutputSchema().Properties {
		if slices.Contains(fields, name) {
			return ""
		}
		if _, ok := data[name]; ok && s.Items != nil && s.Items.Type == "object" {
			lists = append(lists, name)
		}
	}
	if len(lists) != 1 {
		return ""
	}
	return lists[0]
}

// itemsKey is the key of a list in the data of an answer, unless the Spec names another (CONTRACT
// §1).
const itemsKey = "items"

// keep deletes all members of m except the given fields.
func keep(m map[string]json.RawMessage, fields []string) {
	maps.DeleteFunc(m, func(k string, _ json.RawMessage) bool { return !slices.Contains(fields, k) })
}

// fill decodes arguments into the fields of a struct, to which in points, by their names in JSON.
// An argument without a field is ignored. The result is that of encoding/json for an object of the
// arguments, which need not be built and read again for it.
func fill(args map[string]json.RawMessage, in any) error {
	v := reflect.ValueOf(in).Elem()
	fields := fieldsByName(v.Type())
	for name, raw := range args {
		at, ok := fields[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, v.FieldByIndex(at).Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

// namedFields caches the results of fieldsByName: reflect.Type to map[string][]int.
var namedFields sync.Map

// fieldsByName returns the index of each field of a struct, and of the structs it embeds, by its
// name in JSON. A field of the struct itself hides those of embedded ones.
func fieldsByName(t reflect.Type) map[string][]int {
	if known, ok := namedFields.Load(t); ok {
		return known.(map[string][]int)
	}
	fields, own := map[string][]int{}, map[string][]int{}
	for i := range t.NumField() {
		field := t.Field(i)
		if embeds(field) {
			for name, at := range fieldsByName(field.Type) {
				fields[name] = append([]int{i}, at...)
			}
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && name != "" && name != "-" {
			own[name] = []int{i}
		}
	}
	for name, at := range own {
		fields[name] = at
	}
	namedFields.Store(t, fields)
	return fields
}

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
