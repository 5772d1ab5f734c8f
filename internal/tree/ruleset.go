package tree

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Violation is one problem of a node that a rule has found.
//
// The severity error means that the vault does not have the form that its schema and rules require;
// a warning can be intended.
type Violation struct {
	RuleID string `json:"ruleId"` // such as broken-reference
	// error or warning
	Severity string `json:"severity"`
	NodeID   string `json:"nodeId"`
	// the property, or the lines of the file: 12 or 12-14
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// The values of Violation.Severity.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// The ids of the rule sets that every vault has. DefaultRules contains the rules of all other sets.
const (
	DefaultRules   = "default"
	structureRules = "structure"
	schemaRules    = "schema"
	linkRules      = "links"
	orderRules     = "order"
)

// Rulesets returns the ids of the rule sets of a vault: the built-in ones and those in its
// configuration.
func Rulesets(x *index.Index) []string {
	all := []string{DefaultRules, structureRules, schemaRules, linkRules, orderRules}
	for _, own := range x.Config().Tree.Rulesets {
		all = append(all, own.ID)
	}
	return all
}

// A Checker checks nodes by a rule set. It must be used by one goroutine at a time. It is fastest
// if the nodes of a note are checked one after the other, because it keeps the data of the last
// note only.
type Checker struct {
	tree *Tree
	eval *Evaluator
	set  string
	own  []ownRule
	refs *index.Resolver
	data *noteData // data of the last note or folder

	endless map[Node]bool // whether the transclusions from a node form a cycle, as far as known
}

// An ownRule is a rule in the configuration of the vault, with its parsed query.
type ownRule struct {
	vault.Rule
	selects *Expr // the nodes that it applies to; nil means all
}

// NewChecker returns a Checker for a rule set. It returns an INVALID_PARAMETER fault if the vault
// does not have the set, or if a query in it is invalid. The queries of the vault's own rules are
// parsed here, once, so that Check returns no errors. The set DefaultRules has the rules of all
// sets.
func NewChecker(t *Tree, c Clock, set string) (*Checker, error) {
	if !slices.Contains(Rulesets(t.Index), set) {
		return nil, malformed("unknown_ruleset", "there is no such set of rules").With("argument", "rulesetId").
			With("available", Rulesets(t.Index))
	}
	k := &Checker{
		tree: t, eval: NewEvaluator(t, c), set: set, refs: t.Index.Resolver(), endless: map[Node]bool{},
	}
	for _, own := range t.Index.Config().Tree.Rulesets {
		if own.ID != set && set != DefaultRules {
			continue
		}
		for _, r := range own.Rules {
			rule := ownRule{Rule: r}
			if r.Select != "" {
				var err error
				if rule.selects, err = Parse(r.Select); err != nil {
					return nil, malformed("ruleset_invalid", "the query of a rule in rookery.yaml is invalid: %v", err).
						With("rule", r.ID).With("line", r.Line)
				}
			}
			k.own = append(k.own, rule)
		}
	}
	return k, nil
}

// has reports whether the rules of a built-in set are checked.
func (k *Checker) has(set string) bool { return k.set == set || k.set == DefaultRules }

// NeedsText reports whether Check needs the texts of notes.
func (k *Checker) NeedsText() bool {
	return k.has(structureRules) || slices.ContainsFunc(k.own, func(r ownRule) bool { return r.selects.NeedsText() })
}

// Check returns the violations of a node. text is the text of its file; it can be nil if NeedsText
// returns false. Checking all nodes of a note one after the other takes time in proportion to the
// note.
func (k *Checker) Check(n Node, text []byte) []Violation {
	// Folders have a nil note, so each of them gets new data.
	if k.data == nil || n.Note == nil || k.data.note != n.Note {
		k.data = &noteData{note: n.Note, text: text}
	}
	var all []Violation
	if k.has(structureRules) {
		all = append(all, k.structure(n, text)...)
	}
	if k.has(schemaRules) {
		all = append(all, k.schema(n)...)
	}
	if k.has(linkRules) {
		all = append(all, k.links(n)...)
	}
	if k.has(orderRules) {
		all = append(all, k.order(n)...)
	}
	return append(all, k.ownRules(n, text)...)
}

// problem returns a Violation of the node n.
func problem(n Node, rule, severity, path, format string, args ...any) Violation {
	return Violation{rule, severity, n.ID(), path, fmt.Sprintf(format, args...)}
}

// structure checks the heading and the transclusion of a node and, for a note, its text. text is
// needed only for a note.
func (k *Checker) structure(n Node, text []byte) []Violation {
	var all []Violation
	if n.Section > 0 {
		s := n.section()
		above, _ := k.tree.Parent(n)
		// Headings at the top of a note may have level 1 or 2: a note counts as a heading of level
		// 1.
		if level := max(1, above.Level()); s.Level() > level+1 {
			all = append(all, problem(n, "heading-skip", SeverityWarning, strconv.Itoa(s.Line()),
				"the heading has level %d below one of level %d", s.Level(), level))
		}
		if twin := k.duplicateHeading(n); twin > 0 {
			all = append(all, problem(n, "duplicate-slug", SeverityWarning, strconv.Itoa(s.Line()),
				"the heading is equal to that in line %d", twin))
		}
	}
	if r := k.tree.Reference(n); r != nil && r.Broken {
		if k.cycles(n) {
			all = append(all, problem(n, "reference-cycle", SeverityError, "body",
				"the node is in a cycle of references"))
		} else {
			all = append(all, problem(n, "broken-reference", SeverityWarning, "body",
				"the node represents one that does not exist, or is more than %d references away", maxReferences))
		}
	}
	if n.Kind() == Note {
		all = append(all, textRules(n, text)...)
	}
	return all
}

// cycles reports whether the transclusions from a node are endless, because they lead to a node
// that they have passed. The result is kept for each node of the chain, so that the nodes of a long
// chain are walked once.
func (k *Checker) cycles(n Node) bool {
	var passed []Node
	endless := false
	for at := n; k.tree.embedded(at) != ""; {
		known, met := k.endless[at]
		if met {
			endless = known
			break
		}
		k.endless[at] = true // a node that the same walk meets again is in a cycle
		passed = append(passed, at)
		to := k.tree.Index.From(at.Note, k.tree.embedded(at))
		if to.Object.Note == nil {
			break
		}
		at = Node{Note: to.Object.Note, Section: to.Object.Number() + 1}
	}
	for _, at := range passed {
		k.endless[at] = endless
	}
	return endless
}

// duplicateHeading returns the line of an earlier heading of the note with the same text, if this
// section has no id of its own; 0 if there is none. The addresses of such headings differ only in a
// number, which can change when another one is removed.
func (k *Checker) duplicateHeading(n Node) int {
	s := n.section()
	// The slug of a repeated heading has a number at its end. Any other slug is unique, or an id
	// that the section declares.
	if slug := markdown.Slug(s.Title); s.Slug == slug || !strings.HasPrefix(s.Slug, slug) {
		return 0
	}
	if first := k.data.firstWithTitle()[fold(s.Title)]; first < n.Section-1 {
		return n.Note.Sections[first].Line()
	}
	return 0
}

// textRules checks the text of a note for headings without text, and for blocks that are not
// closed.
func textRules(n Node, text []byte) []Violation {
	var all []Violation
	number := 0
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		number++
		if marks := bytes.TrimSpace(line); isEmptyHeading(marks) && !bytes.HasPrefix(line, []byte("    ")) {
			all = append(all, problem(n, "empty-heading", SeverityWarning, strconv.Itoa(number),
				"the heading has no text"))
		}
	}
	if n.Note.Unindexed() == 0 && markdown.Unclosed(text) {
		at := AtLine(n.Note, n.Note.LineCount())
		all = append(all, problem(at, "unclosed-fence", SeverityError, "body",
			"a fence, a comment or a block of HTML is not closed, and contains the rest of the note"))
	}
	return all
}

// isEmptyHeading reports whether a line consists only of one to six # characters.
func isEmptyHeading(line []byte) bool {
	return len(line) > 0 && len(line) <= 6 && len(bytes.Trim(line, "#")) == 0
}

// schema checks the fields of a note or a section by its type: that required fields have a value,
// that values are valid, and that the type declares the fields. Folders are not checked. For a node
// that declares an unknown type, that is the only violation.
func (k *Checker) schema(n Node) []Violation {
	declared := ""
	switch n.Kind() {
	case Section:
		declared = n.section().DeclaredType()
	case Note:
		declared = n.Note.DeclaredType
	default:
		return nil
	}
	typ, known := k.tree.Index.Schema().Type(k.tree.Type(n))
	if _, ok := k.tree.Index.Schema().Type(declared); declared != "" && !ok {
		return []Violation{problem(n, "unknown-type", SeverityError, "type",
			"the schema does not have the type that the node declares")}
	}
	// The payload of a transclusion is that of its source, and is checked there.
	if !known || k.tree.embedded(n) != "" {
		return nil
	}
	values := map[string]any{}
	for _, f := range k.tree.Fields(n) {
		// An empty text counts as missing. The id of a section is part of its address, and not a
		// field of its type.
		if f.Value != "" && (n.Section == 0 || f.Name != "id") {
			values[f.Name] = f.Value
		}
	}
	var all []Violation
	for _, p := range typ.Missing(values) {
		field, _ := p.Details["field"].(string)
		all = append(all, problem(n, "missing-required", SeverityError, field,
			"the required property '%s' is null or empty", field))
	}
	checked := typ.Check(values, k.eval.clock)
	for _, p := range checked.Problems {
		field, _ := p.Details["field"].(string)
		all = append(all, problem(n, ruleOf(typ, field, p), SeverityError, field, "%s", p.Message))
	}
	// A type without fields allows any.
	if len(typ.Fields) > 0 && typ.Name != vault.Section {
		for _, name := range checked.Unknown {
			if !n.isOutsidePayload(name) {
				all = append(all, problem(n, "unknown-field", SeverityWarning, name,
					"the type %s declares no such field", typ.Name))
			}
		}
	}
	return all
}

// ruleOf returns the id of the rule that the value of a field violates.
//
// A value of a field that typ does not declare is of the wrong type.
func ruleOf(typ *vault.Type, field string, _ *fault.Fault) string {
	f, ok := typ.Field(field)
	switch {
	case !ok:
		return "wrong-type"
	case len(f.Values) > 0:
		return "enum"
	case f.IsTime():
		return "invalid-date"
	}
	return "wrong-type"
}

// links checks the references in the own text and the fields of a node. A reference that resolves
// to a note, but not to the part of it that it names, does not resolve.
func (k *Checker) links(n Node) []Violation {
	if n.Note == nil {
		return nil
	}
	var all []Violation
	for _, r := range k.data.references()[n.Section] {
		switch to := k.refs.From(n.Note, r.Target); {
		case len(to.Matches) > 0:
			all = append(all, problem(n, "ambiguous-ref", SeverityWarning, strconv.Itoa(r.Line()),
				"a reference is ambiguous: %d nodes match", len(to.Matches)))
		case to.ID == "" || to.FragmentMissing:
			all = append(all, problem(n, "unresolved-ref", SeverityWarning, strconv.Itoa(r.Line()),
				"a reference does not resolve"))
		}
	}
	return all
}

// order checks that the children in the order of a folder exist. It returns one warning with the
// number of those that do not. A note has no such order.
func (k *Checker) order(n Node) []Violation {
	if n.Note != nil {
		return nil
	}
	there := map[string]bool{}
	for _, child := range k.tree.Children(n) {
		there[entry(child)] = true
	}
	stale := 0
	for _, name := range k.tree.folderInfo(n.Folder).Order {
		if !there[name] {
			stale++
		}
	}
	if stale == 0 {
		return nil
	}
	return []Violation{problem(n, "order-stale", SeverityWarning, "order",
		"the order names %d children that do not exist", stale)}
}

// ownRules checks the rules in the configuration of the vault.
//
// A rule without a query applies to all nodes. A query that needs a text reads it from the file
// that Check was given.
func (k *Checker) ownRules(n Node, text []byte) []Violation {
	var all []Violation
	for _, r := range k.own {
		e := k.eval.With(func(n Node, content bool) string {
			extent := k.data.extents()[n.Section]
			if content {
				return string(Cut(text, extent.Content))
			}
			return string(Cut(text, extent.Own))
		})
		if e.Holds(r.selects, n) != Yes {
			continue
		}
		all = append(all, k.violations(n, r)...)
	}
	return all
}

// violations returns the violations of one rule of the vault by a node to which the rule applies:
// one for each required property that is missing, forbidden property that exists, and pattern that
// does not match. A pattern does not require that the property exists.
func (k *Checker) violations(n Node, r ownRule) []Violation {
	severity := SeverityError
	if r.Warning {
		severity = SeverityWarning
	}
	var all []Violation
	has := func(name string) operand { return k.eval.operand(n, propertyOf(strings.Split(name, "."))) }
	for _, name := range r.Require {
		if o := has(name); !o.found || o.value == "" {
			all = append(all, problem(n, r.ID, severity, name, "the required property '%s' is null or empty", name))
		}
	}
	for _, name := range r.Forbid {
		if has(name).found {
			all = append(all, problem(n, r.ID, severity, name, "the property '%s' is forbidden", name))
		}
	}
	for _, p := range r.Patterns {
		if o := has(p.Field); o.found && !p.Expression.MatchString(bareText(o.value)) {
			all = append(all, problem(n, r.ID, severity, p.Field,
				"the property '%s' does not match the pattern of the rule", p.Field))
		}
	}
	return all
}
