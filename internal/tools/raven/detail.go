package raven

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
)

// A detail is embedded in the input of every tool that returns objects or traits. It selects how
// much of their context the answer contains (raven.md §6.3).
//
// Slim and Depth 0 mean the same. Slim is the argument that all tools have; Depth is Raven's.
type detail struct {
	// 0: ids; 1: and parent, file, references (default); 2: and theirs
	Depth *int `json:"depth,omitempty" rare:"true" min:"0" max:"2"`
	// depth 0
	Slim bool `json:"slim,omitempty"`
}

// The depths of an answer, from ids only to the context of the context.
const (
	slim = iota
	rich
	deep
)

// level returns the depth that the arguments select.
func (d detail) level() (int, error) {
	switch {
	case d.Slim && d.Depth != nil && *d.Depth != slim:
		return 0, fault.New(fault.InvalidValue, "slim is depth 0: omit one of the two").
			With("argument", "depth")
	case d.Slim:
		return slim, nil
	case d.Depth == nil:
		return rich, nil
	}
	return *d.Depth, nil
}

// noteTimeZone records the time zone of the vault and its first day of the week in the meta
// (raven.md §6.10). Answers whose filters contain words such as today depend on both.
func noteTimeZone(a interface{ Note(key string, value any) }, idx *index.Index) {
	a.Note("timezone", idx.Config().Timezone)
	a.Note("week_start", strings.ToLower(idx.Config().WeekStart.String()))
}
