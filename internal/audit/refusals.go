package audit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/table"
	"rookery/internal/team"
)

// Refusals are the refusal log of a tenant: the entries of the mutations that were refused or failed.
//
// An entry is an item of the table at once. When it is some minutes old it moves into an archive: an
// immutable object that names the hash of the one before. The head item names the last archive and its
// hash, and an item for each archive the times of its entries. Entries are kept for ever.
type Refusals struct {
	table  table.Table // of the tenant
	bucket blob.Bucket // of the tenant
}

// Of is the refusal log of a tenant.
func Of(t *team.Team) Refusals { return Refusals{t.Table(), t.Bucket()} }

// The partitions of the log: of the entries that are not archived yet, and of what is known of the
// archives. The head sorts behind all of these.
const (
	partEntries  = "refusals"
	partArchives = "refusals/archives"
	headKey      = "~"
)

// Parts are the partitions of a tenant that the refusal log has.
func Parts() []string { return []string{partEntries, partArchives} }

// A kept is an entry under its key.
type kept struct {
	Key string `json:"key"`
	Entry
}

// keyLength is how many characters the time of a key has: nanoseconds since 1970.
const keyLength = 19

// keyAt is before the keys of all entries of a time, and behind those of earlier ones.
func keyAt(t time.Time) string {
	nanos := int64(0)
	if t.After(time.Unix(0, 0)) {
		nanos = min(t.Unix(), lastTime().Unix())*int64(time.Second) + int64(t.Nanosecond())
	}
	return fmt.Sprintf("%0*d", keyLength, nanos)
}

// timeOf is the time of a key.
func timeOf(key string) time.Time {
	var nanos int64
	_, _ = fmt.Sscanf(key[:min(len(key), keyLength)], "%d", &nanos) // a key begins with a number
	return time.Unix(0, nanos).UTC()
}

// lastTime is behind every time of an entry.
func lastTime() time.Time { return time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC) }

// newKey is a key of an entry. No two are alike.
func newKey(e Entry) string { return keyAt(e.Time) + "-" + rand.Text()[:16] }

// add writes an entry: one write.
func (r Refusals) add(ctx context.Context, e Entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode an entry: %w", err)
	}
	err = r.table.Commit(ctx, table.Create(table.Item{
		Key: table.Key{Part: partEntries, Sort: newKey(e)}, Data: data,
	}))
	if err != nil {
		return fmt.Errorf("write an entry: %w", err)
	}
	return nil
}

// waiting yields the entries that are not archived, with keys from one up to another, oldest first.
func (r Refusals) waiting(ctx context.Context, from, to string) iter.Seq2[kept, error] {
	return func(yield func(kept, error) bool) {
		for it, err := range r.table.Query(ctx, partEntries, from, to) {
			if err != nil {
				yield(kept{}, unread(err))
				return
			}
			k := kept{Key: it.Sort}
			if err := json.Unmarshal(it.Data, &k.Entry); err != nil {
				yield(kept{}, broken("an entry cannot be read", err))
				return
			}
			if !yield(k, nil) {
				return
			}
		}
	}
}

// oldest are the first entries that are not archived, up to a key, oldest first.
func (r Refusals) oldest(ctx context.Context, to string, most int) ([]kept, error) {
	var all []kept
	for k, err := range r.waiting(ctx, "", to) {
		if err != nil {
			return nil, err
		}
		if all = append(all, k); len(all) == most {
			break
		}
	}
	return all, nil
}

// any reports whether there is an entry that is not archived.
func (r Refusals) any(ctx context.Context) (bool, error) {
	some, err := r.oldest(ctx, headKey, 1)
	return len(some) > 0, err
}

// A head is the head item: what is known of the archives as a whole.
type head struct {
	Format int    `json:"format"`
	N      uint64 `json:"n"`      // the number of the last archive; the first one is 1
	Hash   []byte `json:"hash"`   // its sha256
	Oldest string `json:"oldest"` // the first day and the last one of archived entries
	Newest string `json:"newest"`
}

// headFormat is the version of the items and objects of the log.
const headFormat = 1

// readHead is the head, and its item; without archives both are empty.
func (r Refusals) readHead(ctx context.Context) (head, table.Item, error) {
	h := head{Format: headFormat}
	it, err := r.table.Get(ctx, table.Key{Part: partArchives, Sort: headKey})
	switch {
	case errors.Is(err, table.ErrNotFound):
		return h, table.Item{}, nil
	case err != nil:
		return h, it, unread(err)
	}
	if err := json.Unmarshal(it.Data, &h); err != nil {
		return h, it, broken("its head cannot be read", err)
	}
	if h.Format > headFormat {
		return h, it, fault.New(fault.IndexIncompatible,
			"the log of refused calls is of a newer format than this release reads").
			Fix("run the release that wrote it, or a newer one")
	}
	return h, it, nil
}

// unread is the fault of a log that cannot be read just now.
func unread(err error) error {
	if errors.Is(err, table.ErrDamaged) {
		return broken("the database is damaged", err)
	}
	return fault.New(fault.Unavailable, "the log of refused calls cannot be read now").
		After(time.Second).Because(fmt.Errorf("read refused calls: %w", err))
}

// broken is the fault of a log that is not what was written.
func broken(what string, err error) error {
	return fault.New(fault.IndexError, "the log of refused calls is damaged: %s", what).
		Fix("restore the database and the files beside it from a backup").Because(err)
}
