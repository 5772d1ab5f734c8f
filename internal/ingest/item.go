package ingest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
)

// Sort keys in the partition of a vault. Each noticed edit has its own key, so that the process
// that ingests it removes the items that it has read, and no newer ones. A held edit and a skipped
// file have one item each, which is replaced.
const (
	noticedPrefix = "noticed/" // followed by a path, '#' and a random text
	heldPrefix    = "held/"    // followed by a path: an edit that needs confirmation
	leftPrefix    = "left/"    // followed by a key of the bucket: a skipped file
	leaseKey      = "lease/files"
	streakKey     = "streak/files"

	// last follows a prefix to form the end of a range of keys.
	last = "\U0010FFFF"
)

// A noticedItem is the content of an item about an outside edit, as JSON. It does not contain the text:
// the file is read when the edit is ingested, and may have changed again by then.
type noticedItem struct {
	At     time.Time `json:"at"`               // when the edit was noticed
	Saved  time.Time `json:"saved,omitzero"`   // when the file was changed, as the bucket reports; zero if unknown
	Gone   bool      `json:"gone,omitempty"`   // there was no file
	Head   uint64    `json:"head,omitempty"`   // the version of the vault at that time
	Cursor uint64    `json:"cursor,omitempty"` // the version up to which the files were known to be written
}

// An edit is the sum of the items about one file: the newest one, with the smallest versions of
// all. Several items of a file are one edit, because only its present text can be read.
type edit struct {
	path        string
	noticedItem // the newest one
	first       time.Time
	sorts       []string // keys of the items
	held        bool
}

// noticed returns the noticed edits, sorted by path. It reads all items with the prefix in one
// Query. A path can contain #, so the last one separates the random text.
func (v Vault) noticed(ctx context.Context) ([]*edit, error) {
	byPath := map[string]*edit{}
	for it, err := range v.Table.Query(ctx, v.Part, noticedPrefix, noticedPrefix+last) {
		if err != nil {
			return nil, readError(err)
		}
		path := strings.TrimPrefix(it.Sort, noticedPrefix)
		path = path[:max(strings.LastIndexByte(path, '#'), 0)]
		n, err := noteOf(it)
		if err != nil {
			return nil, err
		}
		e := byPath[path]
		if e == nil {
			e = &edit{path: path, noticedItem: n, first: n.At}
			byPath[path] = e
		}
		e.add(n, it.Sort)
	}
	all := make([]*edit, 0, len(byPath))
	for _, e := range byPath {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *edit) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// add adds an item with its sort key.
func (e *edit) add(n noticedItem, sort string) {
	e.sorts = append(e.sorts, sort)
	if n.At.Before(e.first) {
		e.first = n.At
	}
	was := e.noticedItem
	if n.At.After(e.At) {
		e.noticedItem = n
	}
	e.bound(was)
	e.bound(n)
}

// bound applies an earlier item of the file: the file has differed from the log since, and contains
// no later commits. The versions of an edit therefore only become smaller.
func (e *edit) bound(n noticedItem) { e.Head, e.Cursor = min(e.Head, n.Head), min(e.Cursor, n.Cursor) }

// heldEdits returns the held batch by path. An edit of it has no items in sorts: its held item is
// removed by batch.keep.
func (v Vault) heldEdits(ctx context.Context) (map[string]*edit, error) {
	all := map[string]*edit{}
	for it, err := range v.Table.Query(ctx, v.Part, heldPrefix, heldPrefix+last) {
		if err != nil {
			return nil, readError(err)
		}
		n, err := noteOf(it)
		if err != nil {
			return nil, err
		}
		path := strings.TrimPrefix(it.Sort, heldPrefix)
		all[path] = &edit{path: path, noticedItem: n, first: n.At, held: true}
	}
	return all, nil
}

// noteOf decodes an item. An item that does not decode is an error and is not skipped, because the
// edit would be lost.
func noteOf(it table.Item) (n noticedItem, err error) {
	if err := json.Unmarshal(it.Data, &n); err != nil {
		return n, fmt.Errorf("read what was noticed: %w", err)
	}
	return n, nil
}

// set writes an item unconditionally.
func (v Vault) set(ctx context.Context, sort string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write an item: %w", err)
	}
	if err := v.Table.Commit(ctx, table.Set(table.Item{Key: v.key(sort), Data: data})); err != nil {
		return writeError(err)
	}
	return nil
}

// remove removes items, several at once. Items that do not exist are no error.
func (v Vault) remove(ctx context.Context, sorts []string) error {
	return forEach(sorts, func(sort string) error {
		if err := v.Table.Commit(ctx, table.Remove(v.key(sort))); err != nil {
			return writeError(err)
		}
		return nil
	})
}

// has reports whether an item exists.
func (v Vault) has(ctx context.Context, sort string) (bool, error) {
	_, err := v.Table.Get(ctx, v.key(sort))
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// key returns the key of an item of the vault.
func (v Vault) key(sort string) table.Key { return table.Key{Part: v.Part, Sort: sort} }

// noticedKey returns a new sort key for an edit of a file. The random text makes it unique, so two
// processes never overwrite each other's items.
func noticedKey(path string) string { return noticedPrefix + path + "#" + rand.Text()[:13] }

// readError returns the error for items that cannot be read.
func readError(err error) error { return fmt.Errorf("read what was noticed: %w", err) }

// A skippedFile is a skipped file, with the edit that was noticed. The edit bounds a later one of the
// file; see batch.choose.
type skippedFile struct {
	repo.LeftFile
	Noticed noticedItem `json:"noticed"`
}

// skippedFiles returns the skipped files by their keys in the bucket.
func (v Vault) skippedFiles(ctx context.Context) (map[string]skippedFile, error) {
	all := map[string]skippedFile{}
	for it, err := range v.Table.Query(ctx, v.Part, leftPrefix, leftPrefix+last) {
		if err != nil {
			return nil, readError(err)
		}
		var f skippedFile
		if err := json.Unmarshal(it.Data, &f); err != nil {
			return nil, readError(err)
		}
		all[f.Path] = f
	}
	return all, nil
}
