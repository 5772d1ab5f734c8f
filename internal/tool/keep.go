package tool

import (
	"encoding/json"
	"fmt"

	"rookery/internal/fault"
)

// kept is the form in which an answer is kept with its commit, for whoever repeats the call.
type kept struct {
	Data     any       `json:"data"`
	Warnings []Warning `json:"warnings,omitempty"`
	Meta     Meta      `json:"meta,omitempty"`

	Failed *fault.Fault `json:"failed,omitempty"` // see Aside.Failed
}

// Keep is what is to be kept of an output, so that Recall can make it again. Out is a pointer to it.
func Keep(out any) any {
	k := kept{Data: out}
	if a, ok := out.(hasAside); ok {
		k.Warnings, k.Meta, k.Failed = a.aside().Warnings, a.aside().Meta, a.aside().Failed
	}
	return k
}

// Recall fills an output with what was kept of an earlier one, and notes in its meta that it is a
// replay. Out is a pointer.
func Recall(data json.RawMessage, out any) error {
	k := kept{Data: out}
	if err := json.Unmarshal(data, &k); err != nil {
		return fmt.Errorf("read a kept answer: %w", err)
	}
	if a, ok := out.(hasAside); ok {
		a.aside().Warnings, a.aside().Meta, a.aside().Failed = k.Warnings, k.Meta, k.Failed
		a.aside().Note("replayed", true)
	}
	return nil
}
