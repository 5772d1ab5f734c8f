package s3blob_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/awstest"
	"rookery/internal/blob"
	"rookery/internal/blobtest"
	"rookery/internal/s3blob"
)

// putOf is the id of the Put that a request belongs to.
func putOf(r awstest.Request) string { return r.Header.Get("X-Amz-Meta-Rookery-Put") }

// apart is how many other requests for a path are between two that fail.
const apart = 20

// spread is a plan as another one, but it does not let a call fail so often that it gives up, however many are made
// at once: only one request of a Put fails, and of the others for a path one in twenty.
func spread(plan func(awstest.Request) awstest.Fault) func(awstest.Request) awstest.Fault {
	sound := map[string]int{} // how many of the next requests must not fail
	return func(r awstest.Request) awstest.Fault {
		id := putOf(r)
		if id == "" {
			id = r.Method + " " + r.URL.Path
		}
		if sound[id] > 0 {
			sound[id]--
			return awstest.None
		}
		f := plan(r)
		if f != awstest.None {
			sound[id] = apart
		}
		return f
	}
}

// brief is a plan as another one, but with one silence of each kind in all: one lasts as long as an attempt may.
func brief(
	silent map[awstest.Fault]bool, plan func(awstest.Request) awstest.Fault,
) func(awstest.Request) awstest.Fault {
	return func(r awstest.Request) awstest.Fault {
		f := plan(r)
		if f != awstest.SilenceBefore && f != awstest.SilenceAfter {
			return f
		}
		if silent[f] {
			return awstest.ResetBefore
		}
		silent[f] = true
		return f
	}
}

func TestConformanceUnderFaults(t *testing.T) {
	t.Parallel()
	b := awstest.Start(t)
	seed := rand.IntN(100)
	t.Logf("the first fault is number %d", seed)
	met, silent := map[awstest.Fault]int{}, map[awstest.Fault]bool{}
	blobtest.RunUnderFaults(t, func(t *testing.T) blob.Bucket {
		seed++
		faults := awstest.NewFaults(awstest.HTTP(), spread(brief(silent, awstest.Every(5, seed))))
		t.Cleanup(func() {
			for f, n := range faults.Met() {
				met[f] += n
			}
		})
		return s3blob.New(b.AWS(t, faults), b.Bucket(t), s3blob.Options{Attempt: 5 * time.Second})
	})
	if t.Failed() {
		return
	}
	for _, f := range []awstest.Fault{
		awstest.SlowDown, awstest.Conflict, awstest.ErrorBefore, awstest.ErrorAfter, awstest.ResetBefore,
		awstest.ResetAfter, awstest.CutAfter, awstest.SilenceBefore, awstest.SilenceAfter,
	} {
		require.Positive(t, met[f], "fault %d", f)
	}
}
