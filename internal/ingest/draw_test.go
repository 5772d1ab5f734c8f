package ingest_test

import (
	"math/rand/v2"
	"testing"
)

// drawn is a source of chance, whose seed is logged.
func drawn(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it decides nothing
}
