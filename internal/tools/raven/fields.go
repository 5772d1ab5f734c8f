package raven

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// unknownFields warns of written fields that the type does not declare. The fields are written all
// the same: Raven accepts undeclared fields, and only a check reports them.
func unknownFields(a *tool.Aside, t *vault.Type, names []string) {
	known := fieldsOf(t)
	for i, name := range names {
		message := fmt.Sprintf("type %s declares no field %q", t.Name, name)
		facts := map[string]any{"field": name, "allowed": vault.Offered(known)}
		if i >= fault.MaxProblems { // further warnings have no details
			delete(facts, "allowed")
		} else if near := fault.Nearest(name, known); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
			facts["nearest"] = []string{near}
		}
		a.Warn("UNKNOWN_FIELD", message, facts)
	}
}

// fieldsOf returns the names of the fields and traits that a type declares.
func fieldsOf(t *vault.Type) []string { return slices.Concat(t.FieldNames(), t.TraitNames()) }

// noType returns INVALID_FIELD if fields contains `type`, which is not a field.
func noType(fields map[string]any) *fault.Fault {
	if _, ok := fields["type"]; !ok {
		return nil
	}
	return fault.New(fault.InvalidField, "the type of an object is not one of its fields").
		With("field", "type")
}

// A writer tries to write one field, and returns an error if its key or value cannot be written.
//
// It writes into a throw-away text, so that the fields of a call can be checked before the note
// exists, and all problems reported together.
type writer func(markdown.Field) error

// inFrontmatter is the writer for the frontmatter of a note.
func inFrontmatter(f markdown.Field) error {
	_, err := markdown.Compose([]markdown.Field{f}, "")
	return err
}

// inDeclaration is the writer for the declaration of an embedded object.
func inDeclaration(f markdown.Field) error {
	_, err := markdown.SetArguments([]byte("## A\n::x\n"), "a", []markdown.Field{f})
	return err
}

// unwritable returns the problems of the fields that cannot be written.
func unwritable(fields map[string]any, write writer) []*fault.Fault {
	var problems []*fault.Fault
	for _, f := range mutation.SortedFields(fields) {
		if err := write(f); err != nil {
			problems = append(problems, fault.Of(err))
		}
	}
	return problems
}

const (
	// maxListed is the maximum size in bytes of a field's value, or of another text, in a list
	// item.
	maxListed = 4 << 10

	// maxListedAll is the maximum size in bytes of the JSON of all fields of a list item.
	maxListedAll = 64 << 10
)

// maxWhole is the maximum size in bytes of the JSON of the fields in an answer about a single
// object.
const maxWhole = 3 << 19

// listedFields returns the fields of a list item, shortened if they are too large, and the names of
// the shortened or omitted fields. Fields that are small enough are returned as they are.
//
// The result must not be modified: it can be the map of the index. Fields are taken in the order of
// their names until maxListedAll bytes are used; each value has at most maxListed. A list item then
// has a bounded size, and a page of them fits into an answer.
func listedFields(fields map[string]any) (shown map[string]any, cut []string) {
	left := maxListedAll
	if small(fields, &left) {
		return fields, nil
	}
	shown, left = make(map[string]any, len(fields)), maxListedAll
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := cutValue(fields[name], max(min(maxListed, left), 0))
		if left > 0 {
			shown[name] = value
		}
		left -= tool.SizeOf(shown[name]) + len(name)
		if left <= 0 || tool.SizeOf(fields[name]) > tool.SizeOf(value) {
			cut = append(cut, name)
		}
	}
	return shown, firstOf(cut, maxCutNames)
}

// maxCutNames is the maximum number of names of shortened fields in an answer.
const maxCutNames = 20

// small reports whether each field has at most maxListed bytes and all together have at most *left,
// which it decreases.
func small(fields map[string]any, left *int) bool {
	for name, value := range fields {
		n := tool.SizeOf(value)
		*left -= n + len(name)
		if n > maxListed || *left < 0 {
			return false
		}
	}
	return true
}

// cutValue returns a value, shortened to about `most` bytes: the beginning of a text, or the first
// elements of a list.
//
// A map of values shares the limit evenly among its members. Numbers, dates and bools are small and
// never shortened. The value itself is not modified.
func cutValue(value any, most int) any {
	switch v := value.(type) {
	case string:
		return tool.Beginning(v, most)
	case markdown.Nested:
		if len(v) > most {
			return tool.Beginning(string(v), most)
		}
	case map[string]any:
		shown := make(map[string]any, len(v))
		for name, e := range v {
			shown[name] = cutValue(e, most/max(len(v), 1))
		}
		return shown
	case []any:
		if tool.SizeOf(v) <= most {
			return v
		}
		shown := []any{}
		for _, e := range v {
			e = cutValue(e, most)
			if most -= tool.SizeOf(e) + 1; most < 0 {
				break
			}
			shown = append(shown, e)
		}
		return shown
	}
	return value
}

// oneOf returns a fault unless exactly one of name and list is given. argument is the name of the
// argument that name comes from.
//
// It is used by tools that either show one definition or list all of them.
func oneOf(argument, name string, list bool) error {
	switch {
	case name == "" && !list:
		return fault.New(Family.Missing, "give argument %q, or argument \"list\"", argument).
			With("argument", argument)
	case name != "" && list:
		return fault.New(Family.Malformed, "argument %q and argument \"list\" cannot be used together", argument).
			With("argument", "list")
	}
	return nil
}

var (
	listMarker = regexp.MustCompile(`^\s*([-*+]|\d{1,9}[.)])(\s|$)`)
	codeFence  = regexp.MustCompile("^(`{3,}|~{3,})")
)

// items returns the list items of a text, each as its lines. A line starts a new item unless it is
// indented, in a fenced code block, or blank with such a line after it. Indentation that all lines
// have in common is removed first.
//
// Lines of an item are joined with the blank lines between them; blank lines between items are
// dropped. A code block ends at a line with at least the marks that it began with.
func items(text string) [][]string {
	var all [][]string
	fence, blank := "", 0
	for line := range strings.SplitSeq(dedent(text), "\n") {
		if strings.TrimSpace(line) == "" {
			blank++
			continue
		}
		mark := codeFence.FindString(line)
		inside := fence != "" || mark != "" || line[0] == ' ' || line[0] == '\t'
		switch {
		case fence == "":
			fence = mark
		case strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]+" \t") == "":
			fence = ""
		}
		if !inside || len(all) == 0 {
			all, blank = append(all, nil), 0
		}
		last := len(all) - 1
		for ; blank > 0; blank-- {
			all[last] = append(all[last], "")
		}
		all[last] = append(all[last], line)
	}
	return all
}

// dedent removes the indentation that all lines have in common.
func dedent(text string) string {
	lines := strings.Split(text, "\n")
	margin, first := "", true
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		own := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if first {
			margin, first = own, false
		}
		for !strings.HasPrefix(own, margin) {
			margin = margin[:len(margin)-1]
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, margin)
	}
	return strings.Join(lines, "\n")
}

// asItem returns an item as it is written: with a list marker, unless it has one, then the time if
// it is not empty. The other lines are indented so that they belong to the item.
//
// An existing marker is kept, so a numbered list stays numbered, unless a time is added: then it
// becomes a dash.
func asItem(item []string, time string) string {
	first := strings.TrimLeft(item[0], " \t")
	switch {
	case time != "":
		first = "- " + time + " " + listMarker.ReplaceAllString(first, "")
	case !listMarker.MatchString(first):
		first = "- " + first
	}
	marker := listMarker.FindString(first)
	more := max(0, len(strings.TrimRight(marker, " \t"))+1-indentation(item[1:]))
	lines := []string{first}
	for _, line := range item[1:] {
		if line != "" {
			line = strings.Repeat(" ", more) + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// indentation returns the smallest indentation of the lines in columns, with tab stops every four
// columns. It ignores empty lines.
func indentation(lines []string) int {
	least := -1
	for _, line := range lines {
		n := 0
	columns:
		for _, c := range line {
			switch c {
			case ' ':
				n++
			case '\t':
				n += 4 - n%4
			default:
				break columns
			}
		}
		if line != "" && (least < 0 || n < least) {
			least = n
		}
	}
	return max(least, 0)
}
