package parallel

import (
	"iter"
	"sync"
)

// Ahead calls do for each value of all, and yields each value with its result, in the order of the
// values. It reads up to ahead values in advance, on the goroutine of its caller, while workers
// goroutines call do and the caller uses earlier results. do also gets the number of its goroutine,
// from 0. If a call panics, Ahead panics with the same value in place of its result. When Ahead
// returns, no call is running.
func Ahead[T, R any](workers, ahead int, all iter.Seq[T], do func(worker int, v T) R) iter.Seq2[T, R] {
	return func(yield func(T, R) bool) {
		p := pipeline[T, R]{work: make(chan *job[T, R], ahead), workers: workers, do: do}
		defer p.end()
		for v := range all {
			p.add(v)
			if len(p.waiting) == ahead && !p.yieldFirst(yield) {
				return
			}
		}
		for len(p.waiting) > 0 {
			if !p.yieldFirst(yield) {
				return
			}
		}
	}
}

// A pipeline is the state of one call of Ahead.
type pipeline[T, R any] struct {
	work    chan *job[T, R] // has room for all that are waiting
	waiting []*job[T, R]    // those that are not yielded yet, in order
	workers int             // the number of goroutines to start at most
	started int
	running sync.WaitGroup
	do      func(worker int, v T) R
}

// A job is a value and, after done was closed, its result.
type job[T, R any] struct {
	value  T
	result R
	thrown any // of a panic in place of a result; nil: none
	done   chan struct{}
}

// add queues a value, and starts another goroutine unless all are started.
func (p *pipeline[T, R]) add(v T) {
	j := &job[T, R]{value: v, done: make(chan struct{})}
	p.waiting = append(p.waiting, j)
	p.work <- j
	if p.started == p.workers {
		return
	}
	worker := p.started
	p.started++
	p.running.Go(func() {
		for j := range p.work {
			p.run(worker, j)
		}
	})
}

// run makes the call for one value.
func (p *pipeline[T, R]) run(worker int, j *job[T, R]) {
	defer close(j.done)
	defer func() { j.thrown = recover() }()
	j.result = p.do(worker, j.value)
}

// yieldFirst waits for the result of the first value that is waiting, and yields both.
func (p *pipeline[T, R]) yieldFirst(yield func(T, R) bool) bool {
	j := p.waiting[0]
	p.waiting[0], p.waiting = nil, p.waiting[1:]
	<-j.done
	if j.thrown != nil {
		panic(j.thrown)
	}
	return yield(j.value, j.result)
}

// end drops the values that no goroutine has begun with, and waits for the others.
func (p *pipeline[T, R]) end() {
	close(p.work)
	for range p.work {
		continue // nobody waits for this result
	}
	p.running.Wait()
}
