package tool

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// A Resource is a document with a URI that a client can read. A tool returns its content; the
// Resource is part of that tool's Spec.
type Resource struct {
	// URI is a template (RFC 6570, levels 1 and 2). Its variables are text arguments of the tool:
	// {name} matches one segment, {+name} matches the rest of the URI, slashes included.
	URI string

	Name, Title, Doc string
	MIME             string

	// Key is the key of the document's text in the answer's data; empty: the document is the data
	// as JSON.
	Key string

	// Each says that there is one resource for each value of the template's only variable and that
	// they are listed. If it is false, the template itself is listed.
	Each bool
}

// A piece is a part of a template: a literal text or a variable.
type piece struct {
	text, variable string
	rest           bool // the variable matches slashes too
}

// pieces splits the template into its pieces.
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

// Vars returns the names of the template's variables, in order.
func (r Resource) Vars() []string {
	var names []string
	for _, p := range r.pieces() {
		if p.variable != "" {
			names = append(names, p.variable)
		}
	}
	return names
}

// Match returns the values of the variables if the URI matches the template, or false. The values
// are unescaped, non-empty and valid UTF-8.
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

// Expand returns the URI for these values, escaped. It is the inverse of Match.
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
