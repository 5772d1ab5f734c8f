package s3blob_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/s3blob"
)

// TestTake checks that an object is removed if it has the tag, whatever another process puts before
// and between the requests of Take, and that no object is lost.
func TestTake(t *testing.T) {
	b := awstest.Start(t)
	name := b.Bucket(t)
	other := s3blob.New(b.AWS(t, nil), name, s3blob.Options{})
	put := func(key, text string) blob.Tag {
		tag, err := other.Put(t.Context(), key, []byte(text), blob.Always)
		require.NoError(t, err)
		return tag
	}
	for at, want := range map[int]string{0: "", 1: "theirs", 2: "theirs", 3: ""} {
		key := "notes/a.md"
		tag := put(key, "ours")
		put("notes/a.md.other", "another key")
		faults := awstest.NewFaults(awsclient.NewHTTP(nil), func(r awstest.Request) awstest.Fault {
			if r.N == at {
				put(key, "theirs")
			}
			return awstest.None
		})
		err := s3blob.New(b.AWS(t, faults), name, s3blob.Options{}).Take(t.Context(), key, tag)
		if want == "" {
			require.NoError(t, err)
			_, _, err = other.Get(t.Context(), key, 0, -1)
			require.ErrorIs(t, err, blob.ErrNotExist)
			require.Equal(t, 2, faults.Requests())
			continue
		}
		if at == 1 {
			require.ErrorIs(t, err, blob.ErrCondition)
		}
		text, _, err := other.Get(t.Context(), key, 0, -1)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	sub, ok := blob.Sub(blob.Sub(other, "notes"), "people").(blob.Taker)
	require.True(t, ok)
	tag := put("notes/people/b.md", "b")
	require.NoError(t, sub.Take(t.Context(), "b.md", tag))
	require.NoError(t, sub.Take(t.Context(), "b.md", tag), "no object is no error")
	require.ErrorIs(t, sub.Take(t.Context(), "../a.md", tag), blob.ErrKey)
	_, _, err := sub.Get(t.Context(), "b.md", 0, -1)
	require.ErrorIs(t, err, blob.ErrNotExist)
}
