package raven

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// maxOperations is the maximum number of operations in a batch (CONTRACT §9).
//
// All operations are drafted in one transaction, which is repeated if another writer commits first;
// the limit keeps such a repetition short.
const maxOperations = 100

// A batchIn is the input of raven_batch. An option can be given here or in Options; see choose.
//
// The defaults of Atomic and StopOnError are true, so an absent value differs from false; hence the
// pointers. StopOnError false continues after a failed operation. Together with Atomic true it only
// collects all problems: nothing is written.
type batchIn struct {
	tool.Vault
	// 1 to 100 operations, done in order; each sees the results of the earlier ones
	Operations []operationIn `json:"operations"`
	// the same as the arguments atomic, stop_on_error and dry_run
	Options *batchOptions `json:"options,omitempty"`
	// write nothing if an operation fails; default true
	Atomic *bool `json:"atomic,omitempty" absent:"true"`
	// end with the first operation that fails; default true
	StopOnError *bool `json:"stop_on_error,omitempty" absent:"true"`
	tool.Mutation
}

// A batchOptions is the argument options, as Raven's batch document has it.
type batchOptions struct {
	Atomic      *bool `json:"atomic,omitempty"`
	StopOnError *bool `json:"stop_on_error,omitempty"`
	DryRun      *bool `json:"dry_run,omitempty"`
}

// A batchOut is the output of raven_batch. After a failed batch it still contains the results.
//
// RolledBack is nil for a batch that succeeded, or that reports failed operations without failing
// itself. Otherwise it says whether the operations before the failed one were discarded too.
type batchOut struct {
	tool.Aside `json:"-"`
	DryRun     bool `json:"dry_run,omitempty"`
	// of the operations, in order; if the batch stopped, up to the failed one
	Results []stepResult `json:"results"`
	// for a failed batch: whether nothing was written
	RolledBack  *bool                 `json:"rolled_back,omitempty"`
	WouldModify []mutation.FileChange `json:"would_modify_files,omitempty"`
}

// Partly reports whether the answer contains results, which remain valid if the batch failed.
func (o *batchOut) Partly() bool { return len(o.Results) > 0 }

// A stepResult is the result of one operation. Exactly one of Data and Error is set. Both are
// encoded at once, because later operations change the index that the answer refers to.
type stepResult struct {
	Index  int    `json:"index"`
	Op     string `json:"op"`
	Entity string `json:"entity,omitempty"`
	OK     bool   `json:"ok"`
	// the answer of the operation's own tool with slim
	Data json.RawMessage `json:"data,omitempty"`
	// the error as the call would return it
	Error    json.RawMessage `json:"error,omitempty"`
	Warnings []tool.Warning  `json:"warnings,omitempty"`
}

// batch returns the tool raven_batch, which runs several operations as one commit.
func (f tools) batch() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_batch", Family: Family, Title: "Carry out several operations",
		Role: auth.Editor, Kind: tool.Destroy, List: "results",
		Route:    tool.Route{Method: "POST", Path: "/batch"},
		Commands: []tool.Command{{Words: "batch"}},
		Columns:  []string{"index", "op", "entity", "ok", "data", "error"},
	}, f.runBatch)
}

// runBatch parses all operations before it opens the vault, so that a malformed batch changes
// nothing.
//
// If the batch is malformed, the answer contains a result for each malformed operation, and the
// vault is not opened. Otherwise the operations are drafted one after the other in one transaction,
// and the commit, if any, contains all of them.
func (f tools) runBatch(ctx context.Context, c auth.Caller, in batchIn) (batchOut, error) {
	b := &batch{atomic: true, stop: true}
	if err := b.choose(&in); err != nil {
		return batchOut{}, err
	}
	var out batchOut
	if err := b.read(in.Operations, f.kinds, &out); err != nil {
		return out, err
	}
	return mutation.Draft(ctx, f.Source, mutation.Request{
		Caller: c, Vault: in.Vault.Vault, Mutation: &in.Mutation, Targets: b.targets,
	}, b.draft)
}

// A batch is a call of raven_batch whose operations have been parsed. It does not change while the
// operations are drafted, because the transaction may run draft several times.
type batch struct {
	// steps are the operations in the order of the call.
	steps []step
	// atomic: write nothing if an operation fails. stop: do not run the operations after a failed
	// one.
	atomic, stop bool
}

// choose reads the options, each of which can be an argument or a member of options. Two different
// values for one option are an error. A batch that is written as one document has them inside
// options.
func (b *batch) choose(in *batchIn) error {
	var o batchOptions
	if in.Options != nil {
		o = *in.Options
	}
	var dry *bool
	// The argument dry_run has no third state: false is the same as absent.
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

// read parses the operations. If some are malformed, it returns the fault of the batch, and out
// contains the results of the malformed ones; nothing is run then. The fault of the batch is that
// of the first malformed operation, with its index in failed_at.
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

// countOperations returns an error if a batch cannot have n operations.
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

// batchFault returns the fault of a batch whose first failed operation has the index i and the
// fault f.
//
// The location and the fixes are those of the cause, so that a client that shows only the outer
// fault still leads to the problem.
func batchFault(i int, f *fault.Fault) *fault.Fault {
	all := fault.New(fault.BatchFailed, "Operation %d failed: %s", i, f.Summary()).With("cause", string(f.Code))
	all.FailedAt, all.Location, all.Fixes = &i, f.Location, f.Fixes
	return all
}

// failed returns the result of an operation that failed with the fault f.
//
// The names that Raven has for the error are those of the operation's own tool, not of raven_batch.
func (s step) failed(f *fault.Fault) stepResult {
	data, _ := tool.Marshal(withCodes(s.tool, f)) // a fault can always be encoded
	return stepResult{Index: s.index, Op: s.op, Entity: s.entity, Error: data}
}

// targets returns the existing files that the arguments of all operations name.
//
// Since each step names files independently of the others, the version that a caller sends is
// compared with the state before the whole batch, even for a file that an earlier step of the batch
// changes.
func (b *batch) targets(ctx context.Context, tx *repo.Tx) ([]vault.Path, error) {
	var all []vault.Path
	for _, s := range b.steps {
		paths, err := s.targets(ctx, tx)
		if err != nil {
			return nil, err
		}
		all = append(all, paths...)
	}
	return all, nil
}

// draft drafts the operations in order and fills the output.
//
// Each operation sees the changes of those before it. A failed operation leaves no change in the
// draft, so an operation after it, with stop_on_error false, runs as if the failed one were absent.
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

// try drafts one operation and returns its result. If the operation fails, it changes nothing in
// the draft, and try also returns its fault. The error is one that ends the whole call: the context
// ended, or an internal error.
//
// A fault of the caller's making is a result of the batch. Internal errors, an unavailable store
// and a cancelled call are not: nothing that the batch could report about the other operations
// would be reliable. Warnings of the operation are repeated in the answer of the batch with the
// index of the operation.
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
	made.toOperation(tx.DryRun())
	r := stepResult{
		Index: s.index, Op: s.op, Entity: s.entity, OK: true, Warnings: made.result().Warnings,
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

// count records the number of all, successful and failed operations in the meta.
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

// end completes the answer, and decides whether the draft is written (raven.md §6.11). failed is
// the fault of the batch, nil if every operation succeeded.
//
// There are five cases:
//
//   - A failure in an atomic batch discards everything, and the call fails.
//   - No failure: the draft is written.
//   - Failures without stop_on_error: the successful operations are written, and the call succeeds;
//     if none of them changed anything, it succeeds without a commit.
//   - A failure with stop_on_error before anything was changed, or in a dry run: the call fails
//     without a commit.
//   - A failure with stop_on_error after a change: what was drafted is written, and the call still
//     fails. The answer of such a call is stored with the commit, so a repetition with the same
//     idempotency key returns it and does not run the operations again.
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
	// All operations succeeded, or the successful ones are written and the others are only
	// reported.
	case failed == nil || !b.stop && (tx.Touched() || tx.DryRun()):
		return nil
	// No operation changed anything. The call succeeds, and its idempotency key can be used again.
	case !b.stop:
		return out.unwritten(tx, mutation.ErrUnwritten)
	// The batch stopped before any change, or is a dry run.
	case !tx.Touched() || tx.DryRun():
		return out.unwritten(tx, failed)
	}
	// The operations before the failed one are written, and the call fails with its fault.
	out.Failed = failed
	return nil
}

// unwritten returns why, after it has recorded in the meta the version that an answer without a
// commit refers to.
func (o *batchOut) unwritten(tx *repo.Tx, why error) error {
	o.Note("version", eventlog.Version(tx.Before().Version()))
	return why
}

// files records the paths of the changed files in the meta or, for a dry run, the changes in the
// output.
func (o *batchOut) files(ctx context.Context, tx *repo.Tx) (err error) {
	if !tx.DryRun() {
		return mutation.NoteFiles(ctx, tx, &o.Aside)
	}
	o.DryRun = true
	o.WouldModify, err = mutation.FileChanges(ctx, tx)
	return err
}
