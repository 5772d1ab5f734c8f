package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rookeryhq/rookery/internal/fault"
)

// ParseArgs decodes the arguments of a call: a JSON object in UTF-8. An empty input is an empty
// object. The error is a fault with a code of the tool's family.
func (t *Tool) ParseArgs(data json.RawMessage) (map[string]json.RawMessage, error) {
	args := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(data)) == 0 {
		return args, nil
	}
	if !utf8.Valid(data) || loneSurrogate(data) {
		return nil, t.notUTF8()
	}
	var s sizing
	s.read(data)
	if err := s.check(t.Family); err != nil {
		return nil, err
	}
	if json.Unmarshal(data, &args) != nil || args == nil {
		return nil, fault.New(t.Family.Malformed, "the arguments must be one JSON object").
			Fix(`send an object: {"name": "value"}`)
	}
	return args, nil
}

// admit checks the size of the arguments of a call, and removes those that are null, unless null is
// a valid value of them (NullKept). The values must be valid JSON in UTF-8.
func (t *Tool) admit(args map[string]json.RawMessage) error {
	s := sizing{values: max(1, len(args)), args: len(args), nested: 1}
	for _, raw := range args {
		if loneSurrogate(raw) {
			return t.notUTF8()
		}
		s.depth = 1
		s.read(raw)
	}
	if err := s.check(t.Family); err != nil {
		return err
	}
	maps.DeleteFunc(args, func(name string, raw json.RawMessage) bool {
		a, _ := t.Arg(name)
		return string(raw) == "null" && !a.NullKept
	})
	return nil
}

// notUTF8 returns the fault of arguments with bytes or escapes that are not characters.
func (t *Tool) notUTF8() error {
	return fault.New(t.Family.Malformed, "the arguments are not valid UTF-8")
}

// loneSurrogate reports whether the JSON contains an escaped half of a surrogate pair.
// encoding/json would silently replace it by U+FFFD.
func loneSurrogate(data []byte) bool {
	for i := 0; i+5 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if data[i+1] != 'u' {
			i++ // skip the escaped byte
			continue
		}
		switch half := hex4(data[i+2:]); {
		case half >= 0xD800 && half < 0xDC00:
			paired := i+11 < len(data) && data[i+6] == '\\' && data[i+7] == 'u'
			if !paired || hex4(data[i+8:])&0xFC00 != 0xDC00 {
				return true
			}
			i += 11
		case half >= 0xDC00 && half < 0xE000:
			return true
		}
	}
	return false
}

// hex4 returns the value of the first four bytes as hexadecimal digits, or 0 if they are not
// digits.
func hex4(b []byte) int {
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// A checked contains the arguments of a call that are valid for its tool, by canonical name and
// with defaults: as JSON, and as the values that encoding/json decodes into an any.
type checked struct {
	json   map[string]json.RawMessage
	values map[string]any
}

// set sets an argument.
func (c checked) set(name string, raw json.RawMessage, value any) {
	c.json[name], c.values[name] = raw, value
}

// canonical checks all arguments against the tool's schema and returns them by canonical name, with
// the defaults filled in. All problems are reported together in one fault, so that a caller can
// correct them at once. Arguments are checked in the order of their names; missing ones follow in
// the order of the tool.
func (t *Tool) canonical(args map[string]json.RawMessage) (checked, error) {
	out := checked{map[string]json.RawMessage{}, map[string]any{}}
	var problems []*fault.Fault
	for _, name := range slices.Sorted(maps.Keys(args)) {
		a, ok := t.Arg(name)
		if !ok {
			problems = append(problems, t.unknown(name))
			continue
		}
		if _, twice := out.json[a.Name]; twice {
			problems = append(problems, fault.New(t.Family.Malformed,
				"argument %q is given twice, also as an alias", a.Name).With("argument", a.Name))
			continue
		}
		raw := args[name]
		value, wrong := t.checkArg(a, raw)
		if len(wrong) == 0 {
			raw, value = a.filled(raw, value)
		}
		problems = append(problems, wrong...)
		out.set(a.Name, raw, value)
	}
	for _, a := range t.Args {
		_, given := out.json[a.Name]
		switch {
		case given, a.Shared:
		case t.needs(a, out.json):
			problems = append(problems, fault.New(t.Family.Missing,
				"argument %q is missing: %s", a.Name, a.Doc).With("argument", a.Name))
		case a.Schema().Default != nil:
			out.set(a.Name, a.Schema().Default, a.form.made().fallback)
		}
	}
	return out, fault.Join(t.Family.Several, problems).Err()
}

// ReadArgs checks raw as the arguments of a call of this tool and decodes them into in, a pointer
// to the tool's input. It is used for operations nested in another call: shared arguments, and
// those for which refused returns true, are reported as faults. All problems are reported together.
func (t *Tool) ReadArgs(raw json.RawMessage, refused func(Arg) bool, in any) error {
	args, err := t.ParseArgs(raw)
	if err == nil {
		err = t.admit(args)
	}
	if err != nil {
		return err
	}
	var problems []*fault.Fault
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if a, ok := t.Arg(name); ok && (a.Shared || refused(a)) {
			problems = append(problems, fault.New(t.Family.Malformed,
				"argument %q does not belong to the operation", name).With("argument", name))
			delete(args, name)
		}
	}
	valid, err := t.canonical(args)
	if err != nil {
		f := fault.Of(err)
		if len(f.Errors) > 0 {
			problems = append(problems, f.Errors...)
		} else {
			problems = append(problems, f)
		}
	}
	if f := fault.Join(t.Family.Several, problems); f != nil {
		return f
	}
	return t.fill(valid.json, in)
}

// needs reports whether argument a is required in a call with the given arguments, which are keyed
// by canonical name.
func (t *Tool) needs(a Arg, given map[string]json.RawMessage) bool {
	if a.Unless == "" {
		return a.Required
	}
	spares, _ := t.ArgFor(a.Unless)
	return string(given[spares.Name]) != "true"
}

// checkArg decodes the value of one argument and returns it with its problems, none if it is valid.
// For an object or a list of objects there is one fault for each invalid member.
func (t *Tool) checkArg(a Arg, raw json.RawMessage) (v any, wrong []*fault.Fault) {
	if json.Unmarshal(raw, &v) == nil && a.form.made().resolved.Validate(v) == nil {
		return v, nil
	}
	return v, t.problems(a, v)
}

// problems returns the problems of an invalid value of an argument, at least one.
func (t *Tool) problems(a Arg, v any) []*fault.Fault {
	if f := t.tooLong(a, v); f != nil {
		return []*fault.Fault{f}
	}
	if problems := t.inside(a, v); len(problems) > 0 {
		return problems
	}
	code := t.malformed(a)
	if v == "" && a.form.required {
		code = t.Family.Missing
	}
	f := fault.New(code, "argument %q must be %s", a.Name, describe(a.form.made().stated)).
		With("argument", a.Name)
	if len(a.Schema().Enum) > 0 {
		f = f.With("allowed", a.Schema().Enum)
	}
	return []*fault.Fault{f}
}

// malformed returns the code of an invalid value of the argument.
func (t *Tool) malformed(a Arg) fault.Code { return cmp.Or(a.Code, t.Family.Malformed) }

// unknown returns the fault of an argument that the tool does not have. A very long name is not
// echoed.
func (t *Tool) unknown(name string) *fault.Fault {
	var known []string
	for _, a := range t.Args {
		known = append(known, a.Name)
	}
	if len(name) > fault.MaxNear || !utf8.ValidString(name) {
		return fault.New(t.Family.Malformed, "an argument has an unreadable name").
			With("available", known)
	}
	f := fault.New(t.Family.Malformed, "%s has no argument %q", t.Name, name).
		With("argument", name).With("available", known)
	for _, other := range t.Former[name] {
		f = f.Try(other, nil)
	}
	if near := fault.Nearest(name, known); near != "" {
		f.Message += fmt.Sprintf("; did you mean %q?", near)
		f = f.With("nearest", []string{near}).Fix("use %q", near)
	}
	return f
}

// describe returns a phrase that describes the values a schema allows, such as "a whole number of 1
// to 200". It is the part of a message after "must be".
func describe(s *jsonschema.Schema) string {
	if len(s.Enum) > 0 {
		var options []string
		for _, o := range s.Enum {
			if o == nil {
				o = "null"
			}
			options = append(options, fmt.Sprint(o))
		}
		return "one of " + strings.Join(options, ", ")
	}
	if len(s.Types) > 0 {
		var all []string
		for _, kind := range s.Types {
			all = append(all, nouns[kind])
		}
		if s.Pattern == pair {
			return strings.Join(all, " or ") + ", where each text is name=value"
		}
		return strings.Join(all, " or ")
	}
	noun := nouns[s.Type]
	switch {
	case s.Type == "array" && s.Items != nil:
		return "a list, each entry " + describe(s.Items)
	case s.MinLength != nil || s.MaxLength != nil:
		return noun + length(s.MinLength, s.MaxLength)
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("%s from %v to %v", noun, *s.Minimum, *s.Maximum)
	}
	return noun + within(s.Minimum, s.Maximum)
}

// length returns a phrase that describes the allowed length of a text; "" if there is no bound.
func length(least, most *int) string {
	if least != nil && *least == 0 {
		least = nil // every text has at least 0 characters
	}
	switch {
	case least == nil && most == nil:
		return ""
	case most == nil && *least == 1:
		return " that is not empty"
	}
	return within(least, most) + " characters"
}

// within returns a phrase that describes the bounds of a number; "" if there is none.
func within[N int | float64](least, most *N) string {
	switch {
	case least == nil && most == nil:
		return ""
	case least == nil:
		return fmt.Sprintf(" of at most %v", *most)
	case most == nil:
		return fmt.Sprintf(" of at least %v", *least)
	case *least == *most:
		return fmt.Sprintf(" of %v", *least)
	}
	return fmt.Sprintf(" of %v to %v", *least, *most)
}

// nouns maps each JSON Schema type to the noun used in messages.
var nouns = map[string]string{
	"string": "a text", "integer": "a whole number", "number": "a number",
	"boolean": "true or false", "array": "a list", "object": "an object",
	"null": "null", "": "any value",
}

// valueArgs caches, by struct type, the fields of structs as arguments: reflect.Type to []Arg.
var valueArgs sync.Map

// CheckValue returns a fault of the family if a JSON object would not be valid as the arguments of
// a call whose input has the type of like, a struct. Unknown members are ignored, and null counts
// as missing. All problems are reported together.
func CheckValue(f *Family, object json.RawMessage, like any) error {
	of := reflect.TypeOf(like)
	made, ok := valueArgs.Load(of)
	if !ok {
		made, _ = valueArgs.LoadOrStore(of, argsOfType(of, nil))
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return fmt.Errorf("read an object: %w", err)
	}
	t := &Tool{Spec: Spec{Family: f}, Args: made.([]Arg)}
	var problems []*fault.Fault
	for _, a := range t.Args {
		raw, given := members[a.Name]
		switch {
		case given && string(raw) != "null":
			_, wrong := t.checkArg(a, raw)
			problems = append(problems, wrong...)
		case a.Required:
			problems = append(problems, fault.New(f.Missing, "argument %q is missing: %s", a.Name, a.Doc).
				With("argument", a.Name).With("path", a.Name))
		}
	}
	if wrong := fault.Join(f.Several, problems); wrong != nil {
		return wrong
	}
	return nil
}
