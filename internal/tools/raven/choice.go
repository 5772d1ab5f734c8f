package raven

import (
	"slices"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

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

// pageOf takes one page of a list that is short enough to be made whole. begins finds where what is
// behind a key begins; it is false if the key is of another list.
func pageOf[T any](
	a *tool.Aside, in tool.Page, all []T, key func(T) string, begins func(string) (int, bool),
) ([]T, error) {
	after, err := in.After(Family)
	if err != nil {
		return nil, err
	}
	first, known := 0, true
	if after != "" {
		first, known = begins(after)
	}
	if !known {
		return nil, otherList()
	}
	last := min(first+in.Limit, len(all))
	items, end := slices.Clone(all[first:last]), ""
	if last > first {
		end = key(all[last-1])
	}
	a.Paged(len(items), len(all), last < len(all), end)
	if len(all) == 0 {
		a.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return items, nil
}
