package team

import "sync"

// manyOpen is how many vaults a call reads at once.
const manyOpen = 16

// A row tells of a vault, or that there is no memory to open it.
type row interface{ refused() bool }

// ofEach is what a function tells of each of some vaults, in order, 16 at once. Of those for which there was no
// memory meanwhile, because the others had it, it is asked again, one after the other. It ends with the first error.
func ofEach[E any, R row](all []E, of func(E) (R, error)) ([]R, error) {
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
