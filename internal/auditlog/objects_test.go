package auditlog_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A contested is a bucket to which another process writes between a read and the following write.
type contested struct {
	blob.Bucket
	meanwhile func()
}

func (c *contested) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	text, tag, err := c.Bucket.Get(ctx, key, off, n)
	if do := c.meanwhile; do != nil {
		c.meanwhile = nil
		do()
	}
	return text, tag, err
}

// TestAppend checks that data is in an object once, after the bytes that count, whatever followed
// them before and whatever another process appends meanwhile, and that an object with fewer bytes
// is refused.
func TestAppend(t *testing.T) {
	const key = vault.AuditLog
	for name, c := range map[string]struct {
		before, meanwhile string // empty: nothing
		n                 int64
		want              string // empty: it is refused
	}{
		"first":                    {"", "", 0, "two\n"},
		"behind":                   {"one\n", "", 4, "one\ntwo\n"},
		"over what does not count": {"one\nlost\n", "", 4, "one\ntwo\n"},
		"over an earlier month":    {"earlier\n", "", 0, "two\n"},
		"there already":            {"one\ntwo\n", "", 4, "one\ntwo\n"},
		"more is there already":    {"one\ntwo\nthree\n", "", 4, "one\ntwo\nthree\n"},
		"a part is there":          {"one\ntw", "", 4, "one\ntwo\n"},
		"same meanwhile":           {"one\n", "one\ntwo\n", 4, "one\ntwo\n"},
		"more meanwhile":           {"one\n", "one\ntwo\nthree\n", 4, "one\ntwo\nthree\n"},
		"first meanwhile":          {"", "two\nthree\n", 0, "two\nthree\n"},
		"cut":                      {"on", "", 4, ""},
		"cut meanwhile":            {"one\n", "o", 4, ""},
		"gone":                     {"", "", 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := fileblob.Open(t.TempDir())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, files.Close()) })
			put := func(text string) {
				_, err := files.Put(t.Context(), key, []byte(text), blob.Always)
				require.NoError(t, err)
			}
			if c.before != "" {
				put(c.before)
			}
			b := &contested{Bucket: files}
			if c.meanwhile != "" {
				b.meanwhile = func() { put(c.meanwhile) }
			}
			err = auditlog.InBucket(b).Append(t.Context(), key, c.n, []byte("two\n"))
			if c.want == "" {
				require.ErrorIs(t, err, blob.ErrCondition)
				return
			}
			require.NoError(t, err)
			text, _, err := files.Get(t.Context(), key, 0, -1)
			require.NoError(t, err)
			require.Equal(t, c.want, string(text))
		})
	}
}

// An always is a bucket in which another process is always faster.
type always struct{ blob.Bucket }

func (always) Put(context.Context, string, []byte, blob.Cond) (blob.Tag, error) {
	return "", blob.ErrCondition
}

// TestAppendGivesUp checks that an append that is always overtaken gives up, and does not report
// that the object is too short.
func TestAppendGivesUp(t *testing.T) {
	files, err := fileblob.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	err = auditlog.InBucket(always{files}).Append(t.Context(), vault.AuditLog, 0, []byte("two\n"))
	require.ErrorContains(t, err, "another process")
	require.NotErrorIs(t, err, blob.ErrCondition)
}

// An extended is a blob.Extender that counts the bytes that are read and put.
type extended struct {
	blob.Bucket
	read, put int
}

func (e *extended) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	text, tag, err := e.Bucket.Get(ctx, key, off, n)
	e.read += len(text)
	return text, tag, err
}

func (e *extended) Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error) {
	e.put += len(data)
	return e.Bucket.Put(ctx, key, data, c)
}

// Extend implements blob.Extender.
func (e *extended) Extend(ctx context.Context, key string, x blob.Extension, c blob.Cond) (blob.Tag, error) {
	e.put += len(x.Data)
	text, tag, err := e.Bucket.Get(ctx, x.From, 0, x.Size)
	if errors.Is(err, blob.ErrNotExist) || err == nil && tag != x.Tag {
		return "", blob.ErrCondition
	}
	if err != nil {
		return "", err
	}
	return e.Bucket.Put(ctx, key, append(text, x.Data...), c)
}

// TestAppendToALargeObject checks that the contents of a large object are neither read nor sent to
// append to it, in all cases of TestAppend that apply.
func TestAppendToALargeObject(t *testing.T) {
	const key = vault.AuditLog
	one := strings.Repeat("one\n", 1000)
	for name, c := range map[string]struct {
		before, meanwhile string // empty: nothing
		want              string // empty: it is refused
	}{
		"behind":                   {one, "", one + "two\n"},
		"over what does not count": {one + "lost and long\n", "", one + "two\n"},
		"there already":            {one + "two\n", "", one + "two\n"},
		"more is there already":    {one + "two\nthree\n", "", one + "two\nthree\n"},
		"a part is there":          {one + "tw", "", one + "two\n"},
		"same meanwhile":           {one, one + "two\n", one + "two\n"},
		"more meanwhile":           {one, one + "two\nthree\n", one + "two\nthree\n"},
		"cut":                      {one[:3999], "", ""},
		"cut meanwhile":            {one, "o", ""},
		"gone":                     {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := fileblob.Open(t.TempDir())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, files.Close()) })
			put := func(text string) {
				_, err := files.Put(t.Context(), key, []byte(text), blob.Always)
				require.NoError(t, err)
			}
			if c.before != "" {
				put(c.before)
			}
			counted := &extended{Bucket: files}
			b := &contestedExtender{contested{Bucket: counted}, counted}
			if c.meanwhile != "" {
				b.meanwhile = func() { put(c.meanwhile) }
			}
			err = auditlog.Large(auditlog.InBucket(b), 4000).Append(t.Context(), key, 4000, []byte("two\n"))
			require.Less(t, counted.read+counted.put, 100)
			if c.want == "" {
				require.ErrorIs(t, err, blob.ErrCondition)
				return
			}
			require.NoError(t, err)
			text, _, err := files.Get(t.Context(), key, 0, -1)
			require.NoError(t, err)
			require.Equal(t, c.want, string(text))
		})
	}
}

// A contestedExtender is a contested bucket that is a blob.Extender.
type contestedExtender struct {
	contested
	extended *extended
}

// Extend implements blob.Extender.
func (c *contestedExtender) Extend(ctx context.Context, key string, x blob.Extension, cond blob.Cond) (blob.Tag, error) {
	return c.extended.Extend(ctx, key, x, cond)
}
