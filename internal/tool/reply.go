package tool

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Aside is embedded in the output of every tool, with the tag `json:"-"`. It contains the parts of
// an answer outside its data: warnings and meta. An Aside belongs to one call and is not safe for
// concurrent use.
type Aside struct {
	Warnings []Warning
	Meta     Meta

	// Failed is the fault of a call that failed in part: its other effects, and this answer, are
	// committed, and the answer has Failed as its error. Nil: the call did not fail in part.
	Failed *fault.Fault

	taken int // bytes of JSON of the items that Fits has accepted
}

// Warn adds a warning. fields are its keys other than code and message.
func (a *Aside) Warn(code, message string, fields map[string]any) {
	a.Warnings = append(a.Warnings, Warning{code, message, fields})
}

// Note sets one key of the meta.
func (a *Aside) Note(key string, value any) {
	if a.Meta == nil {
		a.Meta = Meta{}
	}
	a.Meta[key] = value
}

// Failure returns the fault of a call that failed in part, or nil.
func (a *Aside) Failure() *fault.Fault { return a.Failed }

// aside returns the Aside embedded in an output.
func (a *Aside) aside() *Aside { return a }

// hasAside is implemented by a pointer to every output that embeds an Aside.
type hasAside interface{ aside() *Aside }

// A Partial is an output whose data may contain failures of single items. Partly reports whether
// the data and meta are still valid if the call as a whole fails.
type Partial interface{ Partly() bool }

// Meta is the `meta` of an envelope: version, count, total, has_more, next_page_token and others.
type Meta map[string]any

// An Object is a JSON object in an answer whose keys are not known beforehand. Its members keep
// their order.
type Object json.RawMessage

// MarshalJSON returns the JSON unchanged, or null for nil.
func (o Object) MarshalJSON() ([]byte, error) { return json.RawMessage(o).MarshalJSON() }

// A Warning is one entry of an envelope's `warnings`. Fields are encoded beside code and message.
type Warning struct {
	Code    string
	Message string
	Fields  map[string]any
}

// MarshalJSON writes code and message first, then the fields by name.
func (w Warning) MarshalJSON() ([]byte, error) {
	head, err := Marshal(struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}{w.Code, w.Message})
	if err != nil || len(w.Fields) == 0 {
		return head, err
	}
	rest, err := Marshal(w.Fields)
	if err != nil {
		return nil, err
	}
	return append(append(head[:len(head)-1], ','), rest[1:]...), nil
}

// UnmarshalJSON decodes the form that MarshalJSON writes.
func (w *Warning) UnmarshalJSON(data []byte) error {
	all := map[string]any{}
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	w.Code, _ = all["code"].(string)
	w.Message, _ = all["message"].(string)
	delete(all, "code")
	delete(all, "message")
	w.Fields = nil
	if len(all) > 0 {
		w.Fields = all
	}
	return nil
}

// A Reply is the result of one call before it is put in an envelope.
type Reply struct {
	Data     any
	Warnings []Warning
	Meta     Meta

	Partial bool // data and meta are valid even if the call failed
	Wrote   bool // the call failed in part; its other effects are committed

	inner bool // the data may contain failures with fixes
}

// Marshal returns the JSON of a value in the form used for all answers: compact, with <, > and &
// not escaped.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

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
