package s3blob_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/s3blob"
)

// A rig is a bucket whose requests are counted and fail as planned.
type rig struct {
	*testing.T
	*s3blob.Bucket
	faults *awstest.Faults
	raw    *s3.Client // bypasses the bucket's own client
	name   string
	plan   func(awstest.Request) awstest.Fault // nil: no faults
}

func newRig(t *testing.T, o s3blob.Options) *rig {
	t.Helper()
	backend := awstest.Start(t)
	r := &rig{T: t, name: backend.Bucket(t)}
	r.faults = awstest.NewFaults(awstest.HTTP(), func(q awstest.Request) awstest.Fault {
		if r.plan == nil {
			return awstest.None
		}
		return r.plan(q)
	})
	r.Bucket = s3blob.New(backend.AWS(t, r.faults), r.name, o)
	r.raw = s3.NewFromConfig(backend.AWS(t, nil), func(o *s3.Options) { o.UsePathStyle = true })
	return r
}

// other returns the bucket as another process sees it.
func (r *rig) other() *s3blob.Bucket {
	return s3blob.New(awstest.Start(r.T).AWS(r.T, nil), r.name, s3blob.Options{})
}

func (r *rig) put(b blob.Bucket, key, data string) blob.Tag {
	r.Helper()
	tag, err := b.Put(r.Context(), key, []byte(data), blob.Always)
	require.NoError(r, err)
	return tag
}

// requests returns the number of requests that do makes.
func (r *rig) requests(do func()) int {
	before := r.faults.Requests()
	do()
	return r.faults.Requests() - before
}

func TestRequests(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	ctx := t.Context()
	tag := r.put(r.other(), "a", "0123456789")
	get := func(off, n int64) func() {
		return func() { _, _, err := r.Get(ctx, "a", off, n); require.NoError(t, err) }
	}
	put := func(c blob.Cond) func() {
		return func() { _, _ = r.Put(ctx, "a", []byte("x"), c) }
	}
	for name, c := range map[string]struct {
		do   func()
		want int
	}{
		"get":                    {get(0, -1), 1},
		"a range":                {get(2, 3), 1},
		"the tag":                {get(0, 0), 1},
		"beyond the end":         {get(10, 5), 2},
		"refused, if absent":     {put(blob.IfAbsent), 1},
		"refused, another tag":   {put(blob.IfTag(`"x"`)), 1},
		"refused, the empty tag": {put(blob.IfTag("")), 0},
		"a context that is done": {func() { _, _, _ = r.Get(done(t), "a", 0, -1) }, 0},
		"what is no key":         {func() { _, _, _ = r.Get(ctx, "a/../b", 0, -1) }, 0},
		"what is not there":      {func() { _, _, _ = r.Get(ctx, "none", 0, -1) }, 1},
		"delete":                 {func() { require.NoError(t, r.Delete(ctx, "none")) }, 1},
		"the first of a list":    {func() { first(t, r.Bucket) }, 1},
		"a list of nothing":      {func() { require.Empty(t, keys(t, r.Bucket, "none/")) }, 1},
		"put what is new":        {func() { r.put(r.Bucket, "b", "x") }, 1},
		"put what has its tag":   {func() { _, err := r.Put(ctx, "a", []byte("0123456789"), blob.IfTag(tag)); require.NoError(t, err) }, 1},
	} {
		require.Equal(t, c.want, r.requests(c.do), name)
	}
}

// TestLargeObjects reads an object with many chunks.
func TestLargeObjects(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	r.SetChunk(1000)
	var text strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&text, "%06d\n", i)
	}
	want := text.String() // 10,500 bytes
	tag := r.put(r.other(), "a", want)
	for _, c := range []struct {
		off, n   int64
		want     string
		requests int
	}{
		{0, -1, want, 11},
		{500, -1, want[500:], 10},
		{500, 1000, want[500:1500], 1},
		{500, 1001, want[500:1501], 2},
		{9999, 9999, want[9999:], 1},
	} {
		require.Equal(t, c.requests, r.requests(func() {
			data, got, err := r.Get(t.Context(), "a", c.off, c.n)
			require.NoError(t, err)
			require.Equal(t, c.want, string(data))
			require.Equal(t, tag, got)
		}), "%+v", c)
	}
	every := spread(awstest.Every(3, 0))
	r.plan = func(q awstest.Request) awstest.Fault {
		f := every(q)
		if f == awstest.Conflict {
			return awstest.ResetBefore // S3 answers 409 only to a PUT
		}
		return f
	}
	data, _, err := r.Get(t.Context(), "a", 0, -1)
	require.NoError(t, err)
	require.Equal(t, want, string(data), "under faults")
}

// TestReplacedWhileRead replaces an object between the chunks of a Get, and checks that the result
// is one of the two.
func TestReplacedWhileRead(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	r.SetChunk(1000)
	other := r.other()
	old, text := strings.Repeat("a", 3500), strings.Repeat("b", 2500)
	r.put(other, "a", old)
	r.plan = func(q awstest.Request) awstest.Fault {
		if q.N == 2 {
			r.put(other, "a", text)
		}
		return awstest.None
	}
	data, _, err := r.Get(t.Context(), "a", 0, -1)
	require.NoError(t, err)
	require.Equal(t, text, string(data))

	n := r.faults.Requests()
	r.plan = func(q awstest.Request) awstest.Fault {
		if q.N == n+2 {
			require.NoError(t, other.Delete(t.Context(), "a"))
		}
		return awstest.None
	}
	_, _, err = r.Get(t.Context(), "a", 0, -1)
	require.ErrorIs(t, err, blob.ErrNotExist)

	r.put(other, "a", old)
	turn := 0
	r.plan = func(q awstest.Request) awstest.Fault {
		if q.Header.Get("If-Match") == "" {
			return awstest.None
		}
		turn++
		r.put(other, "a", old+fmt.Sprint(turn))
		return awstest.None
	}
	_, _, err = r.Get(t.Context(), "a", 0, -1)
	require.ErrorContains(t, err, "replaced while it was read", "a Get ends")
}

// TestCutBodies truncates the responses of a Get, and checks that it reads again from the start.
func TestCutBodies(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	want := strings.Repeat("0123456789", 10_000)
	r.put(r.other(), "a", want)
	for cuts := range 4 {
		n := r.faults.Requests()
		r.plan = func(q awstest.Request) awstest.Fault {
			if q.N <= n+cuts {
				return awstest.CutAfter
			}
			return awstest.None
		}
		data, _, err := r.Get(t.Context(), "a", 0, -1)
		require.NoError(t, err, "%d cuts", cuts)
		require.True(t, want == string(data))
	}
	r.plan = func(awstest.Request) awstest.Fault { return awstest.CutAfter }
	require.Equal(t, 4, r.requests(func() {
		_, _, err := r.Get(t.Context(), "a", 0, -1)
		require.Error(t, err)
	}))
}

// TestListOfForeignNames checks that objects with names that are not keys are skipped.
func TestListOfForeignNames(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	for _, name := range []string{"n/", "n/a\x01b", "n//b", "n/a+b c%20d", "n/z"} {
		_, err := r.raw.PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: &r.name, Key: aws.String(name), Body: bytes.NewReader([]byte("x")),
		})
		require.NoError(t, err, "%q", name)
	}
	require.Equal(t, []string{"n/a+b c%20d", "n/z"}, keys(t, r.Bucket, ""))
	_, err := s3blob.NewEraser(r.Bucket).Wipe(t.Context(), "n/")
	require.NoError(t, err)
	requireVersions(t, r, 0)
}

func TestContentType(t *testing.T) {
	r := newRig(t, s3blob.Options{})
	for key, want := range map[string]string{
		"tenants/a/vaults/v/notes/x/Æ.md":  "text/markdown; charset=utf-8",
		"notes/a.md":                       "text/markdown; charset=utf-8",
		"tenants/a/vaults/v/notes/x.yaml":  "application/octet-stream",
		"tenants/a/vaults/v/log/x.md":      "application/octet-stream",
		"tenants/a/vaults/v/mynotes/x.md":  "application/octet-stream",
		"tenants/a/vaults/v/segments/0001": "application/octet-stream",
	} {
		r.put(r.Bucket, key, "x")
		head, err := r.raw.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &r.name, Key: &key})
		require.NoError(t, err)
		require.Equal(t, want, aws.ToString(head.ContentType), key)
	}
}

// first returns the first object of a list.
func first(t *testing.T, b blob.Bucket) {
	for _, err := range b.List(t.Context(), "") {
		require.NoError(t, err)
		return
	}
}

func keys(t *testing.T, b blob.Bucket, prefix string) []string {
	t.Helper()
	var all []string
	for o, err := range b.List(t.Context(), prefix) {
		require.NoError(t, err)
		all = append(all, o.Key)
	}
	return all
}
