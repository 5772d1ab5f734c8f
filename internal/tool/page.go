package tool

import "strings"

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
