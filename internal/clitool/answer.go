package clitool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// An answer is the envelope of a call, taken apart.
type answer struct {
	ok       bool
	data     value
	fault    *fault.Fault // nil on success
	warnings []tool.Warning
	meta     value

	raw json.RawMessage // as it came; empty for an answer that is made here
}

// envelope is the wire form of an answer (CONTRACT §1).
type envelope struct {
	OK       bool           `json:"ok"`
	Data     *value         `json:"data,omitempty"`
	Error    *fault.Fault   `json:"error,omitempty"`
	Warnings []tool.Warning `json:"warnings"`
	Meta     *value         `json:"meta,omitempty"`
}

// UnmarshalJSON keeps the order of the members.
func (v *value) UnmarshalJSON(data []byte) (err error) {
	*v, err = decode(data)
	return err
}

// open takes an envelope apart.
func open(raw json.RawMessage) (*answer, error) {
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	ans := &answer{ok: e.OK, fault: e.Error, warnings: e.Warnings, raw: raw}
	if e.Data != nil {
		ans.data = *e.Data
	}
	if e.Meta != nil {
		ans.meta = *e.Meta
	}
	if !ans.ok && ans.fault == nil {
		return nil, errors.New("read an answer: it is not an envelope")
	}
	return ans, nil
}

// json is the answer in its envelope: as it came, if it came from elsewhere.
func (ans *answer) json() (json.RawMessage, error) {
	if len(ans.raw) > 0 {
		return ans.raw, nil
	}
	e := envelope{OK: ans.ok, Error: ans.fault, Warnings: ans.warnings}
	if ans.data.kind != nullKind {
		e.Data = &ans.data
	}
	if ans.meta.kind != nullKind {
		e.Meta = &ans.meta
	}
	if e.Warnings == nil {
		e.Warnings = []tool.Warning{}
	}
	return tool.Marshal(e)
}

// A failure is a call that ended in a fault, on its way out to the exit code.
type failure struct {
	fault  *fault.Fault
	answer *answer // never nil
	form   form
	terms  *terms       // of the line; nil: the fault keeps its own
	family *tool.Family // of the tool; nil: no tool was called
	summed bool         // the answer is of files that came in: people see it on one line
}

// Error is the fault's.
func (f *failure) Error() string { return f.fault.Error() }

// newFailure is the failure of a call. What it carries beside the fault is in the answer, which may
// be nil.
func newFailure(ans *answer, err error) *failure {
	f := fault.Of(err)
	if ans == nil || ans.fault == nil {
		ans = &answer{fault: f}
	}
	return &failure{fault: f, answer: ans}
}

// invoke calls a tool. The error, if any, is a *failure.
func invoke(
	ctx context.Context, inv tool.Invoker, name string, args map[string]json.RawMessage,
) (*answer, error) {
	in, err := tool.Marshal(args)
	if err != nil {
		return nil, newFailure(nil, fmt.Errorf("write the arguments: %w", err))
	}
	raw, err := inv.Invoke(ctx, name, in)
	if err != nil && len(raw) == 0 {
		return nil, newFailure(nil, err)
	}
	ans, unreadable := open(raw)
	switch {
	case err != nil && unreadable != nil:
		return nil, newFailure(nil, err)
	case err != nil:
		return nil, newFailure(ans, err)
	case unreadable != nil:
		return nil, newFailure(nil, unreadable)
	case !ans.ok:
		return nil, newFailure(ans, ans.fault)
	}
	return ans, nil
}
