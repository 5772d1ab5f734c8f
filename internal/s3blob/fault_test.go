package s3blob_test

import (
	"math/rand/v2"
	"net/http"
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

// spread is a plan as another one, but it does not let a call fail twice: neither the requests of one Put, nor two
// others for a path one after the other.
func spread(plan func(awstest.Request) awstest.Fault) func(awstest.Request) awstest.Fault {
	failed := map[string]bool{}
	return func(r awstest.Request) awstest.Fault {
		id := putOf(r)
		if id == "" {
			id = r.Method + " " + r.URL.Path
		}
		if failed[id] {
			failed[id] = r.Method == http.MethodPut
			return awstest.None
		}
		f := plan(r)
		failed[id] = f != awstest.None
		return f
	}
}

func TestConformanceUnderFaults(t *testing.T) {
	t.Parallel()
	b := awstest.Start(t)
	seed := rand.IntN(100)
	t.Logf("the first fault is number %d", seed)
	met := map[awstest.Fault]int{}
	blobtest.RunUnderFaults(t, func(t *testing.T) blob.Bucket {
		seed++
		faults := awstest.NewFaults(awstest.HTTP(), spread(awstest.Every(5, seed)))
		t.Cleanup(func() {
			for f, n := range faults.Met() {
				met[f] += n
			}
		})
		return s3blob.New(b.AWS(t, faults), b.Bucket(t), s3blob.Options{Attempt: time.Second})
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
