package raven

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
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

// A normalStep is an operation of a batch in its normalized form.
type normalStep struct {
	Index  int    `json:"index"`
	Op     string `json:"op"`
	Entity string `json:"entity"`
	Data   any    `json:"data"`
}

// A normalSteps is a batch in its normalized form.
type normalSteps struct {
	Operations []normalStep `json:"operations"`
}

// tryBatch tries a batch. It continues after an operation that fails.
//
// The operations run one after the other in one draft, so that each is checked against the results
// of those before it. The options of the batch are checked, but have no effect here.
func (f tools) tryBatch(
	ctx context.Context, tx *repo.Tx, raw json.RawMessage, out *validateOut,
) error {
	var in batchIn
	b := &batch{}
	err := f.batchTool.ReadArgs(raw, func(tool.Arg) bool { return false }, &in)
	if err == nil {
		err = b.choose(&in)
	}
	if err == nil {
		err = countOperations(len(in.Operations))
	}
	if err != nil {
		out.addProblem(fault.Of(err))
		return nil
	}
	normal := normalSteps{[]normalStep{}}
	for i, o := range in.Operations {
		one, err := f.tryOperation(ctx, tx, o)
		if err != nil {
			return err
		}
		out.merge(i, one)
		normal.Operations = append(normal.Operations, normalStep{i, o.Op, o.entity(f.kinds), one.Normalized})
	}
	out.Normalized = normal
	return nil
}

// tryOperation tries one operation.
func (f tools) tryOperation(
	ctx context.Context, tx *repo.Tx, in operationIn,
) (*validateOut, error) {
	out := &validateOut{}
	s, err := in.step(f.kinds)
	if err != nil {
		out.addProblem(fault.Of(err))
		return out, nil
	}
	if err := s.check(ctx, tx, out); err != nil {
		return nil, err
	}
	if out.Normalized == nil {
		out.Normalized = in.Data
	}
	return out, nil
}

// merge adds the problems and warnings of operation number i.
func (o *validateOut) merge(i int, one *validateOut) {
	for _, f := range one.faults {
		o.faults = append(o.faults, f.With("index", i))
	}
	for _, w := range one.Warnings {
		fields := map[string]any{"index": i}
		maps.Copy(fields, w.Fields)
		o.Warn(w.Code, w.Message, fields)
	}
}

// A noteInput is a note to check.
type noteInput struct {
	Path *string `json:"path"`
	Text *string `json:"text"`
}

// A normalNote is the result of parsing the text of a note.
type normalNote struct {
	Path   string         `json:"path"`
	Type   string         `json:"type"`
	Fields map[string]any `json:"fields"`
}

// tryNote adds the problems that a note would have after it is written.
//
// The note is written to the draft and checked as raven_check does, without the problems that
// concern other notes. The path may be that of an existing note, which the text would replace.
func (f tools) tryNote(
	ctx context.Context, tx *repo.Tx, raw json.RawMessage, out *validateOut,
) error {
	var in noteInput
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if strict.Decode(&in) != nil || in.Path == nil || in.Text == nil {
		out.addProblem(fault.New(fault.InvalidValue, "the input must be an object with path and text, both strings").
			With("argument", "input"))
		return nil
	}
	path, err := vault.NotePath(*in.Path)
	if err != nil {
		out.addProblem(fault.Of(err))
		return nil
	}
	if err := tx.Try(func() error { return tx.Put(ctx, path, []byte(*in.Text)) }); err != nil {
		return out.addError(ctx, err)
	}
	n, ok := tx.Index().Note(string(path))
	if !ok {
		out.addProblem(fault.New(fault.InvalidPath, "%s is not a valid path of a note", path))
		return nil
	}
	if err := tx.Index().SchemaErr(); err != nil && n.Quarantine() == nil {
		out.addProblem(fault.Of(err))
		return nil
	}
	c := noteCheck{
		idx: tx.Index(), refs: tx.Index().Resolver(), note: n, clock: state.Clock(tx.Index(), tx.Now()),
		found: out.found(), going: state.KeepGoing(ctx),
	}
	c.run()
	if err := ctx.Err(); err != nil {
		return err
	}
	out.Normalized = normalNote{string(path), n.Type, n.Values()}
	return nil
}

// found returns a function that adds the findings of a note. It adds each spelling of a reference,
// and each undefined trait, only once.
//
// A text with the same broken reference in many lines would otherwise fill the answer.
func (o *validateOut) found() func(finding) {
	told := map[string]bool{}
	return func(f finding) {
		once := f.trait
		if ref, ok := f.fault.Details["ref"].(string); ok {
			once = ref
		}
		if key := f.code + " " + once; once != "" && (f.fault.Details["ref"] != nil || f.code == "undefined_trait") {
			if told[key] {
				return
			}
			told[key] = true
		}
		if f.more != nil {
			f.fault = f.more(f.fault)
		}
		if f.warning {
			o.odd = append(o.odd, f.fault)
		} else {
			o.addProblem(f.fault)
		}
	}
}

// A normalObject is a new object as raven_new would write it.
type normalObject struct {
	Type    string         `json:"type"`
	Path    string         `json:"path"`
	Fields  map[string]any `json:"fields"`
	Content string         `json:"content,omitempty"`
}

// A normalChange is a change of fields, or of the traits on a line, as it would be written.
//
// The values are those after parsing: dates in their standard form, numbers as numbers, references
// as full ids.
type normalChange struct {
	ID    string         `json:"id"`
	Set   map[string]any `json:"set"`
	Unset []string       `json:"unset"`
}

// A normalTrait is a new trait as raven_trait_create would write it.
type normalTrait struct {
	TraitType string         `json:"trait_type"`
	Value     any            `json:"value"`
	ParentID  string         `json:"parent_id"`
	Content   string         `json:"content"`
	Others    map[string]any `json:"other_traits,omitempty"`
}

// normal returns the change in the form in which it would be written.
//
// raven_validate shows it, so that a caller sees how its arguments are read before anything is
// written. The content is that of the call; a template is not rendered.
func (in newIn) normal(tx *repo.Tx) (any, error) {
	t, err := noteType(tx, in.Type)
	if err != nil {
		return nil, err
	}
	n, err := in.plan(tx, t)
	if err != nil {
		return nil, err
	}
	return normalObject{t.Name, n.path.ID(), n.fields, in.Content}, nil
}

// normal returns the change in the form in which it would be written.
func (in setIn) normal(tx *repo.Tx) (any, error) {
	o, err := settable(tx, in.ID)
	if err != nil {
		return nil, err
	}
	_, checked, err := in.check(tx, o)
	if err != nil {
		return nil, err
	}
	return normalChange{o.ID(), checked.Fields, append([]string{}, in.Unset...)}, nil
}

// normal returns the change in the form in which it would be written.
func (in traitCreateIn) normal(tx *repo.Tx) (any, error) {
	line, h, err := in.plan(tx)
	if err != nil {
		return nil, err
	}
	n := normalTrait{
		TraitType: line.Name, Value: line.Value, Content: strings.TrimSpace(line.Content),
		Others: fieldMap(line.Others),
	}
	if h.day != "" {
		n.ParentID = tx.Index().Config().DailyPath(h.day).ID()
	} else {
		n.ParentID = h.object.ID()
	}
	return n, nil
}

// normal returns the change in the form in which it would be written.
//
// The trait itself is listed as value, under the name of the argument that sets it.
func (in traitUpdateIn) normal(tx *repo.Tx) (any, error) {
	t, err := ownTrait(tx.Index(), in.ID)
	if err != nil {
		return nil, err
	}
	w, err := in.check(tx, t)
	if err != nil {
		return nil, err
	}
	set := fieldMap(w.set)
	if v, ok := set[t.Type]; ok {
		delete(set, t.Type)
		set["value"] = v
	}
	return normalChange{t.ID, set, append([]string{}, w.unset...)}, nil
}

// fieldMap returns fields as a map from name to value.
func fieldMap(fields []markdown.Field) map[string]any {
	all := map[string]any{}
	for _, f := range fields {
		all[f.Key] = f.Value
	}
	return all
}
