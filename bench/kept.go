package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/search"
)

// A kept is the cost of the log of a vault: to compact a year of it, to start from the result, and
// to read past states.
type kept struct {
	Commits int       // of the year, including the import
	Folded  folded    // all commits of the year
	Images  []picture // of the index, of the search index, and of both
	Starts  []reached
	Written []sample // with concurrent writers, in this process
}

// A folded is the result of compaction.
type folded struct {
	Commits int
	Took    time.Duration
	Publish []time.Duration // of each image
}

// Rate returns the number of commits per second that were moved into segments.
func (f folded) Rate() float64 { return float64(f.Commits) / f.Took.Seconds() }

// PublishP returns a percentile of the times to write an image.
func (f folded) PublishP(percent int) time.Duration { return percentile(f.Publish, percent) }

// A picture is an image, or a part of one.
type picture struct {
	What  string
	Bytes int
	Load  []time.Duration
	Held  int64 // bytes on the heap, including the parts of the image that are still used
}

// P returns a percentile of the load times.
func (p picture) P(percent int) time.Duration { return percentile(p.Load, percent) }

// A reached is the time until a state of the vault could be read.
type reached struct {
	What       string
	Took       []time.Duration
	Peak, Held int64 // bytes on the heap, as in built
}

// P returns a percentile of the times.
func (r reached) P(percent int) time.Duration { return percentile(r.Took, percent) }

// The names of the rows, as on the page and in the goals.
const (
	indexPart  = "the index"
	searchPart = "the search index"
	wholeImage = "both, with the idempotency keys"
	fromImage  = "a start: an image, and a tail"
	withFolds  = "set a text, while the log is folded"
	noFolds    = "set a text, while nothing is folded"
)

const (
	months    = 13  // of edits: one more than a year, so that there is an image from before the year
	tailRuns  = 200 // commits after the last image, each a run of its own
	keptWrite = 64  // number of concurrent writers
)

// keeps measures the log of the vault on a storage engine in this process.
func (s *suite) keeps(ctx context.Context) (err error) {
	dir := filepath.Join(s.dir, fmt.Sprintf("%d-log", s.result.Notes))
	a, err := newArchive(dir, s.files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	k := &keeping{archive: a, out: &s.result.Kept, ops: s.cfg.ops, times: s.cfg.times, limit: s.cfg.limit, dir: dir}
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"a year of edits, folded", k.year}, {"images", k.images}, {"starts", k.starts},
		{"a year ago", k.ago("with an image of then")}, {"writes and folding", k.writes},
		{"without images", k.bare},
	}
	for _, step := range steps {
		progress("%d notes: the log: %s", s.result.Notes, step.what)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("the log: %s: %w", step.what, err)
		}
	}
	return nil
}

// A keeping measures one archive.
type keeping struct {
	*archive
	out   *kept
	ops   int
	times int // number of measurements of quick operations
	limit time.Duration
	dir   string
	end   time.Time // end of the year
	edits int
}

// year writes a year of edits that ends now, and compacts the log after each month. It then
// advances the clock by two hours, so that the compacted commits leave the table.
func (k *keeping) year(ctx context.Context) error {
	k.end = time.Now()
	begin := k.end.AddDate(0, -months, 0)
	k.set(begin)
	v, err := k.open()
	if err != nil {
		return err
	}
	if err := k.bring(ctx, v); err != nil {
		return err
	}
	// The first image does not have to wait for the search index.
	if _, err := v.Searchable(ctx); err != nil {
		return err
	}
	for month := range months {
		if err := k.month(ctx, v, begin.AddDate(0, month, 0)); err != nil {
			return err
		}
	}
	slices.Sort(k.out.Folded.Publish)
	x, err := v.Read(ctx)
	if err != nil {
		return err
	}
	k.out.Commits = int(x.Version())
	// The first compaction records what is in segments, the second removes it from the table an
	// hour later.
	for range 2 {
		k.set(k.now().Add(time.Hour))
		if err := v.Compact(ctx, eventlog.Compaction{All: true}); err != nil {
			return err
		}
	}
	return nil
}

// month writes the edits of one month and compacts them.
func (k *keeping) month(ctx context.Context, v *repo.Vault, begin time.Time) error {
	const days = 28
	each := max(1, k.ops/months/days)
	for day := range days {
		k.set(begin.AddDate(0, 0, day))
		_, err := load{
			name: "edits", clients: min(each, keptWrite), ops: each, limit: time.Hour,
			op: func(ctx context.Context, i int) error { return k.edit(ctx, v, k.edits+i) },
		}.run(ctx)
		if err != nil {
			return err
		}
		k.edits += each
	}
	return k.fold(ctx, v)
}

// fold compacts the whole log, and records the times for the segments and for the image.
func (k *keeping) fold(ctx context.Context, v *repo.Vault) error {
	before, err := v.Control(ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := v.Compact(ctx, eventlog.Compaction{All: true}); err != nil {
		return err
	}
	after, err := v.Control(ctx)
	if err != nil {
		return err
	}
	done := segmentsOf(after) - segmentsOf(before)
	if done == 0 || after.Image == nil || k.bucket.image.Before(k.bucket.segment) {
		return errors.New("nothing was folded")
	}
	f := &k.out.Folded
	f.Commits, f.Took = f.Commits+done, f.Took+k.bucket.segment.Sub(begun)
	f.Publish = append(f.Publish, k.bucket.image.Sub(k.bucket.segment))
	return nil
}

// segmentsOf returns the number of commits in segments.
func segmentsOf(c repo.Control) int { return int(c.Cursors["segments"].Seq) }

// images measures the parts of an image.
func (k *keeping) images(ctx context.Context) error {
	v, err := k.open()
	if err != nil {
		return err
	}
	s, err := v.Searchable(ctx)
	if err != nil {
		return err
	}
	image, found := s.Index.AppendImage(nil), s.Search.AppendImage(nil)
	first, err := measureLoad(indexPart, k.times, image, index.ReadImage)
	if err != nil {
		return err
	}
	second, err := measureLoad(searchPart, k.times, found, search.ReadImage)
	if err != nil {
		return err
	}
	whole := picture{What: wholeImage, Bytes: k.bucket.size, Held: first.Held + second.Held}
	for i := range first.Load {
		whole.Load = append(whole.Load, first.Load[i]+second.Load[i])
	}
	k.out.Images = []picture{first, second, whole}
	return nil
}

// measureLoad measures the time to load an image that is in memory, the given number of times, and
// the heap that the result uses.
func measureLoad[T any](
	what string, times int, image []byte, read func([]byte) (T, error),
) (picture, error) {
	p := picture{What: what, Bytes: len(image)}
	for range times {
		begun := time.Now()
		if _, err := read(image); err != nil {
			return p, err
		}
		p.Load = append(p.Load, time.Since(begun))
	}
	slices.Sort(p.Load)
	before := heap()
	x, err := read(slices.Clone(image))
	p.Held = heap() - before
	runtime.KeepAlive(x)
	runtime.KeepAlive(image) // otherwise its memory could be freed before the measurement ends
	return p, err
}

// starts measures starts from the newest image with a tail of later commits.
func (k *keeping) starts(ctx context.Context) error {
	v, err := k.open()
	if err != nil {
		return err
	}
	for i := range tailRuns {
		if err := k.edit(ctx, v, k.edits+i); err != nil {
			return err
		}
	}
	k.edits += tailRuns
	if err := k.reach(fromImage, k.times, k.started(ctx, k.open)); err != nil {
		return err
	}
	return k.reach("the same, and its search index", k.times, func() (any, error) {
		v, err := k.open()
		if err != nil {
			return nil, err
		}
		_, err = v.Searchable(ctx)
		return v, err
	})
}

// started returns a function that starts like a new process: it opens the vault and reads the
// newest state.
func (k *keeping) started(
	ctx context.Context, open func() (*repo.Vault, error),
) func() (any, error) {
	return func() (any, error) {
		v, err := open()
		if err != nil {
			return nil, err
		}
		_, err = v.Read(ctx)
		return v, err
	}
}

// reach measures the duration of do and, at the last time, its use of the heap.
func (k *keeping) reach(what string, times int, do func() (any, error)) error {
	r := reached{What: what}
	for range times - 1 {
		begun := time.Now()
		if _, err := do(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		r.Took = append(r.Took, time.Since(begun))
	}
	var x any
	var err error
	b := measureBuild(what, heap(), func() { x, err = do() })
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	runtime.KeepAlive(x)
	r.Took, r.Peak, r.Held = append(r.Took, b.Took), b.Peak, b.Held
	slices.Sort(r.Took)
	k.out.Starts = append(k.out.Starts, r)
	return nil
}

// ago measures a read of the state of a year ago, on a vault that was just read. how is added to
// the name of the row.
func (k *keeping) ago(how string) func(context.Context) error {
	return func(ctx context.Context) error {
		v, err := k.open()
		if err != nil {
			return err
		}
		if _, err := v.Read(ctx); err != nil {
			return err
		}
		return k.reach("as of a year ago, "+how, 1, func() (any, error) {
			version, err := v.VersionAt(ctx, k.end.AddDate(-1, 0, 0))
			if err != nil {
				return nil, err
			}
			x, err := v.At(ctx, version)
			return []any{v, x}, err // the vault is not part of the measurement
		})
	}
}

// writes measures concurrent writers, first without and then with a Compactor.
func (k *keeping) writes(ctx context.Context) error {
	v, err := k.open()
	if err != nil {
		return err
	}
	if _, err := v.Searchable(ctx); err != nil {
		return err
	}
	if err := k.write64(ctx, v, noFolds); err != nil {
		return err
	}
	keeper := v.StartCompactor(repo.CompactorOptions{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	defer keeper.Close()
	return k.write64(ctx, v, withFolds)
}

// write64 measures the rate of concurrent writers.
func (k *keeping) write64(ctx context.Context, v *repo.Vault, what string) error {
	got, err := load{
		name: what, clients: keptWrite, ops: 2 * k.ops, limit: k.limit,
		op: func(ctx context.Context, i int) error { return k.edit(ctx, v, k.edits+i) },
	}.run(ctx)
	k.edits += got.Ops()
	k.out.Written = append(k.out.Written, got)
	return err
}

// bare measures starts without any image, first with the table and then from segments alone.
func (k *keeping) bare(ctx context.Context) (err error) {
	if err := k.dropImages(ctx); err != nil {
		return err
	}
	if err := k.reach("a start without images: segments, and a tail", 1,
		k.started(ctx, k.open)); err != nil {
		return err
	}
	if err := k.ago("with no image")(ctx); err != nil {
		return err
	}
	t, err := bolttable.Open(filepath.Join(k.dir, "lost.db"), bolttable.Options{Now: k.now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	return k.reach("a rebuild from segments alone, when the database is lost", 1,
		k.started(ctx, func() (*repo.Vault, error) {
			v, err := k.openOn(t)
			if err != nil {
				return nil, err
			}
			_, err = v.Recover(ctx)
			return v, err
		}))
}
