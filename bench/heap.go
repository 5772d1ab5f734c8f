package main

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// heap runs a garbage collection and returns the bytes of live objects on the heap.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// heapWatch is the interval at which a watch samples the heap.
const heapWatch = time.Millisecond

// A watch records the maximum size of the heap during some work.
type watch struct {
	stop chan struct{}
	most chan int64
}

// watchHeap starts a watch.
func watchHeap() *watch {
	w := &watch{make(chan struct{}), make(chan int64)}
	go w.run()
	return w
}

// run samples the heap periodically. A sample includes garbage that is not swept yet.
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
			ended = true // take a last sample
		}
	}
}

// end stops the watch and returns the maximum, in bytes.
func (w *watch) end() int64 {
	close(w.stop)
	return <-w.most
}
