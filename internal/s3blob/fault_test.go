package s3blob_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/blobtest"
	"github.com/rookeryhq/rookery/internal/s3blob"
)

// putOf returns the id of the Put that a request belongs to.
func putOf(r awstest.Request) string { return r.Header.Get("X-Amz-Meta-Rookery-Put") }

// apart is the number of other requests for a path between two that fail.
const apart = 20

// spread returns a plan with the faults of another one, but not so many that a call gives up,
// however many are concurrent: at most one request of a Put fails, and one in twenty of the other
// requests for a path.
func spread(plan func(awstest.Request) awstest.Fault) func(awstest.Request) awstest.Fault {
	sound := map[string]int{} // number of the next requests that must not fail
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

// brief returns a plan with the faults of another one, but with only one silence of each kind,
// because each lasts as long as an attempt may.
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
