package tool

import (
	"encoding/base64"
	"strings"

	"rookery/internal/fault"
)

// tokenMark begins every page token before it is encoded, so that foreign text is not taken for one.
const tokenMark = "p1:"

// Token is an opaque page token: the page it asks for begins behind this key.
func Token(after string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(tokenMark + after))
}

// After is the key that the page begins behind; empty for the first page. A token that is none of
// ours is malformed.
func (p Page) After(f *Family) (string, error) { return ReadToken(p.PageToken, f) }

// ReadToken reads what Token wrote.
func ReadToken(token string, f *Family) (string, error) {
	if token == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	after, ok := strings.CutPrefix(string(text), tokenMark)
	if err != nil || !ok {
		return "", fault.New(f.Malformed, "page_token is not one that an answer gave").
			With("argument", "page_token").Fix("use meta.next_page_token of the page before")
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
		a.Note("next_page_token", Token(last))
	}
}

// Limits that hold for every tool (CONTRACT §9).
const (
	MaxBody = 4 << 20 // bytes of the arguments of a call, and of an answer
	MaxPage = 200     // items of a page, unless a document says otherwise
)
