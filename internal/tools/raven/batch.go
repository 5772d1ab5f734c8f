package raven

import (
	"context"
	_ "embed"
	"encoding/json"
	"maps"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

//go:embed batch.md
var batchDoc string

// maxOperations is how many operations a batch has at most (CONTRACT §9).
const maxOperations = 100

type batchIn struct {
	tool.Vault
	Operations  []operationIn `json:"operations" jsonschema:"1 to 100 operations, done in order; each sees the results of the earlier ones"`
	Options     *batchOptions `json:"options,omitempty" jsonschema:"the same as the arguments atomic, stop_on_error and dry_run"`
	Atomic      *bool         `json:"atomic,omitempty" absent:"true" jsonschema:"write nothing if an operation fails; default true"`
	StopOnError *bool         `json:"stop_on_error,omitempty" absent:"true" jsonschema:"end with the first operation that fails; default true"`
	tool.Mutation
}

// batchOptions are the options of the document.
type batchOptions struct {
	Atomic      *bool `json:"atomic,omitempty"`
	StopOnError *bool `json:"stop_on_error,omitempty"`
	DryRun      *bool `json:"dry_run,omitempty"`
}

type batchOut struct {
	tool.Aside  `json:"-"`
	DryRun      bool                  `json:"dry_run,omitempty"`
	Results     []stepResult          `json:"results" jsonschema:"of the operations, in order; if the batch stopped, up to the failed one"`
	RolledBack  *bool                 `json:"rolled_back,omitempty" jsonschema:"for a failed batch: whether nothing was written"`
	WouldModify []mutation.FileChange `json:"would_modify_files,omitempty"`
}

// Partly reports that the answer has the results of a batch that failed.
func (o *batchOut) Partly() bool { return len(o.Results) > 0 }

// A stepResult is what an operation came to.
type stepResult struct {
	Index    int             `json:"index"`
	Op       string          `json:"op"`
	Entity   string          `json:"entity,omitempty"`
	OK       bool            `json:"ok"`
	Data     json.RawMessage `json:"data,omitempty" jsonschema:"the answer of the operation's own tool with slim"`
	Error    json.RawMessage `json:"error,omitempty" jsonschema:"the error as the call would return it"`
	Warnings []tool.Warning  `json:"warnings,omitempty"`
}

func (f tools) batch() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_batch", Family: Family, Title: "Carry out several operations", Doc: batchDoc,
		Role: auth.Editor, Kind: tool.Destroy, List: "results",
		Route:    tool.Route{Method: "POST", Path: "/batch"},
		Commands: []tool.Command{{Words: "batch"}},
		Columns:  []string{"index", "op", "entity", "ok", "data", "error"},
	}, f.runBatch)
}

func (f tools) runBatch(ctx context.Context, c auth.Caller, in batchIn) (batchOut, error) {
	b := &batch{atomic: true, stop: true}
	if err := b.choose(&in); err != nil {
		return batchOut{}, err
	}
	var out batchOut
	if err := b.read(in.Operations, f.kinds, &out); err != nil {
		return out, err
	}
	return mutation.Draft(ctx, f.Source, mutation.Writing{
		Caller: c, Vault: in.Vault.Vault, Mutation: &in.Mutation, About: b.about,
	}, b.draft)
}

// A batch is a call of raven_batch whose operations are read.
type batch struct {
	steps        []step
	atomic, stop bool
}

// choose takes in the options, which may be given in two ways.
func (b *batch) choose(in *batchIn) error {
	var o batchOptions
	if in.Options != nil {
		o = *in.Options
	}
	var dry *bool
	if in.DryRun {
		dry = &in.DryRun
	}
	for _, option := range []struct {
		name   string
		values [2]*bool
		to     *bool
	}{
		{"atomic", [2]*bool{in.Atomic, o.Atomic}, &b.atomic},
		{"stop_on_error", [2]*bool{in.StopOnError, o.StopOnError}, &b.stop},
		{"dry_run", [2]*bool{dry, o.DryRun}, &in.DryRun},
	} {
		one, other := option.values[0], option.values[1]
		if one != nil && other != nil && *one != *other {
			return fault.New(fault.InvalidValue, "%s is given twice with different values: once in options",
				option.name).With("argument", option.name).Fix("give it once")
		}
		for _, given := range option.values {
			if given != nil {
				*option.to = *given
			}
		}
	}
	return nil
}

// read reads the operations. Those that are malformed fail the batch before anything runs, and are then the
// results.
func (b *batch) read(all []operationIn, kinds map[string]operation, out *batchOut) error {
	if err := countOperations(len(all)); err != nil {
		return err
	}
	var failed *fault.Fault
	for i, in := range all {
		s, err := in.step(kinds)
		s.index = i
		b.steps = append(b.steps, s)
		if err == nil {
			continue
		}
		f := fault.Of(err).With("index", i)
		out.Results = append(out.Results, s.failed(f))
		if failed == nil {
			failed = batchFault(i, f)
		}
	}
	if failed == nil {
		return nil
	}
	out.count(len(b.steps))
	out.RolledBack = new(true)
	return failed
}

// countOperations is why a batch cannot have so many operations.
func countOperations(n int) error {
	switch {
	case n == 0:
		return fault.New(fault.MissingRequired, "give at least one operation").With("argument", "operations")
	case n > maxOperations:
		return fault.New(fault.BatchTooLarge, "a batch has at most %d operations; this one has %d",
			maxOperations, n).With("operations", n).With("max", maxOperations).
			Fix("split it into several batches")
	}
	return nil
}

// batchFault is the failure of a batch whose first operation that failed has a fault.
func batchFault(i int, f *fault.Fault) *fault.Fault {
	all := fault.New(fault.BatchFailed, "Operation %d failed: %s", i, f.Message).With("cause", string(f.Code))
	all.FailedAt, all.Location, all.Fixes = &i, f.Location, f.Fixes
	return all
}

// failed is the result of an operation that failed.
func (s step) failed(f *fault.Fault) stepResult {
	data, _ := tool.Marshal(withCodes(s.tool, f)) // a fault has nothing that is not JSON
	return stepResult{Index: s.index, Op: s.op, Entity: s.entity, Error: data}
}

// about is about the files of all operations, as far as they are there.
func (b *batch) about(ctx context.Context, tx *repo.Tx) ([]vault.Path, error) {
	var all []vault.Path
	for _, s := range b.steps {
		paths, err := s.about(ctx, tx)
		if err != nil {
			return nil, err
		}
		all = append(all, paths...)
	}
	return all, nil
}

// draft drafts the batch, one operation after the other.
func (b *batch) draft(ctx context.Context, tx *repo.Tx, out *batchOut) error {
	out.Results = []stepResult{}
	var failed *fault.Fault
	for i, s := range b.steps {
		result, f, err := s.try(ctx, tx, out)
		if err != nil {
			return err
		}
		out.Results = append(out.Results, result)
		if f != nil && failed == nil {
			failed = batchFault(i, f)
		}
		if f != nil && b.stop {
			break
		}
	}
	out.count(len(b.steps))
	return b.end(ctx, tx, out, failed)
}

// try carries out an operation. What fails leaves nothing behind. The error is one that fails the whole call:
// it is not about the operation.
func (s step) try(ctx context.Context, tx *repo.Tx, out *batchOut) (stepResult, *fault.Fault, error) {
	var made answer
	err := tx.Try(func() (err error) {
		made, err = s.run(ctx, tx)
		return err
	})
	if err != nil {
		f := fault.Of(err)
		if ctx.Err() != nil || f.Status() == fault.StatusInternal || f.Status() == fault.StatusUnavailable {
			return stepResult{}, nil, err
		}
		return s.failed(f), f, nil
	}
	made.part(tx.DryRun())
	r := stepResult{
		Index: s.index, Op: s.op, Entity: s.entity, OK: true, Warnings: made.aside().Warnings,
	}
	if r.Data, err = tool.Marshal(made); err != nil {
		return r, nil, err
	}
	for _, w := range r.Warnings {
		fields := maps.Clone(w.Fields)
		if fields == nil {
			fields = map[string]any{}
		}
		fields["index"] = s.index
		out.Warn(w.Code, w.Message, fields)
	}
	return r, nil, nil
}

// count notes how many operations there were, and what they came to.
func (o *batchOut) count(total int) {
	failed := 0
	for _, r := range o.Results {
		if !r.OK {
			failed++
		}
	}
	o.Note("total_operations", total)
	o.Note("successful", len(o.Results)-failed)
	o.Note("failed", failed)
}

// end says what the batch as a whole came to (raven.md §6.11).
func (b *batch) end(ctx context.Context, tx *repo.Tx, out *batchOut, failed *fault.Fault) error {
	rolledBack := failed != nil && b.atomic
	if failed != nil && (b.atomic || b.stop) {
		out.RolledBack = &rolledBack
	}
	if rolledBack {
		out.DryRun = tx.DryRun()
		return out.unwritten(tx, failed)
	}
	if err := out.files(ctx, tx); err != nil {
		return err
	}
	switch {
	case failed == nil || !b.stop && (tx.Touched() || tx.DryRun()):
		return nil
	case !b.stop:
		return out.unwritten(tx, mutation.ErrUnwritten)
	case !tx.Touched() || tx.DryRun():
		return out.unwritten(tx, failed)
	}
	out.Failed = failed
	return nil
}

// unwritten notes the version that the answer is true of, where nothing is written, and returns the reason.
func (o *batchOut) unwritten(tx *repo.Tx, why error) error {
	o.Note("version", repo.Version(tx.Before().Version()))
	return why
}

// files names the files that the batch changes, or of a dry run shows their changes.
func (o *batchOut) files(ctx context.Context, tx *repo.Tx) (err error) {
	if !tx.DryRun() {
		return mutation.NoteFiles(ctx, tx, &o.Aside)
	}
	o.DryRun = true
	o.WouldModify, err = mutation.FileChanges(ctx, tx)
	return err
}
