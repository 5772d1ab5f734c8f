package tool

import "strings"

// tokenMark begins every page token of a tool, so that foreign text is not taken for one.
const tokenMark = "p1:"

// Token is the page token of a tool: the page it asks for begins behind this key. In an answer it is bound to
// the call, and encoded.
func Token(after string) string { return tokenMark + after }

// After is the key that the page begins behind; empty for the first page. A token that is none of
// ours is malformed.
func (p Page) After(f *Family) (string, error) { return ReadToken("page_token", p.PageToken, f) }

// ReadToken reads what Token wrote. arg is the argument that has it.
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

// Paged notes a page of a list in the meta: how many items it has, how many there are in all, and
// where the next page begins. last is the key of its last item.
func (a *Aside) Paged(count, total int, more bool, last string) {
	a.Note("count", count)
	a.Note("total", total)
	a.Note("has_more", more)
	if more {
		a.Note(nextTokenKey, Token(last))
	}
}

// Limits that hold for every tool (CONTRACT §9).
const (
	MaxBody = 4 << 20 // bytes of the arguments of a call, and of an answer
	MaxPage = 200     // items of a page, unless a document says otherwise
)
