package localapp_test

import (
	"bytes"
	"context"
	"iter"
	"sync"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// A disturbance is a failure of the stores: of one call, or of that and all later ones.
type disturbance struct {
	at    int // the call, from 1, since the stores were disturbed
	fault tabletest.Fault
	dies  bool // nothing is done after it
}

// stores are wrappers of the table and the bucket of an App, also of its successors over the same
// directory.
type stores struct {
	flaky *tabletest.Flaky

	mu     sync.Mutex
	table  table.Table // of the App that is open
	bucket blob.Folder
	plan   *disturbance
	calls  int
	hit    chan struct{} // closed when the fault comes
	late   []func()      // changes of the bucket
}

func newStores() *stores {
	s := &stores{}
	s.flaky = tabletest.NewFlaky(relay{s}, func(tabletest.Call) tabletest.Fault { return s.next() })
	return s
}

// between returns the wrapped stores of an App.
func (s *stores) between(t table.Table, b blob.Folder) (table.Table, blob.Folder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table, s.bucket = t, b
	return s.flaky, flakyFolder{b, s}
}

// disturb plans a disturbance. The channel is closed when it occurs.
func (s *stores) disturb(d disturbance) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan, s.calls, s.hit = &d, 0, make(chan struct{})
	return s.hit
}

// heal ends the disturbance, and returns the number of calls since it began.
func (s *stores) heal() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = nil
	return s.calls
}

// die lets every later call fail without an effect, as if the process was killed.
func (s *stores) die() {
	s.disturb(disturbance{at: 1, fault: tabletest.Before, dies: true})
}

// next returns the fault of the next call.
func (s *stores) next() tabletest.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	switch {
	case s.plan == nil || s.calls < s.plan.at:
		return tabletest.None
	case s.calls == s.plan.at:
		close(s.hit)
		return s.plan.fault
	case s.plan.dies:
		return tabletest.Before
	}
	return tabletest.None
}

// deliver makes the late changes.
func (s *stores) deliver(ctx context.Context) {
	s.flaky.Deliver(ctx)
	s.mu.Lock()
	late := s.late
	s.late = nil
	s.mu.Unlock()
	for _, change := range late {
		change()
	}
}

// change makes a change of the bucket, as far as a fault permits.
func (s *stores) change(fault tabletest.Fault, do func(blob.Folder)) error {
	s.mu.Lock()
	b := s.bucket
	switch fault {
	case tabletest.Late, tabletest.LateNext:
		s.late = append(s.late, func() {
			s.mu.Lock()
			now := s.bucket
			s.mu.Unlock()
			do(now)
		})
	}
	s.mu.Unlock()
	if fault == tabletest.After {
		do(b)
	}
	return tabletest.ErrInjected
}

// A relay is the table of the App that is open.
type relay struct{ stores *stores }

func (r relay) now() table.Table {
	r.stores.mu.Lock()
	defer r.stores.mu.Unlock()
	return r.stores.table
}

// Get implements table.Table.
func (r relay) Get(ctx context.Context, k table.Key) (table.Item, error) {
	return r.now().Get(ctx, k)
}

// Query implements table.Table.
func (r relay) Query(
	ctx context.Context, part, from, to string,
) iter.Seq2[table.Item, error] {
	return r.now().Query(ctx, part, from, to)
}

// Commit implements table.Table.
func (r relay) Commit(ctx context.Context, ops ...table.Op) error {
	return r.now().Commit(ctx, ops...)
}

// A flakyFolder fails as its stores plan it, for the objects of logs; changes of notes always take
// effect.
type flakyFolder struct {
	blob.Folder
	stores *stores
}

// Put implements blob.Bucket.
func (f flakyFolder) Put(
	ctx context.Context, key string, data []byte, c blob.Cond,
) (blob.Tag, error) {
	fault := f.stores.next()
	if fault == tabletest.None {
		return f.Folder.Put(ctx, key, data, c)
	}
	data, ctx = bytes.Clone(data), context.WithoutCancel(ctx)
	return "", f.stores.change(fault, func(b blob.Folder) { _, _ = b.Put(ctx, key, data, c) })
}

// Delete implements blob.Bucket.
func (f flakyFolder) Delete(ctx context.Context, key string) error {
	fault := f.stores.next()
	if fault == tabletest.None {
		return f.Folder.Delete(ctx, key)
	}
	ctx = context.WithoutCancel(ctx)
	return f.stores.change(fault, func(b blob.Folder) { _ = b.Delete(ctx, key) })
}

// Get implements blob.Bucket.
func (f flakyFolder) Get(
	ctx context.Context, key string, off, n int64,
) ([]byte, blob.Tag, error) {
	if f.stores.next() != tabletest.None {
		return nil, "", tabletest.ErrInjected
	}
	return f.Folder.Get(ctx, key, off, n)
}

// List implements blob.Bucket.
func (f flakyFolder) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	if f.stores.next() != tabletest.None {
		return func(yield func(blob.Object, error) bool) {
			yield(blob.Object{}, tabletest.ErrInjected)
		}
	}
	return f.Folder.List(ctx, prefix)
}
