package search

import (
	"runtime"
	"sync"
)

// A workers makes segments of notes that come one by one: one builder alone while there are few, then
// several at once.
type workers struct {
	builds  func() *builder
	alone   *builder // before there are others
	size    int      // bytes of text that it has
	jobs    chan Change
	workers []*worker
	working sync.WaitGroup
}

// A worker makes one of the segments.
type worker struct {
	*builder
	made     *segment
	panicked any
}

const (
	// fewBytes is how much text one builder takes in sooner than others would be of help.
	fewBytes = 1 << 20

	// mostWorkers bounds how many segments a build leaves.
	mostWorkers = 4
)

// add adds a note.
func (c *workers) add(change Change) {
	if c.jobs != nil {
		c.jobs <- change
		return
	}
	if c.alone == nil {
		c.alone = c.builds()
	}
	c.alone.add(change.Doc, change.Note)
	if c.size += len(change.Note.Text); c.size > fewBytes {
		c.share()
	}
}

// share lets others do the rest.
func (c *workers) share() {
	n := min(runtime.GOMAXPROCS(0), mostWorkers)
	if n == 1 {
		c.size = 0
		return
	}
	c.jobs = make(chan Change)
	for i := range n {
		w := &worker{builder: c.alone}
		if i > 0 {
			w.builder = c.builds()
		}
		c.workers = append(c.workers, w)
		c.working.Go(func() { w.work(c.jobs) })
	}
}

// work does jobs until there are no more. A panic is kept for the one who waits for the work; the
// other jobs are then done by nobody, but taken.
func (w *worker) work(jobs <-chan Change) {
	defer func() {
		if w.panicked = recover(); w.panicked != nil {
			for range jobs {
			}
		}
	}()
	for job := range jobs {
		w.add(job.Doc, job.Note)
	}
	w.made, w.builder = w.finish(), nil
}

// finish are the segments of the notes that were added.
func (c *workers) finish() []*segment {
	if c.jobs == nil {
		if c.alone == nil {
			return nil
		}
		return []*segment{c.alone.finish()}
	}
	c.dismiss()
	var all []*segment
	for _, w := range c.workers {
		if w.panicked != nil {
			panic(w.panicked)
		}
		all = append(all, w.made)
	}
	return all
}

// dismiss ends the work, also that of a crew which nobody lets finish.
func (c *workers) dismiss() {
	if c.jobs != nil {
		close(c.jobs)
		c.working.Wait()
		c.jobs = nil
	}
}
