package team

import "sync"

// manyOpen is the maximum number of vaults that a call reads at once. The limit bounds the memory
// and the requests of one call.
const manyOpen = 16

// A row describes one vault. refused reports whether the vault could not be opened because of the
// memory limit.
//
// The tools that list vaults and report usage have a row type each, whose error of this kind is a
// value of the row and not an error of the call.
type row interface{ refused() bool }

// forEach returns the row that of returns for each element of all, in order. It runs at most
// manyOpen calls of of at once. A refused row is requested a second time after all calls are done,
// one vault at a time, because the other vaults may have used the memory. forEach returns the first
// error in the order of all.
//
// It always waits for all calls that it started, also after an error, so that none of them uses the
// context of the call after its end.
func forEach[E any, R row](all []E, of func(E) (R, error)) ([]R, error) {
	rows, errs := make([]R, len(all)), make([]error, len(all))
	var reading sync.WaitGroup
	free := make(chan struct{}, manyOpen)
	for i, e := range all {
		free <- struct{}{}
		reading.Go(func() {
			defer func() { <-free }()
			rows[i], errs[i] = of(e)
		})
	}
	reading.Wait()
	for i, e := range all {
		if errs[i] == nil && rows[i].refused() {
			rows[i], errs[i] = of(e)
		}
		if errs[i] != nil {
			return nil, errs[i]
		}
	}
	return rows, nil
}
