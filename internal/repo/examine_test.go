package repo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// folded returns an engine with a vault of nine versions that are in a segment, in an image and
// still in the table, and four more that are only in the table.
func folded(t *testing.T) (repotest.Engine, func() *repo.Vault) {
	t.Helper()
	e := engine(t)
	open := func() *repo.Vault {
		v, err := repo.NewVault(repo.VaultOptions{
			Name: "team", Part: "v", Table: e.Table, Bucket: e.Bucket, Texts: repo.NewTexts(1 << 20),
			Now: repotest.NewClock().Now,
		})
		require.NoError(t, err)
		return v
	}
	v := open()
	require.NoError(t, v.Create(t.Context(), caller(), nil))
	for i := range 12 {
		if i == 8 {
			require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
		}
		change(t, v, edit{fmt.Sprintf("n%d.md", i%3), fmt.Sprintf("line %d", i)})
	}
	return e, open
}

// object returns the key of the only object under a prefix.
func object(t *testing.T, e repotest.Engine, prefix string) string {
	t.Helper()
	var keys []string
	for o, err := range e.Bucket.List(t.Context(), prefix) {
		require.NoError(t, err)
		keys = append(keys, o.Key)
	}
	require.Len(t, keys, 1)
	return keys[0]
}

// patchObject changes the only object under a prefix.
func patchObject(
	t *testing.T, e repotest.Engine, prefix string, change func(data []byte) []byte,
) {
	t.Helper()
	key := object(t, e, prefix)
	data, _, err := e.Bucket.Get(t.Context(), key, 0, -1)
	require.NoError(t, err)
	_, err = e.Bucket.Put(t.Context(), key, change(data), blob.Always)
	require.NoError(t, err)
}

func flipMiddle(data []byte) []byte {
	data[len(data)/2] ^= 1
	return data
}

// TestVerifyFolded checks that the chain is verified through segments and the table, also for runs
// that are in both, and that nothing is lost without an image.
func TestVerifyFolded(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     func(ctx context.Context, t *testing.T, e repotest.Engine)
		check  string
		state  doctor.Level
		verify fault.Code
		says   string
	}{
		{"whole", func(context.Context, *testing.T, repotest.Engine) {}, "segments", doctor.LevelOK, "",
			"1 segment up to v9"},
		{"a byte of a segment", func(_ context.Context, t *testing.T, e repotest.Engine) {
			patchObject(t, e, "segment/", flipMiddle)
		}, "chain", doctor.LevelError, fault.IndexError, "v"},
		{"a segment is cut", func(_ context.Context, t *testing.T, e repotest.Engine) {
			patchObject(t, e, "segment/", func(data []byte) []byte { return data[:len(data)-10] })
		}, "chain", doctor.LevelError, fault.IndexError, "v"},
		{"a segment is gone", func(ctx context.Context, t *testing.T, e repotest.Engine) {
			require.NoError(t, e.Bucket.Delete(ctx, object(t, e, "segment/")))
		}, "segments", doctor.LevelError, fault.IndexError, "v1"},
		{"a folded run in the table", func(ctx context.Context, t *testing.T, e repotest.Engine) {
			it, err := e.Table.Get(ctx, table.Key{Part: "v", Sort: "log/000000000004"})
			require.NoError(t, err)
			it.Data = bytes.Replace(it.Data, []byte(`"last":4`), []byte(`"last":4 `), 1)
			it.Data[0]++ // the length of the header
			require.NoError(t, e.Table.Commit(ctx, table.Set(it)))
		}, "chain", doctor.LevelError, fault.IndexError, "v4"},
		{"a run in the table", func(ctx context.Context, t *testing.T, e repotest.Engine) {
			require.NoError(t, e.Table.Commit(ctx,
				table.Remove(table.Key{Part: "v", Sort: "log/000000000011"})))
		}, "log", doctor.LevelError, fault.IndexError, "v1"},
		{"the image is gone", func(ctx context.Context, t *testing.T, e repotest.Engine) {
			require.NoError(t, e.Bucket.Delete(ctx, object(t, e, "image/")))
		}, "image", doctor.LevelWarning, "", "the image of v9 is missing"},
		{"the image is cut", func(_ context.Context, t *testing.T, e repotest.Engine) {
			patchObject(t, e, "image/", func(data []byte) []byte { return data[:80] })
		}, "image", doctor.LevelWarning, "", "the image of v9 is damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, open := folded(t)
			c.do(t.Context(), t, e)
			done, err := open().Verify(t.Context(), nil)
			if c.verify == "" {
				require.NoError(t, err)
				require.Equal(t, uint64(13), done.Version)
			} else {
				require.True(t, fault.Is(err, c.verify), "%v", err)
			}
			var found []doctor.Finding
			for _, f := range open().Examine(t.Context(), repo.Examination{Full: true}) {
				if f.Check == c.check {
					found = append(found, f)
				}
			}
			require.Len(t, found, 1)
			require.Equal(t, c.state, found[0].Level, "%+v", found)
			require.Contains(t, found[0].Message, c.says)
			require.Equal(t, "team", found[0].Vault)
		})
	}
}

// TestPayloadInSegment checks that nothing is lost with a payload object whose run is in a segment
// too: reads use the segment and report no damage.
func TestPayloadInSegment(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, e repotest.Engine){
		"gone": func(t *testing.T, e repotest.Engine) {
			require.NoError(t, e.Bucket.Delete(t.Context(), object(t, e, "payload/")))
		},
		"damaged": func(t *testing.T, e repotest.Engine) { patchObject(t, e, "payload/", flipMiddle) },
		"empty": func(t *testing.T, e repotest.Engine) {
			patchObject(t, e, "payload/", func([]byte) []byte { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, open := folded(t)
			v := open()
			large := make([]byte, 0, 1<<18)
			for r := rand.New(rand.NewPCG(1, 2)); len(large) < 1<<18; {
				large = fmt.Appendf(large, "%x\n", r.Uint64())
			}
			change(t, v, edit{"large.md", string(large)})
			require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
			do(t, e)
			v = open()
			x, err := v.Read(t.Context())
			require.NoError(t, err)
			f, ok := x.File("large.md")
			require.True(t, ok)
			text, err := v.Text(t.Context(), f.Body)
			require.NoError(t, err)
			require.Equal(t, string(large), string(text))
			_, err = v.Verify(t.Context(), nil)
			require.NoError(t, err)
			for _, f := range open().Examine(t.Context(), repo.Examination{Full: true}) {
				require.NotEqual(t, doctor.LevelError, f.Level, "%+v", f)
			}
		})
	}
}

// TestExamineClock checks that the doctor reports versions with a time in the future.
func TestExamineClock(t *testing.T) {
	e, w := engine(t), &watch{time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)}
	v := watchedVault(t, e, w, nil)
	require.NoError(t, v.Create(t.Context(), caller(), nil))
	change(t, v, edit{"a.md", "now"})
	clock := func() doctor.Finding {
		for _, f := range v.Examine(t.Context(), repo.Examination{}) {
			if f.Check == "clock" {
				return f
			}
		}
		return doctor.Finding{}
	}
	require.Equal(t, doctor.LevelOK, clock().Level)
	w.now = w.now.AddDate(0, 1, 0)
	change(t, v, edit{"a.md", "a month ahead"})
	require.Equal(t, doctor.LevelOK, clock().Level)
	w.now = w.now.AddDate(0, -1, 0)
	require.Equal(t, doctor.LevelWarning, clock().Level)
	require.Contains(t, clock().Message, "v3 has the time 2026-04-02T10:00:00Z, which is in the future")
	w.now = w.now.AddDate(0, 1, 0).Add(-5 * time.Minute)
	require.Equal(t, doctor.LevelOK, clock().Level)
}

// An Unreadable bucket has segments that cannot be read.
type unreadable struct{ blob.Bucket }

func (u unreadable) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	if strings.HasPrefix(key, "segment/") {
		return nil, "", errors.New("permission denied")
	}
	return u.Bucket.Get(ctx, key, off, n)
}

// TestExamineUnreadable checks that the doctor reports why a segment cannot be read, and that it
// does not report an existing segment as damaged.
func TestExamineUnreadable(t *testing.T) {
	e, _ := folded(t)
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "team", Part: "v", Table: e.Table, Bucket: unreadable{e.Bucket},
		Texts: repo.NewTexts(1 << 20), Now: repotest.NewClock().Now,
	})
	require.NoError(t, err)
	told := 0
	for _, f := range v.Examine(t.Context(), repo.Examination{}) {
		if f.Check != "chain" && f.Check != "segments" {
			continue
		}
		told++
		require.Equal(t, fault.Unavailable, f.Code, "%+v", f)
		require.Contains(t, f.Message, "permission denied")
		require.NotContains(t, f.Fix, "backup")
	}
	require.Equal(t, 2, told)
}
