package raven

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

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
