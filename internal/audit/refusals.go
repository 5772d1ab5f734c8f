package audit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// A Refusals is the refusal log of a tenant: the entries of mutations that were refused or failed,
// and of successful calls without a commit (see Done). It is a value without state of its own.
//
// A new entry is an item of the table. After some minutes it is moved to an archive: an immutable
// object that contains the hash of the archive before. The head item contains the number and the
// hash of the last archive, and there is an item for each archive with the keys of its first and
// last entry. Entries are kept forever.
//
// The chain makes it evident if an archive is changed, removed or replaced later. It does not
// protect against a change of the head together with all later archives, by a person who can write
// to both stores.
type Refusals struct {
	table  table.Table // of the tenant
	bucket blob.Bucket // of the tenant
}

// RefusalsOf returns the refusal log of a tenant.
func RefusalsOf(t *tenant.Tenant) Refusals { return Refusals{t.Table(), t.Bucket()} }

// The partitions of the log: the entries that are not archived yet, and the items of the archives.
// headKey is the sort key of the head item; it sorts after all others.
const (
	partEntries  = "refusals"
	partArchives = "refusals/archives"
	headKey      = "~"
)

// Parts returns the partitions of the refusal log within a tenant's table.
func Parts() []string { return []string{partEntries, partArchives} }

// A keyedEntry is an entry with its key.
type keyedEntry struct {
	Key string `json:"key"`
	Entry
}

// keyLength is the number of digits of the time in a key: nanoseconds since 1970.
const keyLength = 19

// keyAt returns a key that sorts before those of all entries of a time, and after those of earlier
// entries: the nanoseconds since 1970 with leading zeros. Times outside 1970 to 2200 become these
// bounds.
func keyAt(t time.Time) string {
	nanos := int64(0)
	if t.After(time.Unix(0, 0)) {
		nanos = min(t.Unix(), lastTime().Unix())*int64(time.Second) + int64(t.Nanosecond())
	}
	return fmt.Sprintf("%0*d", keyLength, nanos)
}

// timeOf returns the time in a key.
func timeOf(key string) time.Time {
	var nanos int64
	_, _ = fmt.Sscanf(key[:min(len(key), keyLength)], "%d", &nanos) // a key begins with a number
	return time.Unix(0, nanos).UTC()
}

// lastTime returns a time after that of every entry.
func lastTime() time.Time { return time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC) }

// newKey returns a unique key for an entry: keyAt of its time, a dash, and 80 random bits, so that
// two entries of one nanosecond have different keys.
func newKey(e Entry) string { return keyAt(e.Time) + "-" + rand.Text()[:16] }

// add writes an entry to the table.
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

// unarchived yields the entries that are not archived with keys in the closed interval from `from` to
// `to`, oldest first.
func (r Refusals) unarchived(ctx context.Context, from, to string) iter.Seq2[keyedEntry, error] {
	return func(yield func(keyedEntry, error) bool) {
		for it, err := range r.table.Query(ctx, partEntries, from, to) {
			if err != nil {
				yield(keyedEntry{}, unread(err))
				return
			}
			k := keyedEntry{Key: it.Sort}
			if err := json.Unmarshal(it.Data, &k.Entry); err != nil {
				yield(keyedEntry{}, broken("an entry cannot be read", err))
				return
			}
			if !yield(k, nil) {
				return
			}
		}
	}
}

// oldest returns the oldest entries that are not archived, up to a key and at most `most`, which
// must be positive.
func (r Refusals) oldest(ctx context.Context, to string, most int) ([]keyedEntry, error) {
	var all []keyedEntry
	for k, err := range r.unarchived(ctx, "", to) {
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

// A head is the head item, which describes all archives. A process changes it by a conditional
// write, so archives have one order.
type head struct {
	Format int    `json:"format"`
	N      uint64 `json:"n"`      // number of the last archive, from 1; 0: there is none
	Hash   []byte `json:"hash"`   // SHA-256 of the last archive
	Oldest string `json:"oldest"` // first and last day of archived entries
	Newest string `json:"newest"`
}

// headFormat is the version of the format of the log's items and objects.
const headFormat = 1

// readHead returns the head and its item. Without archives the item is the zero Item. A newer
// format is INDEX_INCOMPATIBLE.
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

// unread returns the fault of a log that cannot be read at the moment, UNAVAILABLE, or, if the
// database is damaged, INDEX_ERROR.
func unread(err error) error {
	if errors.Is(err, table.ErrDamaged) {
		return broken("the database is damaged", err)
	}
	return fault.New(fault.Unavailable, "the log of refused calls cannot be read now").
		After(time.Second).Because(fmt.Errorf("read refused calls: %w", err))
}

// broken returns the INDEX_ERROR of a damaged log.
func broken(what string, err error) error {
	return fault.New(fault.IndexError, "the log of refused calls is damaged: %s", what).
		Fix("restore the database and the files beside it from a backup").Because(err)
}
