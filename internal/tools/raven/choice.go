package raven

import "github.com/rookeryhq/rookery/internal/fault"

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
