package yamltext

import (
	"go.yaml.in/yaml/v4"
)

// insertFlow returns the text with a new entry at the end of a flow mapping ({…}).
func (d *doc) insertFlow(n *yaml.Node, key string, value any) ([]byte, error) {
	begin := d.brace(n)
	end := d.valueEnd(begin)
	if begin < 0 || end < 0 || d.text[end-1] != '}' {
		return nil, ErrNotEditable
	}
	at := end - 1
	for at > begin+1 && isBlank(d.text[at-1]) {
		at--
	}
	entry := scalar(key) + ": " + flow(value)
	if len(n.Content) > 0 && d.text[at-1] != ',' {
		entry = ", " + entry
	} else if len(n.Content) > 0 {
		entry = " " + entry
	}
	return d.splice(at, at, entry), nil
}

// brace returns the offset of the opening brace of a flow mapping; see opening.
func (d *doc) brace(n *yaml.Node) int { return d.opening(n, '{') }

// opening returns the offset of the opening bracket of a flow mapping or sequence, after its anchor
// and tag, or -1 if it is not found.
func (d *doc) opening(n *yaml.Node, bracket byte) int {
	at := d.offset(n)
	for at < len(d.text) && d.text[at] != bracket {
		if d.text[at] == '\n' {
			return -1
		}
		at++
	}
	if at == len(d.text) {
		return -1
	}
	return at
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// valueEnd returns the end of the flow value that begins at an offset, without white space after
// it, or -1 if the value does not end.
func (d *doc) valueEnd(at int) int {
	if at < 0 || at >= len(d.text) {
		return -1
	}
	depth := 0
	for i := at; i < len(d.text); i++ {
		switch c := d.text[i]; c {
		case '"', '\'':
			if i == at || isBlank(d.text[i-1]) || d.text[i-1] == '[' || d.text[i-1] == '{' || d.text[i-1] == ',' ||
				d.text[i-1] == ':' {
				i = d.quoteEnd(i) - 1
			}
		case '#':
			if i > 0 && isBlank(d.text[i-1]) {
				for i < len(d.text) && d.text[i] != '\n' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return d.trimEnd(at, i)
			}
			if depth--; depth == 0 && (d.text[at] == '{' || d.text[at] == '[') {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return d.trimEnd(at, i)
			}
		}
	}
	return -1
}

// trimEnd returns the end of a range of the text without the white space at its end.
func (d *doc) trimEnd(from, to int) int {
	for to > from && isBlank(d.text[to-1]) {
		to--
	}
	return to
}

// replaceFlow returns the text with a new value of an entry of a flow mapping.
func (d *doc) replaceFlow(k, v *yaml.Node, value any) ([]byte, error) {
	colon := d.colon(k)
	if colon < 0 {
		return nil, ErrNotEditable
	}
	from := colon + 1
	for from < len(d.text) && isBlank(d.text[from]) {
		from++
	}
	end := d.valueEnd(from)
	if end < 0 || v.Anchor != "" {
		return nil, ErrNotEditable
	}
	with := flow(value)
	if from == colon+1 {
		with = " " + with
	}
	return d.splice(from, end, with), nil
}

// removeFlow returns the text without an entry of a flow mapping and one adjacent comma.
func (d *doc) removeFlow(n, k *yaml.Node) ([]byte, error) {
	return d.removeIn(d.brace(n), d.offset(k))
}

// removeIn returns the text without the element at the offset from of the flow collection that
// opens at begin, and without one adjacent comma.
func (d *doc) removeIn(begin, from int) ([]byte, error) {
	end := d.valueEnd(from)
	if begin < 0 || end < 0 {
		return nil, ErrNotEditable
	}
	behind := end
	for behind < len(d.text) && isBlank(d.text[behind]) {
		behind++
	}
	if behind < len(d.text) && d.text[behind] == ',' {
		for behind++; behind < len(d.text) && isBlank(d.text[behind]); behind++ {
		}
		return d.splice(from, behind, ""), nil
	}
	before := from
	for before > begin+1 && isBlank(d.text[before-1]) {
		before--
	}
	if d.text[before-1] == ',' {
		before--
	}
	return d.splice(before, end, ""), nil
}
