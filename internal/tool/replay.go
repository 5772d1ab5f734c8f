package tool

import (
	"encoding/json"
	"fmt"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A replay is an answer as it is stored with its commit, for calls repeated with the same
// idempotency key.
type replay struct {
	Data     any       `json:"data"`
	Warnings []Warning `json:"warnings,omitempty"`
	Meta     Meta      `json:"meta,omitempty"`

	Failed *fault.Fault `json:"failed,omitempty"` // see Aside.Failed
}

// EncodeReplay returns the value to store for an output, from which DecodeReplay restores it. out
// is a pointer to the output.
func EncodeReplay(out any) any {
	k := replay{Data: out}
	if a, ok := out.(hasAside); ok {
		k.Warnings, k.Meta, k.Failed = a.aside().Warnings, a.aside().Meta, a.aside().Failed
	}
	return k
}

// DecodeReplay decodes a stored answer into out, a pointer to an output, and sets `replayed` in its
// meta.
func DecodeReplay(data json.RawMessage, out any) error {
	k := replay{Data: out}
	if err := json.Unmarshal(data, &k); err != nil {
		return fmt.Errorf("read a kept answer: %w", err)
	}
	if a, ok := out.(hasAside); ok {
		a.aside().Warnings, a.aside().Meta, a.aside().Failed = k.Warnings, k.Meta, k.Failed
		a.aside().Note("replayed", true)
	}
	return nil
}
