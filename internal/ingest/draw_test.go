package ingest_test

import (
	"math/rand/v2"
	"os"
	"testing"
)

// sized is how large a case is: whole with ROOKERY_SOAK, and some of it in CI.
func sized(whole, some int) int {
	if os.Getenv("ROOKERY_SOAK") != "" {
		return whole
	}
	return some
}

// drawn is a source of chance, whose seed is logged.
func drawn(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it decides nothing
}
