package raven

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A validateIn is the input of raven_validate.
type validateIn struct {
	tool.Vault
	// what the input is for
	Type string `json:"type" enum:"object,trait,batch,note"`
	// the arguments of raven_new, or with an id of raven_set; of raven_trait_create or
	// raven_trait_update; of raven_batch; or a note as {path, text}
	Input tool.JSON `json:"input"`
}

// A validateOut is the output of raven_validate. Normalized is nil if the input is invalid.
//
// A call with an invalid input succeeds: the problems are its result.
type validateOut struct {
	tool.Aside `json:"-"`
	Valid      bool `json:"valid"`
	// what would be written
	Normalized any `json:"normalized,omitempty"`
	// errors as the call would return them, with field, expected, allowed and nearest
	Errors []json.RawMessage `json:"errors,omitempty"`
	// unusual but valid parts, in the same form
	Problems []json.RawMessage `json:"warnings,omitempty"`

	faults, odd []*fault.Fault // the sources of Errors and Problems
}

// Partly returns false. An invalid input is a result of this tool, so a failed call has no valid
// data.
func (o *validateOut) Partly() bool { return false }

// validate returns the tool raven_validate, which checks the input of a mutation, or the text of a
// note, without writing anything.
func (f tools) validate() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_validate", Family: Family, Title: "Check an input",
		Role: auth.Reader, Kind: tool.Read, Unversioned: true, List: "errors", Body: "input",
		Route:    tool.Route{Method: "POST", Path: "/validate"},
		Commands: []tool.Command{{Words: "validate"}},
	}, f.check)
}

// check tries the input on a draft that is not written.
//
// The draft is a dry run of the newest state, so the answer also covers rules of the vault, such as
// protected paths and limits. It is correct only for that state; the real call checks again.
func (f tools) check(ctx context.Context, c auth.Caller, in validateIn) (validateOut, error) {
	v, err := f.Vault(ctx, c, in.Vault.Vault)
	if err != nil {
		return validateOut{}, err
	}
	call := eventlog.Call{
		Who: mutation.Who(c), Tool: "raven_validate", DryRun: true, AllowInactive: true, Prefix: c.Prefix,
	}
	// The result is passed through a channel, because Update may return before its function does.
	made := make(chan validateOut, 1)
	_, err = v.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		out := validateOut{}
		if err := f.tryInput(ctx, tx, in, &out); err != nil {
			return nil, err
		}
		out.end()
		out.Note("version", eventlog.Version(tx.Before().Version()))
		select {
		case <-made: // discard the result of an earlier run
		default:
		}
		made <- out
		return nil, nil
	})
	if err != nil {
		return validateOut{}, err
	}
	return <-made, nil
}

// tryInput adds the problems of the input to out. It returns only errors that are not about the
// input.
//
// The input of an object or trait is checked as an operation of a batch: with an id as an update,
// otherwise as a creation.
func (f tools) tryInput(ctx context.Context, tx *repo.Tx, in validateIn, out *validateOut) error {
	if !strings.HasPrefix(strings.TrimSpace(string(in.Input)), "{") {
		out.addProblem(fault.New(fault.InvalidValue, "the input must be an object").With("argument", "input").
			With("expected", "an object"))
		return nil
	}
	switch in.Type {
	case "batch":
		return f.tryBatch(ctx, tx, json.RawMessage(in.Input), out)
	case "note":
		return f.tryNote(ctx, tx, json.RawMessage(in.Input), out)
	}
	var has struct {
		ID *json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(in.Input, &has) // the tool reports malformed input
	op := operationIn{Op: "create", Entity: in.Type, Data: in.Input}
	if has.ID != nil {
		op.Op = "update"
	}
	s, err := op.step(f.kinds)
	if err != nil {
		out.addProblem(fault.Of(err))
		return nil
	}
	return s.check(ctx, tx, out)
}

// check tries a step, and adds its problems or its normalized form to out.
func (s step) check(ctx context.Context, tx *repo.Tx, out *validateOut) error {
	var normal any
	err := tx.Try(func() (err error) {
		if s.normal != nil {
			if normal, err = s.normal(tx); err != nil {
				return err
			}
		}
		made, err := s.run(ctx, tx)
		if err == nil {
			out.Warnings = append(out.Warnings, made.result().Warnings...)
		}
		return err
	})
	if err != nil {
		return out.addError(ctx, err)
	}
	out.Normalized = normal
	return nil
}

// addError adds an error about the input to the problems. It returns other errors.
//
// An invalid schema counts as a problem of the input: no input of a type can be valid then.
func (o *validateOut) addError(ctx context.Context, err error) error {
	f := fault.Of(err)
	ours := f.Status() == fault.StatusInternal && f.Code != fault.SchemaError
	if ctx.Err() != nil || ours || f.Status() == fault.StatusUnavailable {
		return err
	}
	o.addProblem(f)
	return nil
}

// addProblem adds a problem, or each problem in a fault with several.
func (o *validateOut) addProblem(f *fault.Fault) {
	if len(f.Errors) == 0 {
		o.faults = append(o.faults, f)
		return
	}
	for _, one := range f.Errors {
		o.addProblem(one)
	}
}

// maxProblems is the maximum number of problems in an answer.
const maxProblems = 200

// end builds the answer from the collected problems.
func (o *validateOut) end() {
	if o.Valid = len(o.faults) == 0; !o.Valid {
		o.Normalized = nil
	}
	o.Note("errors", len(o.faults))
	o.Errors, o.Problems = problemsJSON(o.faults), problemsJSON(o.odd)
}

// problemsJSON returns the first maxProblems faults as elements of a list.
func problemsJSON(all []*fault.Fault) []json.RawMessage {
	var list []json.RawMessage
	for _, f := range firstOf(all, maxProblems) {
		list = append(list, problemJSON(f))
	}
	return list
}

// onTop are the details of a problem that are also members next to its code.
var onTop = []string{"index", "field", "expected", "allowed", "nearest"}

// problemJSON returns a fault as an element of the list of errors.
//
// The elements have the form of an error, with the details in onTop repeated beside the code, where
// Raven has them.
func problemJSON(f *fault.Fault) json.RawMessage {
	// Many messages have the form "X must be Y".
	if _, expected, ok := strings.Cut(f.Message, " must be "); ok && f.Details["expected"] == nil {
		f = f.With("expected", expected)
	}
	if f.Details["field"] == nil && f.Details["argument"] != nil {
		f = f.With("field", f.Details["argument"])
	}
	data, err := tool.Marshal(withCodes("raven_validate", f))
	top := map[string]any{}
	for _, name := range onTop {
		if v, ok := f.Details[name]; ok {
			top[name] = v
		}
	}
	more, moreErr := tool.Marshal(top)
	if err != nil || moreErr != nil || len(top) == 0 {
		return data
	}
	return append(append(data[:len(data)-1:len(data)-1], ','), more[1:]...)
}
