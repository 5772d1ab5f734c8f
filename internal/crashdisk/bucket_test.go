package crashdisk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

// A cutting is a power cut before the nth change that a bucket makes for some random calls.
type cutting struct {
	seed  uint64
	n     int
	swaps bool // the file system can exchange two files
	work  bool // the bucket's own files lie elsewhere
	all   bool // what deletes one object deletes all, in one call
}

// failedCuts found a fault once.
var failedCuts = []cutting{
	// What was put back at the start was deleted, and put back again.
	{12122489610566648378, 28, false, false, false},
	// What was removed was then deleted, and put back.
	{5918320243676692278, 51, true, false, false},
	// What was moved aside counted as replaced before the new file was durable.
	{7682024326734123987, 30, false, false, false},
	// What was moved aside lay in a folder that was not durable itself.
	{13921109152341738258, 53, false, false, false},
	{669281800548726706, 40, false, false, false},
	// What the start did not put back was put back by the next one.
	{11421313728348923404, 48, false, false, false},
	// What was removed before a Put was put back when the new text had been removed, too.
	{7464774348903635190, 58, false, true, false},
}

// TestBucketForgets takes the power away before the changes of the disk that a bucket makes for some
// random calls, twice in a row; ROOKERY_SOAK=1 tries every change. One goroutine calls, so that a seed
// always does the same.
func TestBucketForgets(t *testing.T) {
	t.Parallel()
	for _, c := range failedCuts {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) { c.run(t) })
	}
	for range many(1, 10) {
		for i := range 6 {
			c := cutting{seed: rand.Uint64(), swaps: i%2 == 0, work: i%4 >= 2, all: i >= 4}
			t.Run(fmt.Sprintf("%+v and on", c), func(t *testing.T) {
				for !c.run(t) {
					c.n += 1 + rand.IntN(many(6, 1))
				}
			})
		}
	}
}

// many is how often to do something, and how often with ROOKERY_SOAK.
func many(times, soak int) int {
	if os.Getenv("ROOKERY_SOAK") != "" {
		return soak
	}
	return times
}

// A ledger holds what each key may have when the power goes: what was promised last, and everything
// that was asked for since.
type ledger struct {
	may    map[string][]string
	now    map[string]string // as far as nobody takes the power away
	unsure map[string]bool   // keys whose last text may be torn
}

// none stands for no file.
const none = "(none)"

// run goes on with what is found, and cuts again. It reports whether all calls came to their end
// before.
func (c cutting) run(t *testing.T) (ended bool) {
	t.Helper()
	dir, r := t.TempDir(), rand.New(rand.NewPCG(c.seed, 0))
	l := &ledger{map[string][]string{}, map[string]string{}, map[string]bool{}}
	s := newSeam(t, filepath.Join(dir, "0"), filepath.Join(dir, "attic"), c.disk(t))
	for life := range 2 {
		s.cutAfter(c.n, c.seed+uint64(1000*c.n+life))
		ended = l.use(t, s, r, c)
		if s.found == nil { // the calls ended first
			s.found = s.disk.Crash(c.seed)
		}
		s = newSeam(t, filepath.Join(dir, fmt.Sprint(life+1)), s.attic, s.found)
		l.require(t, s, c)
		s = newSeam(t, filepath.Join(dir, fmt.Sprint(life+1, " again")), s.attic, s.disk)
	}
	return ended
}

// disk is empty, but for the directory where the bucket's own files lie.
func (c cutting) disk(t *testing.T) *Disk {
	t.Helper()
	d, at := New(), uint64(Root)
	if !c.work {
		return d
	}
	for _, name := range []string{".rookery", "elsewhere"} {
		made, err := d.Make(at, name, true, 0o700)
		require.NoError(t, err)
		require.NoError(t, d.Sync(at))
		at = made
	}
	return d
}

// options are those of a bucket in a folder. Its paths of what lies in Work are those of the disk.
func (c cutting) options(dir string, s fileblob.Seam) fileblob.Options {
	o := fileblob.Options{Seam: s}
	if c.work {
		o.Work = filepath.Join(dir, ".rookery", "elsewhere")
	}
	return o
}

// use makes calls until the power is gone or there are enough.
func (l *ledger) use(t *testing.T, s *seam, r *rand.Rand, c cutting) (ended bool) {
	t.Helper()
	b, err := fileblob.OpenWith(s.dir, c.options(s.dir, func(
		change fileblob.Change, do func() error,
	) error {
		if change.Op == fileblob.Swap && !c.swaps {
			return errors.ErrUnsupported
		}
		return s.do(change, do)
	}))
	if err != nil {
		require.NotNil(t, s.found, err)
		return false
	}
	defer b.Close()
	for range 15 {
		if err := l.call(t.Context(), b, r, c.all); err != nil {
			require.NotNil(t, s.found, err)
			return false
		}
	}
	return true
}

// bucketKeys are few, so that much happens to each. The last has an aside of several folders.
var bucketKeys = []string{"a.md", "b/c.md", "b/d.md", "b/" + strings.Repeat("ü", 60) + ".md"}

// call makes one call at random, and writes down what it promises. all says that it deletes all objects.
func (l *ledger) call(ctx context.Context, b *fileblob.Bucket, r *rand.Rand, all bool) error {
	key := bucketKeys[r.IntN(len(bucketKeys))]
	text := strings.Repeat(fmt.Sprintf("%x ", r.Uint64()), 1+r.IntN(100))
	switch r.IntN(5) {
	case 0:
		put := func() error {
			_, err := b.Put(ctx, key, []byte(text), blob.Always)
			return err
		}
		if was := l.now[key]; was != "" && was != none && r.IntN(2) == 0 {
			put = func() error { return b.Rewrite(ctx, key, -1, writes(text)) }
		}
		return l.promise(text, put, key)
	case 1:
		if all {
			return l.promise(none, func() error {
				_, err := b.DeleteAll(ctx, bucketKeys...)
				return err
			}, bucketKeys...)
		}
		return l.promise(none, func() error { return b.Delete(ctx, key) }, key)
	case 2:
		return l.sync(ctx, b)
	case 3:
		l.ask(key, text)
		return b.Exchange(ctx, key, []byte(text), l.was(key, text))
	}
	l.ask(key, none)
	return b.Remove(ctx, key, l.was(key, none))
}

// writes returns a copy function that writes a text in two pieces.
func writes(text string) func(io.Writer, io.Reader) error {
	return func(to io.Writer, _ io.Reader) error {
		for _, piece := range []string{text[:len(text)/2], text[len(text)/2:]} {
			if _, err := io.WriteString(to, piece); err != nil {
				return err
			}
		}
		return nil
	}
}

func (l *ledger) ask(key, text string) {
	if len(l.may[key]) == 0 {
		l.may[key], l.now[key] = []string{none}, none
	}
	l.may[key] = append(l.may[key], text)
}

// was is the text of a key until now; nil for none.
func (l *ledger) was(key, next string) []byte {
	old := l.now[key]
	l.now[key], l.unsure[key] = next, true
	if old == none {
		return nil
	}
	return []byte(old)
}

// promise makes a call that is durable when it returns.
func (l *ledger) promise(text string, call func() error, keys ...string) error {
	for _, key := range keys {
		l.ask(key, text)
	}
	if err := call(); err != nil {
		return err
	}
	for _, key := range keys {
		l.now[key], l.may[key] = text, []string{text}
		delete(l.unsure, key)
	}
	return nil
}

func (l *ledger) sync(ctx context.Context, b *fileblob.Bucket) error {
	if err := b.Sync(ctx, bucketKeys...); err != nil {
		return err
	}
	for key, now := range l.now {
		l.may[key] = []string{now}
	}
	clear(l.unsure)
	return nil
}

// require requires that a bucket has for every key what it may have, and takes that for known from
// now on.
func (l *ledger) require(t *testing.T, s *seam, c cutting) {
	t.Helper()
	b, err := fileblob.OpenWith(s.dir, c.options(s.dir, nil))
	require.NoError(t, err)
	defer b.Close()
	for key, may := range l.may {
		found := none
		data, _, err := b.Get(t.Context(), key, 0, -1)
		if err == nil {
			found = string(data)
		} else {
			require.ErrorIs(t, err, blob.ErrNotExist)
		}
		ok := slices.ContainsFunc(may, func(text string) bool {
			torn := l.unsure[key] && err == nil && text != none && tornFrom(data, []byte(text))
			return found == text || torn
		})
		require.True(t, ok, "%s has %.20q of %.20q, %+v", key, found, may, c)
		l.now[key], l.may[key] = found, []string{found}
	}
	clear(l.unsure)
}
