package vault

import (
	"regexp"

	"go.yaml.in/yaml/v4"
)

// A Tree is the configuration of the tree tools: `tree` in rookery.yaml.
type Tree struct {
	// Strict says that a version token becomes invalid with any change to a note or a folder.
	// Otherwise it becomes invalid only if something that the call touches has changed.
	Strict bool

	Rulesets []Ruleset // in the order of the file
}

// A Ruleset is a named set of rules for checking notes. A call of a tree tool names the set that
// applies.
type Ruleset struct {
	ID    string
	Rules []Rule
}

// A Rule is a condition on the nodes that it selects. A node violates it if a required field is
// missing, a forbidden one is present, or the text of a field does not match its pattern. In
// rookery.yaml it is, as the element of a list:
//
//	id: owned
//	select: payloadType = project
//	require: [owner]
//	forbid: [draft]
//	pattern: { status: "^(active|done)$" }
//	severity: warning
type Rule struct {
	ID       string
	Select   string   // an expression in the language of select_nodes; empty: all nodes
	Require  []string // names of fields that must be present
	Forbid   []string // names of fields that must be absent
	Patterns []Pattern
	Warning  bool // a violation is a warning rather than an error
	Line     int  // line in rookery.yaml, from 1
}

// A Pattern is a regular expression that the text of a field must match.
type Pattern struct {
	Field      string
	Expression *regexp.Regexp
}

// Limits of the rules of a vault.
const (
	maxRulesets   = 100
	maxRules      = 1000 // of all sets in total
	maxExpression = 1000 // bytes of one expression
)

// tree parses `tree`.
func (p *configParser) tree(e pair) {
	for _, d := range p.entries(e.value, e.key) {
		switch d.key {
		case "versioning":
			switch p.text(d) {
			case "strict":
				p.c.Tree.Strict = true
			case "notes", "":
			default:
				p.report(d.line, "versioning must be strict or notes")
			}
		case "rulesets":
			p.rulesets(d)
		default:
			p.report(d.line, "tree has no key %q; it has versioning and rulesets", d.key)
		}
	}
}

// rulesets parses `tree.rulesets`.
func (p *configParser) rulesets(e pair) {
	all := p.entries(e.value, e.key)
	if len(all) > maxRulesets {
		p.report(e.line, "there are more than %d rulesets", maxRulesets)
		all = all[:maxRulesets]
	}
	left := maxRules
	for _, d := range all {
		set := Ruleset{ID: d.key}
		for _, s := range p.entries(d.value, "ruleset "+d.key) {
			if s.key != "rules" {
				p.report(s.line, "a ruleset has no key %q; it has rules", s.key)
				continue
			}
			set.Rules = p.rules(s, &left)
		}
		p.c.Tree.Rulesets = append(p.c.Tree.Rulesets, set)
	}
}

// rules parses a list of rules. *left is the number of rules that are still allowed; rules lowers
// it.
func (p *configParser) rules(e pair, left *int) []Rule {
	if e.value.Kind != yaml.SequenceNode {
		p.report(e.line, "%q must be a list", e.key)
		return nil
	}
	var all []Rule
	for _, n := range e.value.Content {
		if *left--; *left < 0 {
			p.report(n.Line, "there are more than %d rules", maxRules)
			return all
		}
		if r, ok := p.rule(pair{"rule", target(n), n.Line}); ok {
			all = append(all, r)
		}
	}
	return all
}

// rule parses one rule. ok is false if it has no id. Unlike other settings, unknown keys of rules
// are reported, because a mistyped key would make the rule always hold. The expression is not
// parsed here.
func (p *configParser) rule(e pair) (r Rule, ok bool) {
	r.Line = e.line
	for _, d := range p.entries(e.value, "a rule") {
		switch d.key {
		case "id":
			r.ID = p.text(d)
		case "select":
			r.Select = p.text(d)
		case "require":
			r.Require = p.list(d)
		case "forbid":
			r.Forbid = p.list(d)
		case "pattern":
			r.Patterns = p.patterns(d)
		case "severity":
			s := p.text(d)
			if r.Warning = s == "warning"; !r.Warning && s != "error" {
				p.report(d.line, "severity must be error or warning")
			}
		default:
			p.report(d.line, "a rule has no key %q; it has id, select, require, forbid, pattern and severity", d.key)
		}
	}
	if r.ID == "" {
		p.report(e.line, "a rule needs an id")
	}
	return r, r.ID != ""
}

// patterns parses a mapping from field names to regular expressions.
func (p *configParser) patterns(e pair) []Pattern {
	var all []Pattern
	for _, d := range p.entries(e.value, e.key) {
		s := p.text(d)
		expression, err := regexp.Compile(s)
		if err != nil || len(s) > maxExpression {
			p.report(d.line, "the pattern of %q is not a regular expression of at most %d bytes (RE2 syntax)",
				d.key, maxExpression)
			continue
		}
		all = append(all, Pattern{d.key, expression})
	}
	return all
}
