package tenant_test

import (
	"context"
	"iter"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/table"
)

// steps are the kinds of steps at which a process is killed: calls to its stores, named by their
// object.
var steps = []string{
	"Get an item", "Query", "Commit a run", "Replace the control item", "Remove items",
	"Put a payload", "Put a segment", "Put an image", "Get an object", "List", "Delete",
	"Exchange", "Remove a file", "Append", "Sync",
}

// rare are the kinds of steps that a process makes only a few of.
var rare = []string{
	"Remove items", "Put a payload", "Put a segment", "Put an image", "List", "Delete",
	"Remove a file", "Append", "Sync",
}

// A doom says when a process is killed: before or after the N-th step of a kind, counted from 1.
type doom struct {
	Step  string
	N     int64
	After bool

	met  atomic.Int64
	tell func()
}

// at makes a step, and kills the process before or after it if it is the chosen step.
func (d *doom) at(step string, do func()) {
	last := step == d.Step && d.met.Add(1) == d.N
	if last && !d.After {
		d.die()
	}
	do()
	if last {
		d.die()
	}
}

// die ends the process at once, without any cleanup.
func (d *doom) die() {
	d.tell()
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // it does not fail, and never returns
	select {}
}

// A doomedTable is the table of a process that is killed at some step.
type doomedTable struct {
	table.Table
	doom *doom
}

func (t doomedTable) Get(ctx context.Context, k table.Key) (it table.Item, err error) {
	t.doom.at("Get an item", func() { it, err = t.Table.Get(ctx, k) })
	return it, err
}

func (t doomedTable) Query(
	ctx context.Context, part, from, to string,
) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		t.doom.at("Query", func() {
			for it, err := range t.Table.Query(ctx, part, from, to) {
				if !yield(it, err) {
					return
				}
			}
		})
	}
}

func (t doomedTable) Commit(ctx context.Context, ops ...table.Op) (err error) {
	step := "Commit a run"
	switch ops[0].Kind {
	case table.OpRemove:
		step = "Remove items"
	case table.OpReplace:
		step = "Replace the control item"
	}
	t.doom.at(step, func() { err = t.Table.Commit(ctx, ops...) })
	return err
}

// A doomedBucket is the folder of a process that is killed at some step. The clock of the process
// jumps; List adds that jump to the time of each object, so that no object looks older because of
// it.
type doomedBucket struct {
	*fileblob.Bucket
	doom  *doom
	ahead func() time.Duration // how far the clock of the process is ahead
}

var _ blob.Exchanger = doomedBucket{}

func (b doomedBucket) Put(
	ctx context.Context, key string, data []byte, c blob.Cond,
) (tag blob.Tag, err error) {
	step := "Put an image"
	for _, kind := range []string{"payload", "segment"} {
		if strings.Contains(key, "/"+kind+"/") {
			step = "Put a " + kind
		}
	}
	if strings.HasSuffix(key, "/checkout/seen.json") {
		step = "Put what was seen"
	}
	b.doom.at(step, func() { tag, err = b.Bucket.Put(ctx, key, data, c) })
	return tag, err
}

func (b doomedBucket) PutPieces(
	ctx context.Context, key string, data blob.Pieces, c blob.Cond,
) (blob.Tag, error) {
	return b.Put(ctx, key, data.Join(), c)
}

func (b doomedBucket) Get(
	ctx context.Context, key string, off, n int64,
) (data []byte, tag blob.Tag, err error) {
	b.doom.at("Get an object", func() { data, tag, err = b.Bucket.Get(ctx, key, off, n) })
	return data, tag, err
}

func (b doomedBucket) Delete(ctx context.Context, key string) (err error) {
	b.doom.at("Delete", func() { err = b.Bucket.Delete(ctx, key) })
	return err
}

func (b doomedBucket) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		b.doom.at("List", func() {
			for o, err := range b.Bucket.List(ctx, prefix) {
				o.Modified = o.Modified.Add(b.ahead())
				if !yield(o, err) {
					return
				}
			}
		})
	}
}

func (b doomedBucket) Exchange(ctx context.Context, key string, data, want []byte) (err error) {
	b.doom.at("Exchange", func() { err = b.Bucket.Exchange(ctx, key, data, want) })
	return err
}

func (b doomedBucket) Remove(ctx context.Context, key string, want []byte) (err error) {
	b.doom.at("Remove a file", func() { err = b.Bucket.Remove(ctx, key, want) })
	return err
}

func (b doomedBucket) Append(ctx context.Context, key string, n int64, data []byte) (err error) {
	b.doom.at("Append", func() { err = b.Bucket.Append(ctx, key, n, data) })
	return err
}

func (b doomedBucket) Sync(ctx context.Context, keys ...string) (err error) {
	b.doom.at("Sync", func() { err = b.Bucket.Sync(ctx, keys...) })
	return err
}

// A teller writes lines to the parent process, one at a time and unbuffered.
type teller struct{ mu sync.Mutex }

func (l *teller) tell(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = os.Stdout.WriteString(line + "\n") // an error means that the parent is gone
}
