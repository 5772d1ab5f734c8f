package tool

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
)

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
