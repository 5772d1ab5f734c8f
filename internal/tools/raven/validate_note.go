package raven

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

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
	if err := tx.Index().SchemaErr(); err != nil && n.Quarantine == nil {
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
