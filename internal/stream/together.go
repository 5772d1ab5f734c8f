package stream

import (
	"errors"
	"sync"

	"github.com/rookeryhq/rookery/internal/fault"
)

// mostFiles is how many files of a vault are written at once, and mostVaults how many vaults are
// handled at once.
const (
	mostFiles  = 16
	mostVaults = 8
)

// ForEach calls do with each of some values, at most n at once, and returns all errors, joined. A
// panic becomes an error.
func ForEach[T any](n int, all []T, do func(T) error) error {
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

// safely calls do, and turns a panic into an error with its type and location, but without its
// value.
func safely(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Panicked("while files are written", p)
		}
	}()
	return do()
}
