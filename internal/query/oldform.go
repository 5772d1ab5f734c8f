package query

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// oldWords are functions that older queries wrote with a colon, with their current form.
var oldWords = map[string]string{
	"has": "has(trait:…)", "contains": "contains(trait:…)", "parent": "in(type:…)",
	"ancestor": "within(type:…)", "child": "has(section)", "descendant": "contains(section)",
	"refs": "refs([[target]])", "content": `content("words")`, "value": ".value==…",
	"on": "in(type:…)", "within": "within(type:…)", "source": ".file_path==…", "at": "at(trait:…)",
}

// shellWords are commands that often follow a pipe of the shell.
var shellWords = []string{"head", "tail", "jq", "grep", "wc", "sort", "less", "awk", "sed", "cut", "xargs"}

// noRoot fails for a query that does not begin with a root.
func (p *parser) noRoot(t token) {
	switch next := p.peek(0); {
	case t.isWord("object") && next.is(":"):
		p.failFix(t, "object: is the older name of type:", "write type: instead of object:")
	case t.is("{"):
		p.braces(t)
	default:
		p.fail(t, "a query begins with type:NAME, trait:NAME, section or link", "type:", "trait:", "section", "link")
	}
}

// braces fails for a brace. Older queries had braces around nested queries.
func (p *parser) braces(t token) {
	p.failFix(t, "nested queries must be in parentheses", "write has(trait:due) instead of has:{trait:due}")
}

// unexpected fails for a token where a predicate, or the end, is expected. For common mistakes it
// adds a fix: the older syntax with colons and braces, pipelines, and a shell pipe inside the
// quotes of the query.
func (p *parser) unexpected(t token) {
	if t.is("|") {
		p.at++
		t = p.peek(0)
	}
	// The token before can reveal the mistake, such as a pipe of the shell.
	before := p.tokens[max(p.at-1, 0)]
	next := p.peek(1)
	switch {
	case t.kind == word && next.is(":") && oldWords[strings.ToLower(t.text)] != "":
		name := strings.ToLower(t.text)
		p.failFix(t, name+": is an older form", "write "+oldWords[name])
	case t.isWord("object") && next.is(":"):
		p.failFix(t, "object: is the older name of type:", "write type: instead of object:")
	case p.isRoot(0):
		p.failFix(t, "each branch of a query has one root",
			"put | between the branches, or put the query into a function")
	case t.isWord("_"):
		p.failFix(t, "_ can only be used for the element of a list", "write any(.field, _==value)")
	case t.is("|>"):
		p.failFix(t, "there are no pipelines", "write sort:.field, limit:N or count at the end")
	case t.kind == word && before.is("|") && slices.Contains(shellWords, t.text):
		p.failFix(t, "this is a pipe of the shell inside the query", "close the quotes of the query before the pipe")
	case t.is("{"):
		p.braces(t)
	case t.is(":") && before.kind == word && p.at >= 1:
		p.failFix(t, "a time with a clock must be quoted", `write "2026-03-02T10:30"`)
	default:
		p.fail(t, "expected a predicate", "a field such as .status", "a function such as has(…)", "!", "(", "|")
	}
}

// noFunction fails for a function that does not exist.
func (p *parser) noFunction(t token) {
	switch name := strings.ToLower(t.text); name {
	case "notnull":
		p.failFix(t, "notnull() is an older form", "write exists(.field)")
	case "isnull":
		p.failFix(t, "isnull() is an older form", "write !exists(.field)")
	default:
		names := functionNames()
		p.fail(t, "there is no such function", names...)
		if near := fault.Nearest(name, names); near != "" && p.failed != nil {
			p.failed = p.failed.With("nearest", []string{near}).Fix("did you mean %s(…)?", near)
		}
	}
}

// functionNames returns the names of all functions, sorted.
func functionNames() []string {
	var names []string
	for name := range functions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
