package tooltest

import "runtime"

// Allocated is what a function allocates: how many objects, and how many bytes in all, those that were
// freed since included. Other goroutines that run meanwhile are counted too.
func Allocated(do func()) (objects, bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}
