// Package parallel calls a function for many values at once: ForEach and Range wait for all calls,
// and Ahead yields each result while later calls are made.
package parallel

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// ForEach calls do with each of the values, at most atOnce at a time, waits for all calls, and
// returns their errors joined. If a call panics, ForEach panics with the same value after the other
// calls, so that its caller can recover.
func ForEach[T any](atOnce int, all []T, do func(T) error) error {
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		failed  error
		thrown  any // of the last call that panicked
	)
	// free limits the number of goroutines: each holds a slot until its call returns.
	free := make(chan struct{}, atOnce)
	for _, v := range all {
		free <- struct{}{}
		running.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					mu.Lock()
					defer mu.Unlock()
					thrown = p
				}
				<-free
			}()
			if err := do(v); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			}
		})
	}
	running.Wait()
	if thrown != nil {
		panic(thrown)
	}
	return failed
}

// Range calls do for each number below n, on as many goroutines as there are processors, and waits
// for all calls. A single call is made on the goroutine of the caller. Panics are those of ForEach.
func Range(n int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	_ = ForEach(workers, make([]struct{}, workers), func(struct{}) error {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
		return nil
	})
}
