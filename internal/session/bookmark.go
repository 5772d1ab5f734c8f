package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// MaxBookmarks is the maximum number of bookmarks of an agent in a vault.
const MaxBookmarks = 1000

// A Bookmark is a label that an agent gave to a node.
type Bookmark struct {
	Label     string    `json:"label"`
	UID       string    `json:"uid"` // of the node
	NodeID    string    `json:"nodeId"`
	Name      string    `json:"name"` // at the creation of the bookmark, like NodeID
	CreatedAt time.Time `json:"createdAt"`
}

// A BookmarkItem is a bookmark with the item that contains it.
type BookmarkItem struct {
	Bookmark
	item table.Item
}

func bookmarkKey(o Owner, label string) string {
	return prefixBookmarks + o.key() + "/" + hashed(label)
}

// Bookmark reads a bookmark. found is false if the agent has none with the label.
func (s Store) Bookmark(ctx context.Context, o Owner, label string) (b BookmarkItem, found bool, err error) {
	b.item, found, err = s.get(ctx, bookmarkKey(o, label), &b.Bookmark)
	return b, found, err
}

// Bookmarks returns the bookmarks of an agent, the oldest first. It costs one Query.
func (s Store) Bookmarks(ctx context.Context, o Owner) ([]Bookmark, error) {
	from := prefixBookmarks + o.key() + "/"
	all := []Bookmark{}
	for it, err := range s.Table.Query(ctx, s.Part, from, from+lastKey) {
		if err != nil {
			return nil, unread(err)
		}
		var b Bookmark
		if err := decode(it, &b); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b Bookmark) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.Label, b.Label))
	})
	return all, nil
}

// AddBookmark drafts a new bookmark. It returns QUOTA_EXCEEDED if the agent has MaxBookmarks. It
// costs one Get.
func (s Store) AddBookmark(ctx context.Context, d *Draft, o Owner, b Bookmark) error {
	count, err := s.Table.Get(ctx, s.countKey(o))
	switch {
	case err != nil && !errors.Is(err, table.ErrNotFound):
		return unread(err)
	case count.Count >= MaxBookmarks:
		return fault.New(fault.QuotaExceeded, "an agent has at most %d bookmarks in a vault", MaxBookmarks).
			Try("tree_list_bookmarks", nil).Fix("remove bookmarks that are not used any more")
	}
	it, err := s.item(bookmarkKey(o, b.Label), b)
	if err != nil {
		return err
	}
	d.Do(table.Create(it), table.Add(table.Item{Key: s.countKey(o)}, 1, MaxBookmarks))
	return nil
}

// SetBookmark drafts another node for a bookmark.
func (s Store) SetBookmark(d *Draft, old BookmarkItem, b Bookmark) error {
	it, err := s.item(old.item.Sort, b)
	if err != nil {
		return err
	}
	d.Do(table.Replace(old.item, it))
	return nil
}

// RemoveBookmark drafts the removal of a bookmark. The item is replaced by an expired one, because a
// table has no conditional delete: if two calls remove the same bookmark, the commit of one fails,
// so that the bookmark is counted once.
func (s Store) RemoveBookmark(d *Draft, o Owner, b BookmarkItem) {
	gone := table.Item{Key: b.item.Key, Data: []byte("{}"), Expires: time.Unix(1, 0)}
	d.Do(table.Replace(b.item, gone), table.Add(table.Item{Key: s.countKey(o)}, -1, MaxBookmarks))
}

// countKey returns the key of the item that counts the bookmarks of an agent.
func (s Store) countKey(o Owner) table.Key {
	return table.Key{Part: s.Part, Sort: prefixCounts + o.key()}
}
