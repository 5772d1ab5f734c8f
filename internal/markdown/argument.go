package markdown

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// readValue returns the value of text in the notation of declarations and traits
// (reference/raven.md §1.5, §1.6): nil for an empty text, "a quoted text", [[a reference]], [a
// list], or a plain text. typed is for declarations, in which true, false and numbers have types.
// In traits they are strings.
//
// It never fails: a text that only looks like a list or a quoted text is a plain text. The result
// is nil, a string, a Ref, a []any of these, and with typed also a bool or a float64.
func readValue(text string, typed bool) any {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	if s, ok := unquote(text); ok {
		return s
	}
	if text[0] != '[' {
		return readPlain(text, typed)
	}
	if ref, ok := refOf(text); ok {
		return ref
	}
	if parts, ok := bracketed(text); ok {
		list := make([]any, len(parts))
		for i, part := range parts {
			list[i] = readValue(part, typed)
		}
		return list
	}
	return text
}

// decimal matches a number of a declaration. Unlike YAML, it allows no plus sign, no other base and
// no underscore, but it allows zeros at the start.
var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// readPlain returns the value of a text without quotes and brackets. With typed, an integer that
// float64 cannot represent exactly stays a string of its digits; see normaliseDigits.
func readPlain(text string, typed bool) any {
	switch {
	case !typed:
		return text
	case text == "true" || text == "false":
		return text == "true"
	case !decimal.MatchString(text):
		return text
	case strings.Trim(text, "-0123456789") == "":
		v, _ := normaliseDigits(text)
		return v
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return f
}

// unquote returns a text without the double quotes around it, and whether it has them. A backslash
// escapes a quote or a backslash.
func unquote(text string) (string, bool) {
	if len(text) < 2 || text[0] != '"' || quoteEnd([]byte(text), 0) != len(text) {
		return "", false
	}
	text = text[1 : len(text)-1]
	if strings.IndexByte(text, '\\') < 0 {
		return text, true
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(text), true
}

// quoteEnd returns the offset after the quote that closes the one at the offset, or 0 if there is
// none. A backslash before any byte other than a quote or a backslash is an ordinary character.
func quoteEnd(text []byte, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\') {
				i++
			}
		case '"':
			return i + 1
		}
	}
	return 0
}

// bracketed returns the items of a list in brackets, without empty ones and without blanks around
// them. ok is false if the text is not in brackets, or if a quote or bracket in it is not closed.
func bracketed(text string) ([]string, bool) {
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return nil, false
	}
	inner := []byte(text[1 : len(text)-1])
	spans, ok := splitArguments(inner)
	items := make([]string, len(spans))
	for i, s := range spans {
		items[i] = string(inner[s.Start:s.End])
	}
	return items, ok
}

// splitArguments splits a text at the commas outside quotes, brackets and parentheses, and returns
// the spans of the parts in the text. It drops empty parts and the blanks around parts. ok is false
// if a quote or a bracket is not closed, or if brackets are nested deeper than maxDepth. It takes
// linear time.
func splitArguments(text []byte) ([]Span, bool) {
	var parts []Span
	var open []byte // the closing brackets that are expected
	begin := 0
	add := func(end int) {
		if part := trim(text, Span{begin, end}); part.Start < part.End {
			parts = append(parts, part)
		}
		begin = end + 1
	}
	for i := 0; i < len(text); {
		end, ok := nested(text, i, &open)
		if !ok {
			return nil, false
		}
		if len(open) == 0 && text[i] == ',' {
			add(i)
		}
		i = end
	}
	add(len(text))
	return parts, len(open) == 0
}

// nested reads a byte, a quoted text or a wikilink at the offset, updates the open brackets, and
// returns the end. A quoted text or a wikilink is read as a whole, so that commas and brackets in
// it do not count. ok is false if a quote or a bracket does not match, or the nesting exceeds
// maxDepth.
func nested(text []byte, at int, open *[]byte) (int, bool) {
	switch c := text[at]; c {
	case '"':
		end := quoteEnd(text, at)
		return end, end > 0
	case '[':
		if w, ok := wikiAt(text, at); ok {
			return w.End, true
		}
		*open = append(*open, ']')
	case '(':
		*open = append(*open, ')')
	case ']', ')':
		last := len(*open) - 1
		if last < 0 || (*open)[last] != c {
			return 0, false
		}
		*open = (*open)[:last]
	}
	return at + 1, len(*open) <= maxDepth
}

// wikisIn returns the wikilinks of a text. Unlike prose, it does not check what surrounds them.
func wikisIn(text []byte) []wiki {
	var all []wiki
	for at := 0; at < len(text); {
		i := bytes.Index(text[at:], []byte("[["))
		if i < 0 {
			break
		}
		at += i
		if w, ok := wikiAt(text, at); ok {
			all = append(all, w)
			at = w.End
			continue
		}
		at++
	}
	return all
}
