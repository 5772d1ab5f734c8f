package markdown

import "bytes"

// maxParens is the deepest nesting of parentheses in the target of a link.
const maxParens = 32

// linkTail parses `(target "title")` at the offset by the rules of CommonMark §6.3. It returns the
// target without < and > around it, and the end of the link. ok is false if there is none. The
// target may be empty.
func linkTail(src []byte, at int) (target Span, end int, ok bool) {
	if at >= len(src) || src[at] != '(' {
		return Span{}, 0, false
	}
	i := skipBlank(src, at+1)
	target, i, ok = linkTarget(src, i)
	if !ok {
		return Span{}, 0, false
	}
	if title := skipBlank(src, i); title > i {
		if i, ok = linkTitle(src, title); !ok {
			return Span{}, 0, false
		}
		i = skipBlank(src, i)
	}
	return target, i + 1, i < len(src) && src[i] == ')'
}

func skipBlank(src []byte, at int) int {
	return skipAny(src, Span{at, len(src)}, " \t\r\n")
}

// linkTarget parses a target, and returns it, its end, and whether it is valid. In angle brackets
// it may contain blanks; otherwise it ends at the first blank, or at the closing parenthesis that
// has no opening one in the target.
func linkTarget(src []byte, at int) (Span, int, bool) {
	if at < len(src) && src[at] == '<' {
		for i := at + 1; i < len(src) && src[i] != '\n' && src[i] != '<'; i++ {
			if src[i] == '>' {
				return Span{at + 1, i}, i + 1, true
			}
			if src[i] == '\\' {
				i++
			}
		}
		return Span{}, 0, false
	}
	i, depth := at, 0
	for ; i < len(src) && src[i] > ' ' && src[i] != 0x7f; i++ {
		switch src[i] {
		case '\\':
			if i+1 < len(src) && src[i+1] > ' ' {
				i++
			}
		case '(':
			if depth++; depth > maxParens {
				return Span{}, 0, false
			}
		case ')':
			if depth == 0 {
				return Span{at, i}, i, true
			}
			depth--
		}
	}
	return Span{at, i}, i, depth == 0
}

// linkTitle returns the end of the title at the offset, or the offset itself if no title begins
// there. ok is false if the title is not closed.
func linkTitle(src []byte, at int) (int, bool) {
	if at == len(src) || bytes.IndexByte([]byte("\"'("), src[at]) < 0 {
		return at, true
	}
	end := src[at]
	if end == '(' {
		end = ')'
	}
	for i := at + 1; i < len(src); i++ {
		switch {
		case src[i] == '\\':
			i++
		case src[i] == end:
			return i + 1, true
		case src[i] == '(' && end == ')':
			return at, false
		}
	}
	return at, false
}
