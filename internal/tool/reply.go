package tool

import (
	"bytes"
	"encoding/json"
	"fmt"

	"rookery/internal/fault"
)

// Aside is embedded in the output of every tool, as `json:"-"`. It holds what an answer carries
// beside its data: warnings and meta.
type Aside struct {
	Warnings []Warning
	Meta     Meta

	// Failed is why a call failed in part: what else it did is kept, and so is its answer, of which Failed is
	// the error. Nil: it did not.
	Failed *fault.Fault

	taken int // bytes of JSON of the items that Fits was asked about
}

// Warn adds a warning. Fields are the keys beside code and message.
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

// Failure is why the call failed in part; nil: it did not.
func (a *Aside) Failure() *fault.Fault { return a.Failed }

// aside lets the catalogue reach the Aside that an output embeds.
func (a *Aside) aside() *Aside { return a }

// hasAside is implemented by a pointer to every output that embeds an Aside.
type hasAside interface{ aside() *Aside }

// A Partial is an output that may have failures in its data, and something to say of a call that failed.
// Partly reports whether this one does: its data and meta are then part of the failure.
type Partial interface{ Partly() bool }

// Meta is the `meta` of an envelope: version, count, total, has_more, next_page_token and others.
type Meta map[string]any

// An Object is a member of an answer that is a JSON object whose names are not known beforehand, as JSON. Its
// members keep their order.
type Object json.RawMessage

// MarshalJSON returns the JSON as it is; null for nil.
func (o Object) MarshalJSON() ([]byte, error) { return json.RawMessage(o).MarshalJSON() }

// A Warning is one entry of an envelope's `warnings`. Fields stand beside code and message.
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

// UnmarshalJSON reads what MarshalJSON wrote.
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

// A Reply is the answer of one call, before it is put in its envelope.
type Reply struct {
	Data     any
	Warnings []Warning
	Meta     Meta

	Partial bool // data and meta are true of a call that failed too
	Wrote   bool // the call failed in part, and what else it did is in the log

	inner bool // the data may have failures, with fixes
}

// maxWarnings is the number of warnings in one answer (CONTRACT §1).
const maxWarnings = 100

// envelope is the one shape of every answer (CONTRACT §1).
type envelope struct {
	OK       bool      `json:"ok"`
	Data     any       `json:"data,omitempty"`
	Error    *failed   `json:"error,omitempty"`
	Warnings []Warning `json:"warnings"`
	Meta     Meta      `json:"meta,omitempty"`
}

// A failed is the `error` of an envelope.
type failed struct {
	fault *fault.Fault
	also  map[string]any // what a family has beside its members
}

// MarshalJSON writes the members of the fault first, then the others by name.
func (f *failed) MarshalJSON() ([]byte, error) {
	data, err := Marshal(f.fault)
	if err != nil || len(f.also) == 0 {
		return data, err
	}
	rest, err := Marshal(f.also)
	if err != nil {
		return nil, err
	}
	return append(append(data[:len(data)-1], ','), rest[1:]...), nil
}

// failedIn is the `error` of an envelope of a family, which may be nil.
func failedIn(family *Family, f *fault.Fault) *failed {
	if f == nil {
		return nil
	}
	e := &failed{fault: f}
	if family != nil && family.Also != nil {
		e.also = family.Also(f)
	}
	return e
}

// wrap puts a reply, or a failure with what it carries, in the envelope. family is that of the tool; nil:
// no tool was called.
func wrap(r Reply, f *fault.Fault, family *Family) envelope {
	e := envelope{
		OK: f == nil, Data: r.Data, Error: failedIn(family, f), Warnings: r.Warnings, Meta: r.Meta,
	}
	if n := len(e.Warnings); n > maxWarnings {
		e.Warnings = append(e.Warnings[:maxWarnings-1:maxWarnings-1], Warning{
			Code:    "WARNINGS_TRUNCATED",
			Message: fmt.Sprintf("only the first %d of %d warnings are listed", maxWarnings-1, n),
			Fields:  map[string]any{"total": n},
		})
	}
	if e.Warnings == nil {
		e.Warnings = []Warning{}
	}
	return e
}

// Refusal is the answer of a call that a projection refuses before any tool sees it. family is that of the
// tool that is meant; nil: no tool is known.
func Refusal(f *fault.Fault, family *Family) json.RawMessage {
	return mustMarshal(wrap(Reply{}, f, family))
}

// Marshal is JSON as every answer is written: compact, and with <, > and & as they are.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
