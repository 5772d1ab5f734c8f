package checkout

import (
	"context"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
)

// Hurried returns options with all times divided by a number.
func (o Options) Hurried(times int) Options {
	o.pace = float64(times)
	return o
}

// Slowed returns options with all times multiplied by a number, for tests on slow machines.
func (o Options) Slowed(times int) Options {
	o.pace = 1 / float64(times)
	return o
}

// An Edit is an edit as a test describes it, with times in seconds before now.
type Edit struct {
	Kind        EditKind
	First, Last float64 // when the file was seen to change
}

// An EditKind is the change of a file.
type EditKind int

// The kinds of edits.
const (
	EditChanged EditKind = iota
	EditMade
	EditRemoved
	EditJoins // it waits with removals
)

// Due returns the edits that are due, and the time until more may be due; 0: there are none.
func Due(edits map[string]Edit) (paths []string, wait time.Duration) {
	now := time.Now()
	ago := func(s float64) time.Time { return now.Add(-time.Duration(s * float64(time.Second))) }
	o := newPendingEdits(repo.MaxNamed)
	for path, e := range edits {
		made := &edit{
			before: &index.File{}, mark: "there", since: ago(e.First), at: ago(e.Last), noticed: ago(e.First),
			withRemoval: e.Kind == EditJoins,
		}
		if e.Kind == EditMade {
			made.before = nil
		}
		if e.Kind == EditRemoved {
			made.mark = ""
		}
		if made.withRemovals() {
			o.removed = later(o.removed, made.at)
		}
		o.edits[path] = made
	}
	p := o.plan(moment{now, (&Checkout{}).span, 100})
	slices.Sort(p.paths)
	if p.wait == never {
		p.wait = 0
	}
	return p.paths, p.wait
}

// TakeInUnasked sweeps, and syncs the differences as the reconciler does when they are due.
func (c *Checkout) TakeInUnasked(ctx context.Context) error {
	if _, err := c.Sweep(ctx); err != nil {
		return err
	}
	_, err := c.Ingest(ctx, IngestOptions{background: true})
	return err
}
