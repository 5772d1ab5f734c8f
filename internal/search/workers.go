package search

import (
	"runtime"
	"sync"
)

// workers build segments from notes that are added one by one. A single builder works in the
// caller's goroutine until there is much text; then several work concurrently.
type workers struct {
	newBuilder func() *builder
	single     *builder // before there are workers
	size       int      // bytes of text that single has
	jobs       chan Change
	workers    []*worker
	working    sync.WaitGroup
}

// A worker builds one of the segments in its own goroutine.
type worker struct {
	*builder
	segment  *segment
	panicked any
}

const (
	// fewBytes is the amount of text up to which more workers would not help.
	fewBytes = 1 << 20

	// maxWorkers limits the number of segments that a build returns.
	maxWorkers = 4
)

// add adds a note. A panic of a worker is deferred to finish.
//
// While there is little text, it works in the calling goroutine. Later it passes the note to a
// worker, and blocks while all workers are busy.
func (c *workers) add(change Change) {
	if c.jobs != nil {
		c.jobs <- change
		return
	}
	if c.single == nil {
		c.single = c.newBuilder()
	}
	c.single.add(change.Doc, change.Note)
	if c.size += len(change.Note.Text); c.size > fewBytes {
		c.start()
	}
}

// start starts workers for the remaining notes. On a single processor it starts none.
func (c *workers) start() {
	n := min(runtime.GOMAXPROCS(0), maxWorkers)
	// Measure again after the next fewBytes, in case that more processors become available.
	if n == 1 {
		c.size = 0
		return
	}
	c.jobs = make(chan Change)
	for i := range n {
		// The first worker continues the segment that alone began.
		w := &worker{builder: c.single}
		if i > 0 {
			w.builder = c.newBuilder()
		}
		c.workers = append(c.workers, w)
		c.working.Go(func() { w.work(c.jobs) })
	}
}

// work adds notes until the channel is closed. It recovers a panic for finish, and then discards
// the other notes, so that add does not block.
func (w *worker) work(jobs <-chan Change) {
	defer func() {
		if w.panicked = recover(); w.panicked != nil {
			// Receive the other notes without adding them.
			for range jobs {
			}
		}
	}()
	for job := range jobs {
		w.add(job.Doc, job.Note)
	}
	w.segment, w.builder = w.finish(), nil
}

// finish returns the segments of the notes that were added. It panics if a worker panicked.
func (c *workers) finish() []*segment {
	if c.jobs == nil {
		if c.single == nil {
			return nil
		}
		return []*segment{c.single.finish()}
	}
	c.stop()
	var all []*segment
	for _, w := range c.workers {
		if w.panicked != nil {
			panic(w.panicked)
		}
		all = append(all, w.segment)
	}
	return all
}

// stop stops the workers and waits for them. It is also called if finish was not.
func (c *workers) stop() {
	if c.jobs != nil {
		close(c.jobs)
		c.working.Wait()
		c.jobs = nil
	}
}
