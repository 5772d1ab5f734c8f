package s3blob_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/s3blob"
)

// many returns n bytes.
func many(n int) []byte {
	data := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(data) // never an error
	return data
}

// uploads returns the number of uploads that are neither complete nor aborted.
func (r *rig) uploads(t *testing.T) int {
	t.Helper()
	out, err := r.raw.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &r.name})
	require.NoError(t, err)
	return len(out.Uploads)
}

// TestExtend checks that an object gets the beginning of another one, or of itself, and the new
// data, and that it is unchanged if a condition is not met.
func TestExtend(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	part := blob.Sub(blob.Sub(r, "tenants"), "acme")
	data := many(blob.MinExtended + 100)
	const key = "notes/.raven/audit \u00c6+%.log"
	tag, err := part.Put(t.Context(), key, data, blob.Always)
	require.NoError(t, err)
	require.Equal(t, 4, r.requests(func() {
		tag, err = blob.Extend(t.Context(), part, key, blob.Extension{
			From: key, Tag: tag, Size: blob.MinExtended, Data: []byte("behind"),
		}, blob.IfTag(tag))
		require.NoError(t, err)
	}))
	want := append(bytes.Clone(data[:blob.MinExtended]), "behind"...)
	requireObject := func(key string, want []byte, tag blob.Tag) {
		t.Helper()
		got, now, err := part.Get(t.Context(), key, 0, -1)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%d and %d bytes", len(want), len(got))
		require.Equal(t, tag, now)
	}
	requireObject(key, want, tag)

	whole := blob.Extension{From: key, Tag: tag, Size: int64(len(want))}
	copied, err := blob.Extend(t.Context(), part, "copy.log", whole, blob.IfAbsent)
	require.NoError(t, err)
	requireObject("copy.log", want, copied)

	for name, c := range map[string]struct {
		change func(e *blob.Extension)
		cond   blob.Cond
	}{
		"another object now":   {func(*blob.Extension) {}, blob.IfTag("other")},
		"no object any more":   {func(*blob.Extension) {}, blob.IfTag("")},
		"an object is there":   {func(*blob.Extension) {}, blob.IfAbsent},
		"another one to copy":  {func(e *blob.Extension) { e.Tag = "other" }, blob.Always},
		"nothing to copy":      {func(e *blob.Extension) { e.From = "none" }, blob.Always},
		"no tag of the source": {func(e *blob.Extension) { e.Tag = "" }, blob.Always},
	} {
		t.Run(name, func(t *testing.T) {
			e := whole
			c.change(&e)
			_, err := blob.Extend(t.Context(), part, key, e, c.cond)
			require.ErrorIs(t, err, blob.ErrCondition)
			requireObject(key, want, tag)
		})
	}
	small := whole
	small.Size = 10
	_, err = blob.Extend(t.Context(), part, key, small, blob.Always)
	require.ErrorContains(t, err, "too few")
	_, err = blob.Extend(t.Context(), part, "../x", whole, blob.Always)
	require.ErrorIs(t, err, blob.ErrKey)
	outside := whole
	outside.From = "../acme/" + key
	_, err = blob.Extend(t.Context(), part, key, outside, blob.Always)
	require.ErrorIs(t, err, blob.ErrKey)
	require.Zero(t, r.uploads(t), "none is left")

	files, err := fileblob.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	_, err = blob.Extend(t.Context(), blob.Sub(files, "a"), key, whole, blob.Always)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// TestExtendUnderFaults puts each fault at each request in turn, and checks that the object is
// either unchanged or extended, and that the result says which.
func TestExtendUnderFaults(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	data := many(blob.MinExtended)
	for _, f := range []awstest.Fault{
		awstest.SlowDown, awstest.ErrorBefore, awstest.ErrorAfter, awstest.ResetBefore, awstest.ResetAfter, awstest.Conflict,
	} {
		for at := range 4 {
			r.plan = nil
			tag, err := r.other().Put(t.Context(), "a", data, blob.Always)
			require.NoError(t, err)
			faults := append(make([]awstest.Fault, at), f)
			r.next(faults...)
			now, err := r.Extend(t.Context(), "a", blob.Extension{
				From: "a", Tag: tag, Size: int64(len(data)), Data: []byte("behind"),
			}, blob.IfTag(tag))
			require.NoError(t, err, "fault %d at request %d", f, at)
			got, is, err := r.other().Get(t.Context(), "a", 0, -1)
			require.NoError(t, err)
			require.Equal(t, now, is)
			require.True(t, bytes.Equal(append(bytes.Clone(data), "behind"...), got))
		}
	}
}
