package stream

import (
	"errors"
	"sync"

	"rookery/internal/fault"
)

// mostFiles is how many files of a vault are brought at once, mostVaults how many vaults.
const (
	mostFiles  = 16
	mostVaults = 8
)

// Together does something with each of some things, at most n at once, and returns all errors. A panic is one.
func Together[T any](n int, all []T, do func(T) error) error {
	var mu sync.Mutex
	var errs []error
	var running sync.WaitGroup
	room := make(chan struct{}, n)
	for _, one := range all {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			if err := safely(func() error { return do(one) }); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// safely makes a panic an error: its type and where it was, and not what it says.
func safely(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Panicked("while files are written", p)
		}
	}()
	return do()
}
