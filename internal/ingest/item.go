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

	"rookery/internal/repo"
	"rookery/internal/table"
)

// Sort keys in the partition of a vault. What is noticed has a key of its own each time, so that the process that takes
// it in removes what it has seen, and nothing that was noticed since.
const (
	noticedPrefix = "noticed/" // and a path, '#' and a text of its own
	heldPrefix    = "held/"    // and a path: of a batch that needs confirmation
	leftPrefix    = "left/"    // and a key of the bucket: a file that cannot be taken in
	leaseKey      = "lease/files"
	streakKey     = "streak/files"

	// behind all keys with a prefix
	last = "\U0010FFFF"
)

// A note is what an item says of a file that others changed.
type note struct {
	At     time.Time `json:"at"`               // when it was noticed
	Saved  time.Time `json:"saved,omitzero"`   // when it was changed, as the bucket tells
	Gone   bool      `json:"gone,omitempty"`   // there was no file
	Head   uint64    `json:"head,omitempty"`   // the version of the vault then
	Cursor uint64    `json:"cursor,omitempty"` // up to which the files were known to be in step
}

// An edit is all that was noticed of one file.
type edit struct {
	path  string
	note  // what was noticed last
	first time.Time
	sorts []string // of the items
	held  bool
}

// noticed reads what was noticed, by path.
func (v Vault) noticed(ctx context.Context) ([]*edit, error) {
	byPath := map[string]*edit{}
	for it, err := range v.Table.Query(ctx, v.Part, noticedPrefix, noticedPrefix+last) {
		if err != nil {
			return nil, unread(err)
		}
		path := strings.TrimPrefix(it.Sort, noticedPrefix)
		path = path[:max(strings.LastIndexByte(path, '#'), 0)]
		n, err := noteOf(it)
		if err != nil {
			return nil, err
		}
		e := byPath[path]
		if e == nil {
			e = &edit{path: path, note: n, first: n.At}
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

// add adds what an item says.
func (e *edit) add(n note, sort string) {
	e.sorts = append(e.sorts, sort)
	if n.At.Before(e.first) {
		e.first = n.At
	}
	was := e.note
	if n.At.After(e.At) {
		e.note = n
	}
	e.bound(was)
	e.bound(n)
}

// bound notes what was noticed of the file before: it has not been as the log says since, and had nothing that came
// into the log later.
func (e *edit) bound(n note) { e.Head, e.Cursor = min(e.Head, n.Head), min(e.Cursor, n.Cursor) }

// heldEdits reads the batch that needs confirmation, by path.
func (v Vault) heldEdits(ctx context.Context) (map[string]*edit, error) {
	all := map[string]*edit{}
	for it, err := range v.Table.Query(ctx, v.Part, heldPrefix, heldPrefix+last) {
		if err != nil {
			return nil, unread(err)
		}
		n, err := noteOf(it)
		if err != nil {
			return nil, err
		}
		path := strings.TrimPrefix(it.Sort, heldPrefix)
		all[path] = &edit{path: path, note: n, first: n.At, held: true}
	}
	return all, nil
}

func noteOf(it table.Item) (n note, err error) {
	if err := json.Unmarshal(it.Data, &n); err != nil {
		return n, fmt.Errorf("read what was noticed: %w", err)
	}
	return n, nil
}

// set writes an item, whatever is there.
func (v Vault) set(ctx context.Context, sort string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write an item: %w", err)
	}
	if err := v.Table.Commit(ctx, table.Set(table.Item{Key: v.key(sort), Data: data})); err != nil {
		return unwritten(err)
	}
	return nil
}

// remove removes items.
func (v Vault) remove(ctx context.Context, sorts []string) error {
	return together(sorts, func(sort string) error {
		if err := v.Table.Commit(ctx, table.Remove(v.key(sort))); err != nil {
			return unwritten(err)
		}
		return nil
	})
}

// has reports whether there is an item.
func (v Vault) has(ctx context.Context, sort string) (bool, error) {
	_, err := v.Table.Get(ctx, v.key(sort))
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (v Vault) key(sort string) table.Key { return table.Key{Part: v.Part, Sort: sort} }

// noticedKey is a new key for what is noticed of a file.
func noticedKey(path string) string { return noticedPrefix + path + "#" + rand.Text()[:13] }

// unread is the error of a Query.
func unread(err error) error { return fmt.Errorf("read what was noticed: %w", err) }

// A left is a file that cannot be taken in, and what was noticed then.
type left struct {
	repo.LeftFile
	Noticed note `json:"noticed"`
}

// lefts reads which files cannot be taken in, by their keys in the bucket.
func (v Vault) lefts(ctx context.Context) (map[string]left, error) {
	all := map[string]left{}
	for it, err := range v.Table.Query(ctx, v.Part, leftPrefix, leftPrefix+last) {
		if err != nil {
			return nil, unread(err)
		}
		var f left
		if err := json.Unmarshal(it.Data, &f); err != nil {
			return nil, unread(err)
		}
		all[f.Path] = f
	}
	return all, nil
}
