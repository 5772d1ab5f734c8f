package awsapp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/table"
)

const (
	// releasePause is how long the images of a new format are not put in use after a release with
	// it first ran. It is the longest time for which an invocation of an earlier release may still
	// run.
	releasePause = 15 * time.Minute

	// releaseAgain is the time after which the item is read again if it could not be read.
	releaseAgain = 10 * time.Second
)

// releaseKey returns the key of the item with the release of the deployment. No tenant can have
// such a name, and a list of the tenants ends before it.
func releaseKey() table.Key { return table.Key{Part: "~tenants", Sort: "~release"} }

// A releaseItem is the content of the item.
type releaseItem struct {
	Format int       `json:"format"` // of images
	Since  time.Time `json:"since"`  // when a process with it first started
}

// A release decides whether images of the format of this release may be put in use, or whether
// those of an earlier format are kept, because processes of an earlier release may still run
// (docs/design/0066). It is safe for concurrent use.
//
// The deployment has one item with the newest format, and the time since when a process with that
// format has run. A process of an earlier release could not read images of a newer format, and
// would have to replay whole logs; releasePause is longer than any of its invocations.
type release struct {
	table table.Table
	now   func() time.Time
	log   *slog.Logger

	mu    sync.Mutex
	known releaseItem
	asked time.Time // when the item was last read
}

// keepsOldFormat reports whether images of an earlier format are kept. It returns true if that is
// unknown. After the item was read once, it costs no request.
func (r *release) keepsOldFormat(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.known.Format == 0 && now.Sub(r.asked) >= releaseAgain {
		r.asked = now
		known, err := r.load(ctx)
		if err != nil {
			r.log.ErrorContext(ctx, "it is not known which release runs", slog.Any("cause", err))
		}
		r.known = known
	}
	if r.known.Format > index.ImageFormat { // a later release runs; only a new process reads the item again
		return true
	}
	return r.known.Format == 0 || now.Sub(r.known.Since) < releasePause
}

// load reads the item, and replaces it if it is that of an earlier release, or cannot be decoded.
// It costs one request, and another one for the first process of a release. The item of a later
// release is returned as it is.
func (r *release) load(ctx context.Context) (releaseItem, error) {
	own := releaseItem{Format: index.ImageFormat, Since: r.now().UTC().Round(0)}
	data, err := json.Marshal(own)
	if err != nil {
		return releaseItem{}, err
	}
	mine := table.Item{Key: releaseKey(), Data: data}
	is, err := r.table.Get(ctx, releaseKey())
	if errors.Is(err, table.ErrNotFound) {
		return r.write(ctx, table.Create(mine), own)
	}
	if err != nil {
		return releaseItem{}, err
	}
	var known releaseItem
	if err := json.Unmarshal(is.Data, &known); err != nil || known.Format < own.Format {
		return r.write(ctx, table.Replace(is, mine), own)
	}
	return known, nil
}

// write writes the item and returns it. After a conflict it returns a zero item, so that the item
// is read again.
func (r *release) write(ctx context.Context, op table.Op, own releaseItem) (releaseItem, error) {
	err := r.table.Commit(ctx, op)
	var conflict *table.Conflict
	if errors.As(err, &conflict) {
		return releaseItem{}, nil // the item is read again later
	}
	if err != nil {
		return releaseItem{}, err
	}
	return own, nil
}
