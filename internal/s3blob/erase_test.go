package s3blob_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/s3blob"
)

// requireVersions checks the number of versions and markers in the bucket.
func requireVersions(t *testing.T, r *rig, want int) {
	t.Helper()
	n := 0
	pages := s3.NewListObjectVersionsPaginator(r.raw, &s3.ListObjectVersionsInput{Bucket: &r.name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		n += len(page.Versions) + len(page.DeleteMarkers)
	}
	require.Equal(t, want, n)
}

// furnish creates objects with two versions each below "a/" and elsewhere, and deletes some of
// them.
func furnish(t *testing.T, r *rig) {
	for _, key := range []string{"a/kept", "a/deleted", "a/twice", "b", "ab"} {
		r.put(r.Bucket, key, "first")
		r.put(r.Bucket, key, "second")
	}
	for _, key := range []string{"a/deleted", "a/twice"} {
		require.NoError(t, r.Delete(t.Context(), key))
	}
	r.put(r.Bucket, "a/twice", "third")
	require.NoError(t, r.Delete(t.Context(), "a/twice"))
	requireVersions(t, r, 14)
}

func TestABucketErasesNothing(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	furnish(t, r)
	gone, err := blob.EraseKept(t.Context(), r.Bucket, "")
	require.NoError(t, err)
	require.Zero(t, gone, "a bucket of requests destroys no version")
	requireVersions(t, r, 14)
}

func TestEraseKept(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	furnish(t, r)
	gone, err := blob.EraseKept(t.Context(), blob.Sub(s3blob.NewEraser(r.Bucket), "a"), "")
	require.NoError(t, err)
	require.Equal(t, blob.EraseCount{Objects: 6, Bytes: 2*11 + 11 + 5 - 6}, gone)
	requireVersions(t, r, 5)
	require.Equal(t, []string{"a/kept", "ab", "b"}, keys(t, r.Bucket, ""))
	data, _, err := r.Get(t.Context(), "a/kept", 0, -1)
	require.NoError(t, err)
	require.Equal(t, "second", string(data), "what is current stays")
}

// TestErase destroys more than two pages of versions, under faults, and checks that nothing else is
// destroyed.
func TestErase(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	furnish(t, r)
	const n, writers = 700, 8
	var all sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		all.Go(func() {
			for i := w; i < n && errs[w] == nil; i += writers {
				_, errs[w] = r.Put(t.Context(), fmt.Sprintf("a/many/%03d", i/3), []byte("x"), blob.Always)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	r.plan = spread(awstest.Every(2, 0))
	gone, err := blob.Erase(t.Context(), blob.Sub(blob.Sub(s3blob.NewEraser(r.Bucket), "a"), "many"), "")
	require.NoError(t, err)
	require.Equal(t, blob.EraseCount{Objects: n, Bytes: n}, gone)
	requireVersions(t, r, 14)

	r.plan = nil
	require.Equal(t, 4, r.requests(func() {
		gone, err = blob.Erase(t.Context(), s3blob.NewEraser(r.Bucket), "a/")
		require.NoError(t, err)
	}), "two lists and two requests to destroy, for any 1,000 versions")
	require.Equal(t, 7, gone.Objects)
	require.Equal(t, []string{"ab", "b"}, keys(t, r.Bucket, ""))
	requireVersions(t, r, 4)
	gone, err = blob.Erase(t.Context(), s3blob.NewEraser(r.Bucket), "a/")
	require.NoError(t, err)
	require.Zero(t, gone)
}

// TestNothingReturns checks after each request of an erasure that no earlier version has become
// current.
func TestNothingReturns(t *testing.T) {
	for name, erase := range map[string]func(b blob.Bucket) error{
		"kept": func(b blob.Bucket) error { _, err := blob.EraseKept(t.Context(), b, ""); return err },
		"all":  func(b blob.Bucket) error { _, err := blob.Erase(t.Context(), b, ""); return err },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, s3blob.Options{})
			furnish(t, r)
			other := r.other()
			r.plan = func(awstest.Request) awstest.Fault {
				require.NotContains(t, keys(t, other, ""), "a/deleted")
				if data, _, err := other.Get(t.Context(), "a/kept", 0, -1); err == nil {
					require.Equal(t, "second", string(data))
				}
				return awstest.None
			}
			require.NoError(t, erase(s3blob.NewEraser(r.Bucket)))
		})
	}
}
