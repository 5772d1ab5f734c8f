package tool

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// An OldForm maps the arguments of calls under an older name of a tool to its current arguments.
type OldForm struct {
	Set  map[string]string // values of arguments that the old name implies, as text
	Args map[string]string // current names of arguments, by old name
}

// translate rewrites args, the arguments of a call under an older name, to the tool's current form.
// Arguments under a current name win. Calls in the old form may give a list as a single text, and
// booleans as "true" and "false"; both are converted.
func (o OldForm) translate(t *Tool, args map[string]json.RawMessage) {
	renamed := map[string]json.RawMessage{}
	for old, name := range o.Args {
		for _, spelled := range []string{old, strings.ReplaceAll(old, "_", "-")} {
			if raw, given := args[spelled]; given {
				delete(args, spelled)
				renamed[name] = raw
			}
		}
	}
	for name, raw := range renamed {
		if _, given := args[name]; !given {
			args[name] = raw
		}
	}
	for name, value := range o.Set {
		if _, given := args[name]; !given {
			args[name] = mustMarshal(value)
		}
	}
	for name, raw := range args {
		a, ok := t.Arg(name)
		var word string
		if !ok || json.Unmarshal(raw, &word) != nil {
			continue
		}
		switch {
		case a.Bool() && (word == "true" || word == "false"):
			args[name] = json.RawMessage(word)
		case a.List() && !a.Takes(word):
			args[name] = mustMarshal([]string{word})
		}
	}
}

// Takes reports whether a value, decoded from JSON, is valid for the argument.
func (a Arg) Takes(value any) bool { return a.form.made().resolved.Validate(value) == nil }

// lift replaces each argument of Lifted by its members, which are arguments themselves. It returns
// a fault if an argument is given both ways. A lifted argument with an invalid value is left in
// place, so that the later check reports it.
func (t *Tool) lift(args map[string]json.RawMessage) error {
	for _, name := range t.Lifted {
		raw, given := args[name]
		a, _ := t.Arg(name)
		var members map[string]json.RawMessage
		if !given {
			continue
		}
		if _, wrong := t.checkArg(a, raw); len(wrong) > 0 || json.Unmarshal(raw, &members) != nil {
			continue
		}
		delete(args, name)
		for _, member := range slices.Sorted(maps.Keys(members)) {
			if _, twice := args[member]; twice {
				return fault.New(t.Family.Malformed, "argument %q is given twice, also in %q", member, name).
					With("argument", member)
			}
			args[member] = members[member]
		}
	}
	return nil
}
