// Package blobtest checks the guarantees of the blob port, as a suite that every engine must pass.
//
// It requires exactly the guarantees of AWS, and runs all tests again through blob.Sub.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
)

// Run runs the suite. Each call of open returns an empty bucket, which open closes when t ends.
func Run(t *testing.T, open func(t *testing.T) blob.Bucket) {
	t.Run("bucket", func(t *testing.T) { RunAlone(t, open) })
	t.Run("sub", func(t *testing.T) {
		RunAlone(t, func(t *testing.T) blob.Bucket { return blob.Sub(open(t), "tenants/a") })
	})
	t.Run("sub of a sub", func(t *testing.T) {
		RunAlone(t, func(t *testing.T) blob.Bucket {
			return blob.Sub(blob.Sub(open(t), "tenants/a"), "vaults/b")
		})
	})
	t.Run("isolation", func(t *testing.T) { testIsolation(t, open(t)) })
	t.Run("a sub of no key", func(t *testing.T) { testBadSub(t, open(t)) })
}

// RunAlone is Run without the cases of blob.Sub.
func RunAlone(t *testing.T, open func(t *testing.T) blob.Bucket) {
	RunFolding(t, open)
	t.Run("twins", func(t *testing.T) { testTwins(kit{t, open(t)}) })
}

// RunFolding is Run for a bucket on a file system that treats names as equal if they differ only by
// case or normalization. There, two keys may be one object. It does not run the suite again through
// blob.Sub, because the result would be the same.
func RunFolding(t *testing.T, open func(t *testing.T) blob.Bucket) {
	run(t, open, append(cases(), example{"counting", testCounting}))
}

// RunUnderFaults is RunAlone for a bucket with some failing requests, but too few for a call to give up. The answers
// must be the same, with one exception: the outcome of a conditional Put may be unknown if another call has replaced
// the object since.
func RunUnderFaults(t *testing.T, open func(t *testing.T) blob.Bucket) {
	run(t, open, append(cases(), example{"counting", testCountingUnderFaults}, example{"twins", testTwins}))
}

// An example is one test of the suite.
type example struct {
	name string
	run  func(k kit)
}

func run(t *testing.T, open func(t *testing.T) blob.Bucket, all []example) {
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) { c.run(kit{t, open(t)}) })
	}
}

func cases() []example {
	return []example{
		{"put and get", testPutGet},
		{"ranges", testRanges},
		{"empty object", testEmpty},
		{"large object", testLarge},
		{"pieces", testPieces},
		{"delete", testDelete},
		{"delete many", testDeleteAll},
		{"if absent", testIfAbsent},
		{"if tag", testIfTag},
		{"racing creators", testRacingCreators},
		{"racing writers", testRacingWriters},
		{"whole objects", testWhole},
		{"unicode", testUnicode},
		{"bad keys", testBadKeys},
		{"list order", testListOrder},
		{"list prefix", testListPrefix},
		{"list pages", testListPages},
		{"list and delete", testListDelete},
		{"rewrite", testRewrite},
		{"cancelled", testCancelled},
	}
}

// A kit is a bucket with a test. Its methods end the test if they fail.
type kit struct {
	*testing.T
	b blob.Bucket
}

func (k kit) put(key, data string, c blob.Cond) blob.Tag {
	k.Helper()
	tag, err := k.b.Put(k.Context(), key, []byte(data), c)
	require.NoError(k, err, key)
	require.NotEmpty(k, tag, key)
	return tag
}

func (k kit) get(key string) (string, blob.Tag) {
	k.Helper()
	data, tag, err := k.b.Get(k.Context(), key, 0, -1)
	require.NoError(k, err, key)
	return string(data), tag
}

func (k kit) text(key string) string {
	k.Helper()
	data, _ := k.get(key)
	return data
}

func (k kit) gone(key string) {
	k.Helper()
	_, _, err := k.b.Get(k.Context(), key, 0, -1)
	require.ErrorIs(k, err, blob.ErrNotExist, key)
}

func (k kit) list(prefix string) []string {
	k.Helper()
	keys := []string{}
	for o, err := range k.b.List(k.Context(), prefix) {
		require.NoError(k, err)
		keys = append(keys, o.Key)
	}
	return keys
}

func testPutGet(k kit) {
	k.gone("a")
	one := k.put("a", "one", blob.Always)
	data, tag := k.get("a")
	require.Equal(k, "one", data)
	require.Equal(k, one, tag)

	two := k.put("a", "two", blob.Always)
	require.NotEqual(k, one, two)
	data, tag = k.get("a")
	require.Equal(k, "two", data)
	require.Equal(k, two, tag)

	k.put("deep/er/and/deeper", "three", blob.Always)
	require.Equal(k, "three", k.text("deep/er/and/deeper"))
	k.gone("deep/er")
	k.gone("deep/er/and/other")
	k.gone("nowhere/at/all")

	kept := []byte("mine")
	_, err := k.b.Put(k.Context(), "b", kept, blob.Always)
	require.NoError(k, err)
	copy(kept, "your")
	require.Equal(k, "mine", k.text("b"), "the caller's slice is not kept")
}

func testRanges(k kit) {
	want := k.put("a", "0123456789", blob.Always)
	for _, c := range []struct {
		off, n int64
		data   string
	}{
		{0, -1, "0123456789"},
		{0, 10, "0123456789"},
		{0, 4, "0123"},
		{3, 4, "3456"},
		{3, -1, "3456789"},
		{8, 100, "89"},
		{9, 1, "9"},
		{0, 100, "0123456789"},
		{0, 0, ""},
		{5, 0, ""},
		{10, 5, ""},
		{10, -1, ""},
		{4000, 5, ""},
		{4000, -1, ""},
	} {
		data, tag, err := k.b.Get(k.Context(), "a", c.off, c.n)
		require.NoError(k, err, "%+v", c)
		require.NotNil(k, data, "%+v", c)
		require.Equal(k, c.data, string(data), "%+v", c)
		require.Equal(k, want, tag, "%+v", c)
	}
	_, _, err := k.b.Get(k.Context(), "none", 3, 4)
	require.ErrorIs(k, err, blob.ErrNotExist)
	_, _, err = k.b.Get(k.Context(), "none", 0, 0)
	require.ErrorIs(k, err, blob.ErrNotExist)
}

func testEmpty(k kit) {
	want := k.put("empty", "", blob.IfAbsent)
	for _, n := range []int64{-1, 0, 1} {
		data, tag, err := k.b.Get(k.Context(), "empty", 0, n)
		require.NoError(k, err)
		require.NotNil(k, data, "an empty object is not an absent one")
		require.Empty(k, data)
		require.Equal(k, want, tag)
	}
	_, err := k.b.Put(k.Context(), "empty", []byte("x"), blob.IfAbsent)
	require.ErrorIs(k, err, blob.ErrCondition, "an empty object is one")
	k.put("empty", "full", blob.IfTag(want))
	require.Equal(k, "full", k.text("empty"))
}

func testLarge(k kit) {
	data := make([]byte, 4<<20)
	for i := range data {
		data[i] = byte(i>>16) ^ byte(i*7)
	}
	want := k.put("large", string(data), blob.Always)
	got, tag, err := k.b.Get(k.Context(), "large", 0, -1)
	require.NoError(k, err)
	require.True(k, string(data) == string(got), "4 MiB are the same bytes")
	require.Equal(k, want, tag)
	got, tag, err = k.b.Get(k.Context(), "large", 3<<20-5, 10)
	require.NoError(k, err)
	require.Equal(k, data[3<<20-5:3<<20+5], got)
	require.Equal(k, want, tag)
}

func testDelete(k kit) {
	require.NoError(k, k.b.Delete(k.Context(), "none"))
	require.NoError(k, k.b.Delete(k.Context(), "no/such/thing"))
	k.put("f/a", "one", blob.Always)
	k.put("f/b", "two", blob.Always)
	require.NoError(k, k.b.Delete(k.Context(), "f/a"))
	k.gone("f/a")
	require.Equal(k, "two", k.text("f/b"))
	require.NoError(k, k.b.Delete(k.Context(), "f/a"))
	require.NoError(k, k.b.Delete(k.Context(), "f"), "what others begin with is no object")
	require.NoError(k, k.b.Delete(k.Context(), "f/b"))
	require.Empty(k, k.list(""))
	k.put("f/a", "three", blob.IfAbsent)
	require.Equal(k, []string{"f/a"}, k.list(""))
}

func testDeleteAll(k kit) {
	var all []string
	for i := range 12 {
		all = append(all, fmt.Sprintf("f%d/g/%02d", i/6, i))
		k.put(all[i], "x", blob.Always)
	}
	k.put("f0/stays", "y", blob.Always)
	n, err := blob.DeleteAll(k.Context(), k.b)
	require.NoError(k, err)
	require.Zero(k, n)
	n, err = blob.DeleteAll(k.Context(), k.b, all[:3]...)
	require.NoError(k, err)
	require.Equal(k, 3, n)
	require.Equal(k, append([]string{"f0/g/03", "f0/g/04", "f0/g/05", "f0/stays"}, all[6:]...), k.list(""))
	n, err = blob.DeleteAll(k.Context(), k.b, append([]string{"none", "no/such/thing", "f0"}, all...)...)
	require.NoError(k, err, "what is not there, and what others begin with")
	require.Equal(k, 15, n)
	require.Equal(k, []string{"f0/stays"}, k.list(""))
	k.put(all[0], "again", blob.IfAbsent)
	n, err = blob.DeleteAll(k.Context(), k.b, "../x", all[0])
	require.ErrorIs(k, err, blob.ErrKey)
	require.Zero(k, n)
	require.Equal(k, "again", k.text(all[0]))
	ctx, cancel := context.WithCancel(k.Context())
	cancel()
	n, err = blob.DeleteAll(ctx, k.b, all...)
	require.ErrorIs(k, err, context.Canceled)
	require.Zero(k, n)
	require.Equal(k, "again", k.text(all[0]))
}

func testUnicode(k kit) {
	keys := []string{
		"notes/Ærøskøbing.md", "notes/日本語/メモ.md", "notes/עברית.md", "notes/🐦.md", "notes/a b.md",
		"notes/100% & more?.md", "notes/a+b=c;d,e@f$g#h.md", "notes/it's \"quoted\".md", ".hidden/x",
		"...", "notes/..md", "a~/b!(c)[d]{e}^`", "café.md",
	}
	for _, key := range keys {
		k.put(key, key, blob.IfAbsent)
	}
	for _, key := range keys {
		require.Equal(k, key, k.text(key))
	}
	require.ElementsMatch(k, keys, k.list(""))
	for _, key := range keys {
		require.NoError(k, k.b.Delete(k.Context(), key))
	}
	require.Empty(k, k.list(""))
}

// testTwins checks that keys which differ only by case or normalization have different objects.
func testTwins(k kit) {
	keys := []string{"B", "F/x", "b", "caf\u00e9", "cafe\u0301", "f/X", "f/x"}
	for _, key := range keys {
		k.put(key, key, blob.IfAbsent)
	}
	require.ElementsMatch(k, keys, k.list(""))
	for _, key := range keys {
		require.Equal(k, key, k.text(key))
		require.NoError(k, k.b.Delete(k.Context(), key))
		k.gone(key)
	}
}

// testPieces checks that an object that is written in pieces is the same as one in a single piece, with
// the same conditions.
func testPieces(k kit) {
	large := bytes.Repeat([]byte("piece"), 100_000)
	for _, data := range []blob.Pieces{nil, {nil}, {{}, []byte("a"), nil, []byte("bc"), {}}, {large, []byte("x"), large}} {
		tag, err := blob.PutPieces(k.Context(), k.b, "f/pieces", data, blob.Always)
		require.NoError(k, err)
		got, read := k.get("f/pieces")
		require.Equal(k, string(bytes.Join(data, nil)), got)
		require.Equal(k, tag, read)
		require.Equal(k, tag, k.put("f/whole", got, blob.Always))

		part, _, err := k.b.Get(k.Context(), "f/pieces", 1, 2)
		require.NoError(k, err)
		require.Equal(k, got[min(1, len(got)):min(3, len(got))], string(part))
	}
	_, err := blob.PutPieces(k.Context(), k.b, "f/pieces", blob.Pieces{[]byte("no")}, blob.IfAbsent)
	require.ErrorIs(k, err, blob.ErrCondition)
	_, err = blob.PutPieces(k.Context(), k.b, "../pieces", blob.Pieces{[]byte("no")}, blob.Always)
	require.ErrorIs(k, err, blob.ErrKey)
	require.NotEqual(k, "no", k.text("f/pieces"))
}

func testCancelled(k kit) {
	k.put("a", "one", blob.Always)
	ctx, cancel := context.WithCancel(k.Context())
	cancel()
	_, err := k.b.Put(ctx, "a", []byte("two"), blob.Always)
	require.ErrorIs(k, err, context.Canceled)
	_, err = k.b.Put(ctx, "b", []byte("two"), blob.IfAbsent)
	require.ErrorIs(k, err, context.Canceled)
	_, _, err = k.b.Get(ctx, "a", 0, -1)
	require.ErrorIs(k, err, context.Canceled)
	require.ErrorIs(k, k.b.Delete(ctx, "a"), context.Canceled)
	rows := 0
	for _, err := range k.b.List(ctx, "") {
		require.ErrorIs(k, err, context.Canceled)
		rows++
	}
	require.Equal(k, 1, rows, "the error is the last row")
	require.Equal(k, "one", k.text("a"))
	k.gone("b")
}

// testRewrite checks that an object is replaced by what the copy function writes from its first
// bytes, and that it stays as it is if that function fails.
func testRewrite(k kit) {
	upper := func(to io.Writer, from io.Reader) error {
		data, err := io.ReadAll(from)
		if err == nil {
			_, err = to.Write(bytes.ToUpper(data))
		}
		return err
	}
	_, err := k.b.Put(k.Context(), "f/a", []byte("abcdef"), blob.Always)
	require.NoError(k, err)
	content := func() string {
		data, _, err := k.b.Get(k.Context(), "f/a", 0, -1)
		require.NoError(k, err)
		return string(data)
	}
	failed := errors.New("failed")
	err = blob.Rewrite(k.Context(), k.b, "f/a", -1, func(to io.Writer, _ io.Reader) error {
		_, _ = to.Write([]byte("x"))
		return failed
	})
	require.ErrorIs(k, err, failed)
	require.ErrorIs(k, blob.Rewrite(k.Context(), k.b, "f/a", 7, upper), blob.ErrCondition)
	require.Equal(k, "abcdef", content())
	require.NoError(k, blob.Rewrite(k.Context(), k.b, "f/a", 4, upper))
	require.Equal(k, "ABCD", content())
	_, err = k.b.Put(k.Context(), "f/a", []byte("xy"), blob.Always)
	require.NoError(k, err)
	require.NoError(k, blob.Rewrite(k.Context(), k.b, "f/a", -1, upper))
	require.Equal(k, "XY", content())
	require.ErrorIs(k, blob.Rewrite(k.Context(), k.b, "f/none", 1, upper), blob.ErrCondition)
	require.ErrorIs(k, blob.Rewrite(k.Context(), k.b, "f/none/x", -1, upper), blob.ErrCondition)
	require.Error(k, blob.Rewrite(k.Context(), k.b, "../a", -1, upper))
	require.Equal(k, []string{"f/a"}, k.list(""), "nothing is left of a refused call")
}
