package tool

import (
	"encoding/json"
	"strings"
)

// An OldForm is how calls under an older name of a tool spell its arguments.
type OldForm struct {
	Set  map[string]string // values of arguments that the name stands for, as text
	Args map[string]string // other names of arguments, by the older ones
}

// translate spells the arguments of a call under an older name as the tool does. Such calls give lists as one text, and
// true and false as words.
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

// Takes reports whether a value is one that the argument may have.
func (a Arg) Takes(value any) bool { return a.form.made().resolved.Validate(value) == nil }
