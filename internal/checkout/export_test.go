package checkout

import "time"

// Hurried are options by which everything that waits for a time waits for a part of it only.
func (o Options) Hurried(times int) Options {
	o.hurry = time.Duration(times)
	return o
}
