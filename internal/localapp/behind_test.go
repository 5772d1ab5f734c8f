package localapp_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNothingRunsBehind checks that a process without Background leaves no goroutines: after calls
// of every tool, some of which are refused, there are as many as before. It makes 1,000 calls in
// all, or 1,000 of each tool with ROOKERY_SOAK.
func TestNothingRunsBehind(t *testing.T) {
	c := newCounted(t)
	v, all := c.root("heronlabs"), c.cat.Tools()
	rounds := 1000/len(all) + 1
	if os.Getenv("ROOKERY_SOAK") != "" {
		rounds = 1000
	}
	call := func(round int) {
		for i, made := range all {
			in := transports[(round+i)%len(transports)]
			vault := []string{"main", unseenVault, absentVault}[round%3]
			if r, carried := in.request(t, made, askedOf(t, made, vault)); carried {
				c.send(v, r)
			}
		}
		c.clock.minutes(2)
	}
	for round := range 3 {
		call(round) // what is opened once stays open
	}
	before := runtime.NumGoroutine()
	for round := range rounds {
		call(round)
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, // and this one
		time.Minute, time.Millisecond, "goroutines of calls that have ended")
}
