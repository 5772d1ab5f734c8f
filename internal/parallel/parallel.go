// Package parallel calls a function for many values at once.
package parallel

import (
	"errors"
	"sync"
)

// ForEach calls do with each of the values, at most atOnce at a time, waits for all calls, and
// returns their errors joined.
func ForEach[T any](atOnce int, all []T, do func(T) error) error {
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		failed  error
	)
	// free limits the number of goroutines: each holds a slot until its call returns.
	free := make(chan struct{}, atOnce)
	for _, v := range all {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			if err := do(v); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			}
		})
	}
	running.Wait()
	return failed
}
