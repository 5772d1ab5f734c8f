package awsapp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"rookery/internal/index"
	"rookery/internal/table"
)

const (
	// releasePause is how long images of a new format are not put in force after a release with it has run first: as
	// long as an invocation of an earlier release may still go on.
	releasePause = 15 * time.Minute

	// releaseAgain is after how long the item is read again that could not be read.
	releaseAgain = 10 * time.Second
)

// releaseKey is the item that says which release of the deployment runs. No tenant has such a name, and a list of the
// tenants ends before it.
func releaseKey() table.Key { return table.Key{Part: "~tenants", Sort: "~release"} }

// A releaseItem is what the item says.
type releaseItem struct {
	Format int       `json:"format"` // of images
	Since  time.Time `json:"since"`  // when a process with it began first
}

// A release decides whether images of the format of this release may be put in force, or those of an earlier one are
// kept because processes of an earlier release may still run (docs/design/0066). It is safe for concurrent use.
type release struct {
	table table.Table
	now   func() time.Time
	log   *slog.Logger

	mu    sync.Mutex
	known releaseItem
	asked time.Time // when the item was asked for last
}

// holds reports whether images of an earlier format are kept. Where that is not known, they are.
func (r *release) holds(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.known.Format == 0 && now.Sub(r.asked) >= releaseAgain {
		r.asked = now
		known, err := r.learn(ctx)
		if err != nil {
			r.log.ErrorContext(ctx, "it is not known which release runs", slog.Any("cause", err))
		}
		r.known = known
	}
	if r.known.Format > index.ImageFormat { // a later release runs: ask again when a process of ours begins
		return true
	}
	return r.known.Format == 0 || now.Sub(r.known.Since) < releasePause
}

// learn reads the item, and writes that this release runs if it says that an earlier one does.
func (r *release) learn(ctx context.Context) (releaseItem, error) {
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

// write writes the item. If another process has written it just now, that one has said the same.
func (r *release) write(ctx context.Context, op table.Op, own releaseItem) (releaseItem, error) {
	err := r.table.Commit(ctx, op)
	var conflict *table.Conflict
	if errors.As(err, &conflict) {
		return releaseItem{}, nil // it is read the next time
	}
	if err != nil {
		return releaseItem{}, err
	}
	return own, nil
}
