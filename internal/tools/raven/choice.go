package raven

import "github.com/rookeryhq/rookery/internal/fault"

// oneOf is a fault unless exactly one of a name and `list` is given.
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
