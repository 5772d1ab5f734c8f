package blobtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
)

func testListOrder(k kit) {
	require.Empty(k, k.list(""))
	keys := []string{
		"a-b/x", "a.md", "a/b", "a/b-c", "a/c/d", "a0", "aa/z", "b", "C", "log/000000000010",
		"log/000000000009", "log/~", "é", "z/é", "z/f", "zz", "a/ b", "a/!",
	}
	for _, key := range keys {
		k.put(key, key, blob.Always)
	}
	slices.Sort(keys)
	require.Equal(k, keys, k.list(""), "bytewise: a slash is a byte like any other")
	for o, err := range k.b.List(k.Context(), "") {
		require.NoError(k, err)
		require.Equal(k, int64(len(o.Key)), o.Size)
		require.False(k, o.Modified.IsZero())
		require.False(k, o.Foreign)
		if _, tag := k.get(o.Key); o.Tag != "" {
			require.Equal(k, tag, o.Tag)
		}
	}
	testListMarks(k)
	for o := range k.b.List(k.Context(), "") {
		require.Equal(k, keys[0], o.Key)
		break
	}
}

// testListMarks checks that marks change when an object is written, and only then. An engine may
// have no marks.
func testListMarks(k kit) {
	marks := func() map[string]string {
		of := map[string]string{}
		for o, err := range k.b.List(k.Context(), "") {
			require.NoError(k, err)
			of[o.Key] = o.Mark
		}
		return of
	}
	before := marks()
	require.Equal(k, before, marks())
	k.put("zz", "ZZ", blob.Always)
	if before["zz"] != "" {
		require.NotEqual(k, before["zz"], marks()["zz"])
	}
}

func testListPrefix(k kit) {
	for _, key := range []string{"a/b", "a/bc/d", "a/bc/e", "a/c", "ab", "b/a", "é/x"} {
		k.put(key, "", blob.Always)
	}
	for _, c := range []struct {
		prefix string
		keys   []string
	}{
		{"a", []string{"a/b", "a/bc/d", "a/bc/e", "a/c", "ab"}},
		{"a/", []string{"a/b", "a/bc/d", "a/bc/e", "a/c"}},
		{"a/b", []string{"a/b", "a/bc/d", "a/bc/e"}},
		{"a/bc/", []string{"a/bc/d", "a/bc/e"}},
		{"a/bc/d", []string{"a/bc/d"}},
		{"a/bc/d/", []string{}},
		{"c", []string{}},
		{"c/d/e", []string{}},
		{"é", []string{"é/x"}},
		{"/", []string{}},
		{"a//", []string{}},
		{"./", []string{}},
		{"../", []string{}},
		{"a/../", []string{}},
		{"a/./b", []string{}},
	} {
		require.Equal(k, c.keys, k.list(c.prefix), "%q", c.prefix)
	}
}

// testListPages lists more objects than one page of S3 contains.
func testListPages(k kit) {
	const n, writers = 1_050, 16
	want := make([]string, n)
	for i := range want {
		want[i] = fmt.Sprintf("pages/%d/%04d", i/500, i)
	}
	errs := make([]error, writers)
	atOnce(k.T, writers, func(w int) {
		for i := w; i < n && errs[w] == nil; i += writers {
			_, errs[w] = k.b.Put(k.Context(), want[i], []byte("x"), blob.Always)
		}
	})
	require.NoError(k, errors.Join(errs...))
	require.Equal(k, want, k.list(""))
	require.Equal(k, want[500:1000], k.list("pages/1/"))
}

// testListDelete deletes objects during a List that yields them.
func testListDelete(k kit) {
	for i := range 30 {
		k.put(fmt.Sprintf("f%d/g/%d", i/10, i), "", blob.Always)
	}
	for o, err := range k.b.List(k.Context(), "") {
		require.NoError(k, err)
		require.NoError(k, k.b.Delete(k.Context(), o.Key))
	}
	require.Empty(k, k.list(""))
}

// badKeys are not valid as keys on any engine.
func badKeys() []string {
	long := make([]byte, blob.MaxKey+1)
	for i := range long {
		if long[i] = 'k'; i%100 == 99 {
			long[i] = '/'
		}
	}
	return []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "./a", "../a", "a/..", "a/../b", "a/./b", "a/.",
		"../../etc/passwd", "a\x00b", "a\nb", "a\x7fb", "a\u0085b", "a\xffb", "\xc3",
		string(long), string(slices.Repeat([]byte("s"), blob.MaxSegment+1)),
	}
}

func testBadKeys(k kit) {
	k.put("a", "one", blob.Always)
	for _, key := range badKeys() {
		_, err := k.b.Put(k.Context(), key, []byte("x"), blob.Always)
		require.ErrorIs(k, err, blob.ErrKey, "%q", key)
		_, err = k.b.Put(k.Context(), key, []byte("x"), blob.IfAbsent)
		require.ErrorIs(k, err, blob.ErrKey, "%q", key)
		_, _, err = k.b.Get(k.Context(), key, 0, -1)
		require.ErrorIs(k, err, blob.ErrKey, "%q", key)
		require.ErrorIs(k, k.b.Delete(k.Context(), key), blob.ErrKey, "%q", key)
	}
	require.Equal(k, []string{"a"}, k.list(""))
	require.Equal(k, "one", k.text("a"))
}

// testIsolation tries to reach objects outside of a Sub through it.
func testIsolation(t *testing.T, whole blob.Bucket) {
	outside := []string{"b", "tenants/b/x", "tenants/a-b/x", "tenants/ab/x", "tenants/a.md", "x"}
	all := kit{t, whole}
	for _, key := range outside {
		all.put(key, "outside", blob.Always)
	}
	in := kit{t, blob.Sub(whole, "tenants/a")}
	require.Empty(t, in.list(""))
	for _, key := range []string{"../b/x", "../../b", "../../x", "/x", "../a-b/x", "x/../../b/x"} {
		_, _, err := in.b.Get(t.Context(), key, 0, -1)
		require.ErrorIs(t, err, blob.ErrKey, key)
		_, err = in.b.Put(t.Context(), key, []byte("inside"), blob.Always)
		require.ErrorIs(t, err, blob.ErrKey, key)
		require.ErrorIs(t, in.b.Delete(t.Context(), key), blob.ErrKey, key)
		require.Empty(t, in.list(key))
	}
	for _, key := range outside {
		in.gone(key)
		require.NoError(t, in.b.Delete(t.Context(), key))
		require.Equal(t, "outside", all.text(key), "a Sub deletes nothing beside it")
	}
	in.put("x", "inside", blob.IfAbsent)
	require.Equal(t, "outside", all.text("x"))
	require.Equal(t, "inside", all.text("tenants/a/x"))
	require.Equal(t, []string{"x"}, in.list(""))
	kept := kit{t, blob.Sub(blob.Sub(whole, "tenants"), "a")}
	require.Equal(t, "inside", kept.text("x"), "prefixes join")
	_, exchanges := whole.(blob.Exchanger)
	_, still := in.b.(blob.Exchanger)
	require.Equal(t, exchanges, still, "a Sub is an Exchanger if the bucket is one")
	_, isFolder := whole.(blob.Folder)
	_, still = in.b.(blob.Folder)
	require.Equal(t, isFolder, still, "and a Folder likewise")
}

func testBadSub(t *testing.T, whole blob.Bucket) {
	kit{t, whole}.put("a/b", "one", blob.Always)
	for _, prefix := range badKeys() {
		b := blob.Sub(whole, prefix)
		_, _, err := b.Get(t.Context(), "b", 0, -1)
		require.ErrorIs(t, err, blob.ErrKey, "%q", prefix)
		_, err = b.Put(t.Context(), "b", nil, blob.Always)
		require.ErrorIs(t, err, blob.ErrKey, "%q", prefix)
		require.ErrorIs(t, b.Delete(t.Context(), "b"), blob.ErrKey, "%q", prefix)
		for _, err := range b.List(t.Context(), "") {
			require.ErrorIs(t, err, blob.ErrKey, "%q", prefix)
		}
	}
}
