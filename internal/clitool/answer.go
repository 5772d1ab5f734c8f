package clitool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An answer is the decoded envelope of a call. All forms of output are printed from it. An answer
// of one call keeps the JSON that it was decoded from, so that programs get exactly the text that
// the server sent; an answer that was put together from several calls, or changed, has none and is
// encoded again.
type answer struct {
	ok       bool
	data     value
	fault    *fault.Fault // nil on success
	warnings []tool.Warning
	meta     value

	raw json.RawMessage // the JSON as received; empty for an answer built here
}

// An envelope is the JSON form of an answer (CONTRACT §1). Members keep their order and numbers
// their digits, because data is a value.
type envelope struct {
	OK       bool           `json:"ok"`
	Data     *value         `json:"data,omitempty"`
	Error    *fault.Fault   `json:"error,omitempty"`
	Warnings []tool.Warning `json:"warnings"`
	Meta     *value         `json:"meta,omitempty"`
}

// UnmarshalJSON decodes a value and keeps the order of its members.
func (v *value) UnmarshalJSON(data []byte) (err error) {
	*v, err = decode(data)
	return err
}

// open decodes an envelope. It returns an error for JSON that is not an envelope: one that is not
// ok and has no error. A failed call may have data too, such as the results of the steps before the
// failure. The answer keeps raw, which the caller must not change.
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

// json returns the answer in its envelope: the JSON as received, or a new encoding if the answer
// was built here. A caller that changes an answer must clear raw.
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

// A failure is the error of a call that ended in a fault. Run prints it and derives the exit code
// from it, so a failure passes through all functions between the call and Run unchanged, except for
// its form, its family and its terms, which the command sets on the way.
type failure struct {
	fault  *fault.Fault
	answer *answer // never nil
	form   form
	terms  *terms       // of the line; nil: the fault is printed unchanged
	family *tool.Family // of the tool; nil: no tool was called
	summed bool         // the answer is about imported files; people see a one-line summary of it
}

// Error returns the text of the fault.
func (f *failure) Error() string { return f.fault.Error() }

// newFailure returns the failure of a call. ans is the call's answer, whose data and warnings are
// printed too; it may be nil. An error that is not a fault becomes INTERNAL. An answer without a
// fault, such as that of a job which failed later, is replaced: its data would look like a result.
func newFailure(ans *answer, err error) *failure {
	f := fault.Of(err)
	if ans == nil || ans.fault == nil {
		ans = &answer{fault: f}
	}
	return &failure{fault: f, answer: ans}
}

// invoke calls a tool. A non-nil error is a *failure. There are four kinds of failures: the call
// returned no envelope; it returned an envelope with a fault; its answer is not an envelope; and
// the envelope is not ok although the call returned no error.
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
