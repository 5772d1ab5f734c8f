package main

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// heap is how many bytes are in use, garbage not counted.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// heapWatch is how often a watch looks at the heap.
const heapWatch = time.Millisecond

// A watch looks at the heap while something happens.
type watch struct {
	stop chan struct{}
	most chan int64
}

// watchHeap begins to watch.
func watchHeap() *watch {
	w := &watch{make(chan struct{}), make(chan int64)}
	go w.run()
	return w
}

// run looks at the heap again and again: objects in use, and garbage that was not swept yet.
func (w *watch) run() {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	tick := time.NewTicker(heapWatch)
	defer tick.Stop()
	for most, ended := int64(0), false; ; {
		metrics.Read(sample)
		most = max(most, int64(sample[0].Value.Uint64()))
		if ended {
			w.most <- most
			return
		}
		select {
		case <-tick.C:
		case <-w.stop:
			ended = true // and look a last time
		}
	}
}

// end ends the watch, and is the most that it saw.
func (w *watch) end() int64 {
	close(w.stop)
	return <-w.most
}
