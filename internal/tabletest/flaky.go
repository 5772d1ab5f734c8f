package tabletest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/rookeryhq/rookery/internal/table"
)

// ErrInjected is the error of every fault of a Flaky. It is not one of the definite answers of a
// table: the caller does not know the outcome.
var ErrInjected = errors.New("an injected fault")

// A Fault is the effect of a Flaky on a call.
type Fault int

// The faults. A read has nothing to be done: any of them is the error at once, but After lets a
// Query yield everything before it.
const (
	None     Fault = iota
	Before         // an error, without any effect
	After          // it is executed, and an error is returned in place of the answer
	Late           // an error, and it is executed when the test calls Deliver
	LateNext       // an error, and it is executed just before the next call of any kind
)

// A Method is one of the methods of a table.
type Method string

// The methods.
const (
	Get    Method = "Get"
	Query  Method = "Query"
	Commit Method = "Commit"
)

// A Call describes a call to a plan.
type Call struct {
	N      int // from 1, over the calls of all methods since the Flaky was made
	Method Method
	Part   string // of a Get or Query
	Ops    []table.Op
}

// Counts are numbers of requests, in the units that AWS counts.
type Counts struct {
	Gets, Queries, Commits int
	Pages                  int // requests of the Queries: one, and one more for each full 1 MB
	Ops                    int // operations of all Commits
}

// A Flaky is a table that fails as planned, and counts its calls. It is safe for concurrent use.
type Flaky struct {
	table table.Table
	plan  func(Call) Fault

	mu     sync.Mutex
	calls  int
	counts Counts
	late   []lateCommit
}

// lateCommit is a Commit that returned an error and has not been executed yet.
type lateCommit struct {
	ops  []table.Op
	next bool // before the next call
}

var _ table.Table = (*Flaky)(nil)

// NewFlaky wraps a table. It calls plan once for each call, one after the other; plan must not use
// the Flaky. With a nil plan there are no faults.
func NewFlaky(t table.Table, plan func(Call) Fault) *Flaky {
	if plan == nil {
		plan = func(Call) Fault { return None }
	}
	return &Flaky{table: t, plan: plan}
}

// At returns a plan with one fault, at the n-th call, from 1.
func At(n int, fault Fault) func(Call) Fault {
	return func(c Call) Fault {
		if c.N == n {
			return fault
		}
		return None
	}
}

// Counts returns the numbers of calls since the Flaky was created or Reset was called.
func (f *Flaky) Counts() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts
}

// Reset sets the counts to 0. The numbers of the calls that the plan receives continue.
func (f *Flaky) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts = Counts{}
}

// Calls returns the number of the last call.
func (f *Flaky) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Deliver executes the late Commits in their order, and returns their answers, which may be
// refusals.
func (f *Flaky) Deliver(ctx context.Context) []error {
	return f.deliver(ctx, func(lateCommit) bool { return true })
}

// deliver executes the late Commits that are due.
func (f *Flaky) deliver(ctx context.Context, due func(lateCommit) bool) []error {
	var answers []error
	for _, c := range f.takeLate(due) {
		answers = append(answers, f.table.Commit(context.WithoutCancel(ctx), c.ops...))
	}
	return answers
}

func (f *Flaky) takeLate(due func(lateCommit) bool) []lateCommit {
	f.mu.Lock()
	defer f.mu.Unlock()
	var taken []lateCommit
	f.late = slices.DeleteFunc(f.late, func(c lateCommit) bool {
		if due(c) {
			taken = append(taken, c)
		}
		return due(c)
	})
	return taken
}

// begin executes the Commits that the call makes due, counts the call, and asks the plan.
func (f *Flaky) begin(ctx context.Context, c Call) Fault {
	f.deliver(ctx, func(c lateCommit) bool { return c.next })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	c.N = f.calls
	switch c.Method {
	case Get:
		f.counts.Gets++
	case Query:
		f.counts.Queries++
		f.counts.Pages++
	case Commit:
		f.counts.Commits++
		f.counts.Ops += len(c.Ops)
	}
	return f.plan(c)
}

// Get implements table.Table.
func (f *Flaky) Get(ctx context.Context, k table.Key) (table.Item, error) {
	if f.begin(ctx, Call{Method: Get, Part: k.Part}) != None {
		return table.Item{}, ErrInjected
	}
	return f.table.Get(ctx, k)
}

// Query implements table.Table. The call is counted when the loop begins, not when the sequence is
// created.
func (f *Flaky) Query(ctx context.Context, part, from, to string) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		fault := f.begin(ctx, Call{Method: Query, Part: part})
		if fault != None && fault != After {
			yield(table.Item{}, ErrInjected)
			return
		}
		if f.yieldAll(f.table.Query(ctx, part, from, to), yield) && fault == After {
			yield(table.Item{}, ErrInjected)
		}
	}
}

// yieldAll passes on a Query and counts its pages. It reports whether the loop continues.
func (f *Flaky) yieldAll(
	items iter.Seq2[table.Item, error], yield func(table.Item, error) bool,
) bool {
	size := 0
	for it, err := range items {
		size += len(it.Part) + len(it.Sort) + len(it.Data)
		if size >= 1<<20 {
			f.countPage()
			size = 0
		}
		if !yield(it, err) || err != nil {
			return false
		}
	}
	return true
}

func (f *Flaky) countPage() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts.Pages++
}

// Commit implements table.Table.
func (f *Flaky) Commit(ctx context.Context, ops ...table.Op) error {
	fault := f.begin(ctx, Call{Method: Commit, Ops: ops})
	switch fault {
	case None:
		return f.table.Commit(ctx, ops...)
	case After:
		// The answer is lost.
		_ = f.table.Commit(ctx, ops...)
	case Late, LateNext:
		f.postpone(lateCommit{table.Clone(ops), fault == LateNext})
	}
	return ErrInjected
}

func (f *Flaky) postpone(c lateCommit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = append(f.late, c)
}
