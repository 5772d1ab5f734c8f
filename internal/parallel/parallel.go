// Package parallel calls a function for many values at once.
package parallel

import (
	"errors"
	"sync"
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
