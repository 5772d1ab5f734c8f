package tool

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
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

// MaxValues is the maximum number of completion suggestions in one answer.
const MaxValues = 100

// CompletionIn is embedded in the input of every tool that returns completion suggestions. Such a
// tool also takes `kind`, one of its Spec's Completes; `vault`, if the suggestions come from a
// vault; and `of`, if they depend on another argument's value.
type CompletionIn struct {
	// the text typed so far
	Prefix string `json:"prefix,omitempty" max:"1024"`
	Page
}

// Values is the output of every tool that returns completion suggestions: the distinct values that
// begin with the prefix, in order. A value that ends in a slash or an equals sign is itself a
// prefix of other values. The meta reports whether there are more, but not how many, because
// counting costs as much as listing.
type Values struct {
	Aside `json:"-"`
	Items []string `json:"items"`
	// labels of some of the items
	About map[string]string `json:"about,omitempty"`
}

// More records in the meta that more values follow this page. last is the key of the last value.
func (v *Values) More(last string) {
	v.Note("has_more", true)
	v.Note("next_page_token", Token(last))
}

// A CompletionRequest is an argument that a user is typing.
type CompletionRequest struct {
	Kind      string // of the argument's Complete
	Of        string // value of the argument named by Arg.Of; empty: unknown
	Prefix    string
	Vault     string // empty: the implied vault
	Limit     int    // 0: MaxValues
	PageToken string
}

// A CompletionPage is one page of suggestions for a CompletionRequest.
type CompletionPage struct {
	Items []string
	About map[string]string // short descriptions of some items
	Next  string            // token of the next page; empty: this is the last
}

// Complete calls the tool that completes values of the kind u.Kind and returns its suggestions. It
// returns the zero CompletionPage if no tool does. The call goes through authorization and rate
// limits like any other, and the result contains only values that the caller may see.
func Complete(
	ctx context.Context, inv Invoker, tools []*Tool, u CompletionRequest,
) (CompletionPage, error) {
	i := slices.IndexFunc(tools, func(t *Tool) bool { return slices.Contains(t.Completes, u.Kind) })
	if i < 0 {
		return CompletionPage{}, nil
	}
	answer, err := inv.Invoke(ctx, tools[i].Name, u.args(tools[i]))
	if err != nil {
		return CompletionPage{}, err
	}
	var e struct {
		Data CompletionPage
		Meta struct {
			Next string `json:"next_page_token"`
		}
	}
	if err := json.Unmarshal(answer, &e); err != nil {
		return CompletionPage{}, fault.New(fault.Internal, "the completions are unreadable").Because(err)
	}
	return CompletionPage{e.Data.Items, e.Data.About, e.Meta.Next}, nil
}

// args returns the arguments of the call of the completing tool t.
func (u CompletionRequest) args(t *Tool) json.RawMessage {
	limit := u.Limit
	if limit == 0 {
		limit = MaxValues
	}
	args := map[string]any{"kind": u.Kind, "prefix": u.Prefix}
	if a, ok := t.ArgFor(MeansLimit); ok {
		args[a.Name] = limit
	}
	if a, ok := t.ArgFor(MeansToken); ok && u.PageToken != "" {
		args[a.Name] = u.PageToken
	}
	if _, ok := t.Arg("of"); ok && u.Of != "" {
		args["of"] = u.Of
	}
	if _, ok := t.Arg("vault"); ok && u.Vault != "" {
		args["vault"] = u.Vault
	}
	return mustMarshal(args)
}
