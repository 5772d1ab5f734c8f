package infra_test

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Template is a template of CloudFormation whose intrinsic functions are evaluated, with the defaults of its
// parameters. A resource refers to another one by a text that names it: its logical id where a Ref is, and
// "arn:ID" or "ID.Attribute" where an attribute is.
type Template struct {
	Parameters map[string]map[string]any
	Resources  map[string]*Resource
	Outputs    map[string]any
}

// A Resource is one of a template.
type Resource struct {
	Type           string
	DependsOn      any
	DeletionPolicy string
	Condition      string
	Properties     map[string]any
}

// absent is the value of AWS::NoValue.
type absent struct{}

// A reader evaluates the functions of a template.
type reader struct {
	parameters map[string]string
	conditions map[string]*yaml.Node
}

// pseudo are the parameters that every stack has.
var pseudo = map[string]string{
	"AWS::Region": "us-east-1", "AWS::AccountId": "000000000000", "AWS::Partition": "aws",
	"AWS::StackName": "rookery", "AWS::NoValue": "",
}

// Parse reads a template, with these parameters in the place of their defaults. Globals of functions are merged into
// each function.
func Parse(text []byte, parameters map[string]string) (*Template, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) != 1 {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	raw := children(document.Content[0])
	t := &Template{Parameters: map[string]map[string]any{}, Resources: map[string]*Resource{},
		Outputs: map[string]any{}}
	r := &reader{parameters: map[string]string{}, conditions: children(raw["Conditions"])}
	for name, n := range children(raw["Parameters"]) {
		v, err := r.value(n)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		t.Parameters[name], _ = v.(map[string]any)
		r.parameters[name] = fmt.Sprint(t.Parameters[name]["Default"])
	}
	for name, value := range parameters {
		r.parameters[name] = value
	}
	var globals any
	var err error
	if n := children(raw["Globals"])["Function"]; n != nil {
		if globals, err = r.value(n); err != nil {
			return nil, fmt.Errorf("globals: %w", err)
		}
	}
	for name, n := range children(raw["Resources"]) {
		if t.Resources[name], err = r.resource(n, globals); err != nil {
			return nil, fmt.Errorf("resource %s: %w", name, err)
		}
		if c := t.Resources[name].Condition; c != "" {
			if holds, err := r.holds(c); err != nil {
				return nil, err
			} else if !holds {
				delete(t.Resources, name)
			}
		}
	}
	for name, n := range children(raw["Outputs"]) {
		if t.Outputs[name], err = r.value(n); err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
	}
	return t, nil
}

// children are the values of a mapping by their keys; none of a node that is no mapping.
func children(n *yaml.Node) map[string]*yaml.Node {
	all := map[string]*yaml.Node{}
	if n == nil || n.Kind != yaml.MappingNode {
		return all
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		all[n.Content[i].Value] = n.Content[i+1]
	}
	return all
}

func (r *reader) resource(n *yaml.Node, globals any) (*Resource, error) {
	v, err := r.value(n)
	if err != nil {
		return nil, err
	}
	all, _ := v.(map[string]any)
	made := &Resource{DependsOn: all["DependsOn"]}
	made.Type, _ = all["Type"].(string)
	made.DeletionPolicy, _ = all["DeletionPolicy"].(string)
	made.Condition, _ = all["Condition"].(string)
	made.Properties, _ = all["Properties"].(map[string]any)
	if made.Type == "AWS::Serverless::Function" {
		made.Properties, _ = merged(globals, made.Properties).(map[string]any)
	}
	return made, nil
}

// merged is a mapping with what a second one says in its place, mappings below it merged likewise.
func merged(first, second any) any {
	a, both := first.(map[string]any)
	b, ok := second.(map[string]any)
	if !both || !ok {
		return second
	}
	all := map[string]any{}
	for key, value := range a {
		all[key] = value
	}
	for key, value := range b {
		all[key] = value
		if old, ok := a[key]; ok {
			all[key] = merged(old, value)
		}
	}
	return all
}

// value evaluates a node.
func (r *reader) value(n *yaml.Node) (any, error) {
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		return r.function(n)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return r.mapping(n)
	case yaml.SequenceNode:
		all := []any{}
		for _, c := range n.Content {
			v, err := r.value(c)
			if err != nil {
				return nil, err
			}
			if v != (absent{}) {
				all = append(all, v)
			}
		}
		return all, nil
	}
	var v any
	return v, n.Decode(&v)
}

func (r *reader) mapping(n *yaml.Node) (any, error) {
	all := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		v, err := r.value(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		if v != (absent{}) {
			all[n.Content[i].Value] = v
		}
	}
	return all, nil
}

// function evaluates an intrinsic function in its short form.
func (r *reader) function(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!Ref":
		if n.Value == "AWS::NoValue" {
			return absent{}, nil
		}
		return r.named(n.Value), nil
	case "!GetAtt":
		return attribute(n.Value), nil
	case "!Sub":
		return r.sub(n.Value), nil
	case "!If":
		if n.Kind != yaml.SequenceNode || len(n.Content) != 3 {
			return nil, fmt.Errorf("line %d: an If has three parts", n.Line)
		}
		holds, err := r.holds(n.Content[0].Value)
		if err != nil {
			return nil, err
		}
		if holds {
			return r.value(n.Content[1])
		}
		return r.value(n.Content[2])
	}
	return nil, fmt.Errorf("line %d: the function %s is not known", n.Line, n.Tag)
}

// named is the value of a Ref.
func (r *reader) named(name string) string {
	if v, ok := r.parameters[name]; ok {
		return v
	}
	if v, ok := pseudo[name]; ok {
		return v
	}
	return name
}

// attribute is the value of a GetAtt.
func attribute(text string) string {
	if id, ok := strings.CutSuffix(text, ".Arn"); ok {
		return "arn:" + id
	}
	return text
}

var inserted = regexp.MustCompile(`\$\{(!?)([^}]*)\}`)

// sub is the value of a Sub.
func (r *reader) sub(text string) string {
	return inserted.ReplaceAllStringFunc(text, func(v string) string {
		name := v[2 : len(v)-1]
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			return "${" + literal + "}"
		}
		if strings.Contains(name, ".") {
			return attribute(name)
		}
		return r.named(name)
	})
}

// holds evaluates a condition by its name.
func (r *reader) holds(name string) (bool, error) {
	n := r.conditions[name]
	if n == nil {
		return false, fmt.Errorf("there is no condition %q", name)
	}
	return r.test(n)
}

func (r *reader) test(n *yaml.Node) (bool, error) {
	switch n.Tag {
	case "!Condition":
		return r.holds(n.Value)
	case "!Not":
		holds, err := r.test(n.Content[0])
		return !holds, err
	case "!And":
		for _, c := range n.Content {
			if holds, err := r.test(c); err != nil || !holds {
				return false, err
			}
		}
		return true, nil
	case "!Equals":
		a, err := r.value(n.Content[0])
		if err != nil {
			return false, err
		}
		b, err := r.value(n.Content[1])
		return fmt.Sprint(a) == fmt.Sprint(b), err
	}
	return false, fmt.Errorf("line %d: the condition %s is not known", n.Line, n.Tag)
}

// Statements are those of all policies of a role, inline and of their own.
func (t *Template) Statements(role string) ([]Statement, error) {
	r := t.Resources[role]
	if r == nil || r.Type != "AWS::IAM::Role" {
		return nil, fmt.Errorf("there is no role %q", role)
	}
	var all []Statement
	add := func(document any) error {
		made, err := StatementsOf(document)
		all = append(all, made...)
		return err
	}
	for _, p := range list(r.Properties["Policies"]) {
		if err := add(valueAt(p, "PolicyDocument")); err != nil {
			return nil, err
		}
	}
	for _, p := range t.Resources {
		if p.Type != "AWS::IAM::Policy" || !contains(p.Properties["Roles"], role) {
			continue
		}
		if err := add(p.Properties["PolicyDocument"]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// StatementsOf are those of a policy document that Parse evaluated.
func StatementsOf(document any) ([]Statement, error) {
	var all []Statement
	for _, raw := range list(valueAt(document, "Statement")) {
		fields, _ := raw.(map[string]any)
		s := Statement{Conditions: conditionsOf(nil)}
		for key, value := range fields {
			switch key {
			case "Sid":
				s.Sid = fmt.Sprint(value)
			case "Effect":
				s.Deny = value == "Deny"
			case "Action":
				s.Actions = texts(value)
			case "Resource":
				s.Resources = texts(value)
			case "Condition":
				s.Conditions = conditionsOf(value)
			case "Principal":
			default:
				return nil, fmt.Errorf("a statement has the unknown element %q", key)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// conditionsOf returns the conditions of a statement: operator, then key, then values.
func conditionsOf(condition any) map[string]map[string][]string {
	all := map[string]map[string][]string{}
	operators, _ := condition.(map[string]any)
	for operator, keys := range operators {
		all[operator] = map[string][]string{}
		of, _ := keys.(map[string]any)
		for name, values := range of {
			all[operator][name] = texts(values)
		}
	}
	return all
}

// valueAt is a value below a mapping; nil if there is none.
func valueAt(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// list is a value as a list: one of its own is a list of one.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

func texts(v any) []string {
	var all []string
	for _, one := range list(v) {
		all = append(all, fmt.Sprint(one))
	}
	return all
}

func contains(v any, text string) bool {
	for _, one := range list(v) {
		if one == text {
			return true
		}
	}
	return false
}
