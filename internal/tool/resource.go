package tool

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// A Resource is a document that goes by a URI, and which the tool whose Spec holds it reads.
type Resource struct {
	// URI is a template (RFC 6570, the first two levels) whose variables are arguments of the tool,
	// all of them texts: {name} stands for one segment, {+name} for what is left, slashes too.
	URI string

	Name, Title, Doc string
	MIME             string

	// Key is the member of the answer's data that is the text; empty: the data, as JSON.
	Key string

	// Each says that there is one for each value of its only variable, and that they are listed;
	// where it is false the template is shown.
	Each bool
}

// A piece of a template is a text, or a variable.
type piece struct {
	text, variable string
	rest           bool // a variable that takes slashes
}

// pieces takes the template apart.
func (r Resource) pieces() []piece {
	var all []piece
	for left := r.URI; left != ""; {
		text, from, found := strings.Cut(left, "{")
		all = append(all, piece{text: text})
		if !found {
			break
		}
		name, behind, _ := strings.Cut(from, "}")
		name, rest := strings.CutPrefix(name, "+")
		all = append(all, piece{variable: name, rest: rest})
		left = behind
	}
	return all
}

// Vars are the names of the variables, in order.
func (r Resource) Vars() []string {
	var names []string
	for _, p := range r.pieces() {
		if p.variable != "" {
			names = append(names, p.variable)
		}
	}
	return names
}

// Match reads the values of the variables out of a URI, if it is one of this template. None is
// empty, all are UTF-8, and what was escaped is plain.
func (r Resource) Match(uri string) (map[string]string, bool) {
	values := map[string]string{}
	for _, p := range r.pieces() {
		if p.variable == "" {
			var ok bool
			if uri, ok = strings.CutPrefix(uri, p.text); !ok {
				return nil, false
			}
			continue
		}
		raw := uri
		if !p.rest {
			raw, _, _ = strings.Cut(uri, "/")
		}
		uri = uri[len(raw):]
		value, err := url.PathUnescape(raw)
		slash := !p.rest && strings.Contains(value, "/")
		if err != nil || value == "" || slash || !utf8.ValidString(value) {
			return nil, false
		}
		values[p.variable] = value
	}
	return values, uri == ""
}

// Expand is the URI with these values.
func (r Resource) Expand(values map[string]string) string {
	var b strings.Builder
	for _, p := range r.pieces() {
		value := url.PathEscape(values[p.variable])
		if p.rest {
			value = strings.ReplaceAll(value, "%2F", "/")
		}
		b.WriteString(p.text + value)
	}
	return b.String()
}
