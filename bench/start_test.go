package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSizeOfAFunction covers that a function is small enough. To build one for another processor takes minutes:
// only the soak does it.
func TestSizeOfAFunction(t *testing.T) {
	if os.Getenv("ROOKERY_SOAK") == "" {
		t.Skip("a soak builds a function")
	}
	s, err := sizeOfFunction(t.Context(), t.TempDir(), functionSource, functionArch)
	require.NoError(t, err)
	require.LessOrEqual(t, s.Zip, int64(maxFunction))
	require.Greater(t, s.Zip, s.Raw/8)
}

func TestPageOfAStart(t *testing.T) {
	var b bytes.Buffer
	p := page{Start: &starting{
		Tools: 60, Allocs: 1234, Ready: link{Waits: []time.Duration{12 * time.Millisecond}},
		Made: link{Waits: []time.Duration{time.Millisecond}}, Served: link{Waits: []time.Duration{time.Millisecond}},
		Size: size{17 << 20, 6 << 20},
	}}
	require.NoError(t, p.render(&b))
	require.Contains(t, b.String(), "| allocations, all tools | 1,234 |")
	require.Contains(t, b.String(), "can be called, p50 | 12.0 ms |")
	require.Contains(t, b.String(), "at most 10.0 MiB | 6.0 MiB |")
}
