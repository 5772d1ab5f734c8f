package repotest

import (
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Seeds are those of a random case: those that made it fail once, and then a new one. ROOKERY_SEED=n
// is that one alone. With ROOKERY_SOAK=n new ones follow for n minutes.
func Seeds(kept ...uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if one, err := strconv.ParseUint(os.Getenv("ROOKERY_SEED"), 10, 64); err == nil {
			yield(one)
			return
		}
		for _, seed := range kept {
			if !yield(seed) {
				return
			}
		}
		minutes, _ := strconv.Atoi(os.Getenv("ROOKERY_SOAK")) // 0 if it says no number
		end := time.Now().Add(time.Duration(minutes) * time.Minute)
		for yield(uint64(time.Now().UnixNano())) && time.Now().Before(end) {
			continue
		}
	}
}

// EachSeed runs a case with each of its seeds, up to the first that fails.
func EachSeed(t *testing.T, kept []uint64, run func(t *testing.T, seed uint64)) {
	t.Helper()
	for seed := range Seeds(kept...) {
		if !t.Run("seed "+strconv.FormatUint(seed, 10), func(t *testing.T) { run(t, seed) }) {
			t.Logf("to run it again: ROOKERY_SEED=%d", seed)
			return
		}
	}
}

// A sample is the numbers first, first+stride, first+2*stride and so on.
type sample struct{ first, stride int }

// sampled returns a sample with a random first number up to the stride; when soaking, all numbers
// from 1.
func sampled(chance *rand.Rand, stride int) sample {
	if soaking() {
		return sample{1, 1}
	}
	return sample{1 + chance.IntN(stride), stride}
}

// all yields the numbers of the sample, without end.
func (s sample) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := s.first; yield(n); n += s.stride {
			continue
		}
	}
}
