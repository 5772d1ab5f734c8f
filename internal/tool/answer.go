package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
)

// An Answer is the result of one call. Its JSON has at most MaxBody bytes, also after quoting as a
// JSON string. Its fields must not be changed. The zero value is a success without data.
type Answer struct {
	Data     json.RawMessage // JSON of the tool's output; nil: there is none
	Warnings []Warning       // at most maxWarnings
	Meta     Meta
	Fault    *fault.Fault // nil: the call succeeded

	family *Family         // of the tool; nil: no tool was called
	bare   bool            // the caller asked for the data without the envelope
	text   json.RawMessage // see JSON; nil: it is not encoded yet
}

// JSON returns the answer in the form that the caller asked for: the envelope, or the bare form if
// the arguments have envelope: false.
func (a *Answer) JSON() json.RawMessage {
	if a.text == nil {
		if err := a.encode(); err != nil {
			panic(err) // the catalogue has encoded it before
		}
	}
	return a.text
}

// Result returns the answer as Invoke does: its JSON, and its fault as the error.
func (a *Answer) Result() (json.RawMessage, error) {
	if a.Fault != nil {
		return a.JSON(), a.Fault
	}
	return a.JSON(), nil
}

// Bare returns the data without the envelope or, if the call failed, the fault in the form of the
// tool's family.
func (a *Answer) Bare() (json.RawMessage, error) {
	if a.Fault != nil {
		return Marshal(a.family.BareFault(a.Fault))
	}
	return a.Data, nil
}

// encode sets the text of the answer. The data is inserted as it is, because it is JSON already and
// may be large.
func (a *Answer) encode() (err error) {
	if a.bare {
		a.text, err = a.Bare()
		return err
	}
	e := envelope{
		OK: a.Fault == nil, Error: failedIn(a.family, a.Fault), Warnings: a.Warnings, Meta: a.Meta,
	}
	if e.Warnings == nil {
		e.Warnings = []Warning{}
	}
	if a.text, err = Marshal(e); err == nil && a.Data != nil {
		i := bytes.IndexByte(a.text, ',') // after ok
		a.text = slices.Concat(a.text[:i], []byte(`,"data":`), a.Data, a.text[i:])
	}
	return err
}

// Refusal returns the answer of a call that a projection refuses before it reaches a tool. family
// is that of the requested tool, or nil if the tool is unknown.
func Refusal(f *fault.Fault, family *Family) json.RawMessage {
	return (&Answer{Fault: f, family: family}).JSON()
}

// maxWarnings is the maximum number of warnings in one answer (CONTRACT §1).
const maxWarnings = 100

// An envelope is the JSON form of every answer (CONTRACT §1), without its data, which follows ok.
type envelope struct {
	OK       bool      `json:"ok"`
	Error    *failed   `json:"error,omitempty"`
	Warnings []Warning `json:"warnings"`
	Meta     Meta      `json:"meta,omitempty"`
}

// A failed is the `error` of an envelope.
type failed struct {
	fault *fault.Fault
	also  map[string]any // further members, added by the family
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

// failedIn returns the `error` of an envelope, or nil if f is nil. family may be nil.
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

// truncated returns at most maxWarnings warnings. If there are more, the last one reports that.
func truncated(all []Warning) []Warning {
	n := len(all)
	if n <= maxWarnings {
		return all
	}
	return append(all[:maxWarnings-1:maxWarnings-1], Warning{
		Code:    "WARNINGS_TRUNCATED",
		Message: fmt.Sprintf("only the first %d of %d warnings are listed", maxWarnings-1, n),
		Fields:  map[string]any{"total": n},
	})
}
