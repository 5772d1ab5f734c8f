package markdown

import (
	"bytes"
	"strings"
)

// A tagReader finds tags, comments, other HTML and addresses, which begin with <. It remembers the
// position of each kind of end that it searched for, so that a text with many beginnings and no end
// takes linear time. A closing text that was not found is remembered as the length of the text.
// Offsets of calls must not descend.
type tagReader struct {
	src  []byte
	ends map[string]int // the next offset of a closing text, by that text
}

// newTagReader returns a reader of the HTML in a text.
func newTagReader(src []byte) *tagReader { return &tagReader{src, map[string]int{}} }

// read returns the atom that begins with the < at the offset. ok is false if there is none.
func (r *tagReader) read(at int) (atom, bool) {
	if end := r.address(at); end > 0 {
		return atom{Span{at, end}, addressAtom, Span{at + 1, end - 1}}, true
	}
	if end := r.tag(at); end > 0 {
		return atom{Span{at, end}, htmlAtom, Span{at, at}}, true
	}
	return atom{}, false
}

// address returns the end of `<scheme:…>` or `<name@host>` at the offset, or 0.
func (r *tagReader) address(at int) int {
	i, known := at+1, false
	for ; i < len(r.src); i++ {
		c := r.src[i]
		switch {
		case c == '>' && known:
			return i + 1
		case c <= ' ' || c == '<' || c == '>':
			return 0
		case c == ':' && !known:
			if n := i - at - 1; n < 2 || n > 32 {
				return 0
			}
			known = true
		case c == '@' && i > at+1:
			known = true
		case !known && !isWord(c) && c != '.' && c != '+':
			return 0
		}
	}
	return 0
}

// tag returns the end of the HTML at the offset, or 0 if the < is text. The kinds are those of raw
// inline HTML of CommonMark §6.6: comments, processing instructions, CDATA sections, declarations,
// and closing and opening tags.
func (r *tagReader) tag(at int) int {
	rest := r.src[at:]
	switch {
	case bytes.HasPrefix(rest, []byte("<!-->")):
		return at + len("<!-->")
	case bytes.HasPrefix(rest, []byte("<!--->")):
		return at + len("<!--->")
	case bytes.HasPrefix(rest, []byte("<!--")):
		return r.endAfter(at+len("<!--"), "-->")
	case bytes.HasPrefix(rest, []byte("<?")):
		return r.endAfter(at+len("<?"), "?>")
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		return r.endAfter(at+len("<![CDATA["), "]]>")
	case len(rest) > 2 && rest[1] == '!' && rest[2] >= 'A' && rest[2] <= 'Z':
		return r.endAfter(at+2, ">")
	case len(rest) > 2 && rest[1] == '/' && isLetter(rest[2]):
		return r.close(r.skip(at+2, isName), false)
	case len(rest) > 1 && isLetter(rest[1]):
		return r.attributes(r.skip(at+1, isName))
	}
	return 0
}

// endAfter returns the offset after the next occurrence of end, or 0.
func (r *tagReader) endAfter(at int, end string) int {
	next, searched := r.ends[end]
	if !searched || next < at && next < len(r.src) {
		next = len(r.src)
		if i := bytes.Index(r.src[at:], []byte(end)); i >= 0 {
			next = at + i
		}
		r.ends[end] = next
	}
	if next == len(r.src) {
		return 0
	}
	return next + len(end)
}

// attributes returns the end of a tag from the offset after its name, or 0 if it is invalid.
func (r *tagReader) attributes(at int) int {
	for {
		name := r.skip(at, isBlank)
		if name == at || name == len(r.src) || !isAttributeStart(r.src[name]) {
			return r.close(at, true)
		}
		at = r.skip(name, isAttribute)
		if equals := r.skip(at, isBlank); equals < len(r.src) && r.src[equals] == '=' {
			if at = r.value(r.skip(equals+1, isBlank)); at == 0 {
				return 0
			}
		}
	}
}

// value returns the end of the value of an attribute, or 0 if it is invalid.
func (r *tagReader) value(at int) int {
	if at == len(r.src) {
		return 0
	}
	if c := r.src[at]; c == '"' || c == '\'' {
		return r.endAfter(at+1, string(c))
	}
	if end := r.skip(at, isUnquoted); end > at {
		return end
	}
	return 0
}

// close returns the end of a tag of which only blanks, a slash if it may have one, and > follow, or
// 0.
func (r *tagReader) close(at int, slash bool) int {
	at = r.skip(at, isBlank)
	if slash && at < len(r.src) && r.src[at] == '/' {
		at++
	}
	if at < len(r.src) && r.src[at] == '>' {
		return at + 1
	}
	return 0
}

// skip returns the first offset whose byte is not of the kind, or the end.
func (r *tagReader) skip(at int, kind func(byte) bool) int {
	for at < len(r.src) && kind(r.src[at]) {
		at++
	}
	return at
}

// isLetter reports whether a byte is an ASCII letter. The names of HTML, traits and types consist
// of ASCII characters, so these functions look at single bytes.
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord reports whether the name of a trait, a type or a key can contain the byte.
func isWord(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '-' }

// isName reports whether the name of an HTML tag can contain the byte, after its first letter.
func isName(c byte) bool { return isLetter(c) || isDigit(c) || c == '-' }

// isAttributeStart reports whether the name of an attribute can begin with the byte; isAttribute,
// whether it can contain the byte.
func isAttributeStart(c byte) bool { return isLetter(c) || c == '_' || c == ':' }

func isAttribute(c byte) bool { return isAttributeStart(c) || isDigit(c) || c == '.' || c == '-' }

// isUnquoted reports whether an unquoted value of an attribute can contain the byte.
func isUnquoted(c byte) bool { return c > ' ' && strings.IndexByte("\"'=<>`", c) < 0 }

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
