package session

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// MaxSnapshots is the maximum number of snapshots of a vault, without automatic ones.
const MaxSnapshots = 1000

// safetyLife is the time for which an automatic snapshot is kept.
const safetyLife = 30 * 24 * time.Hour

// A Snapshot is a label of a version of a subtree. The texts of its nodes are in the log.
type Snapshot struct {
	ID        string    `json:"id"`
	Label     string    `json:"label"`
	Seq       uint64    `json:"seq"` // the version of the vault
	UID       string    `json:"uid"` // of the node
	NodeID    string    `json:"nodeId"`
	Name      string    `json:"name"` // at the version, like NodeID
	NodeCount int       `json:"nodes"`
	CreatedAt time.Time `json:"createdAt"`
	Owner     Owner     `json:"owner"`

	// Automatic reports that a restore created the snapshot. It is kept for 30 days, and does not
	// count towards MaxSnapshots.
	Automatic bool `json:"automatic,omitempty"`
}

// A SnapshotItem is a snapshot with the item that contains it.
type SnapshotItem struct {
	Snapshot
	item table.Item
}

// The id of a snapshot consists of a time, a version and a hash, so ids sort by creation.
const (
	idPrefix = "s_"
	timeSize = 6 // milliseconds
	idSize   = 16
)

var idCode = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// SnapshotID returns an id for a new snapshot. It is derived from the time and the content of the
// snapshot. attempt distinguishes equal snapshots of one millisecond.
func (s Store) SnapshotID(n Snapshot, attempt int) string {
	now := uint64(max(0, s.Now().UnixMilli())) //nolint:gosec // not negative
	head := binary.BigEndian.AppendUint64(nil, now)[8-timeSize:]
	head = binary.BigEndian.AppendUint32(head, uint32(n.Seq)) //nolint:gosec // it only sorts
	sum := sha256.Sum256([]byte(hashed(n.Owner.Principal, n.Owner.Agent, n.Label, n.UID, strconv.Itoa(attempt))))
	id := make([]byte, idSize)
	copy(id[copy(id, head):], sum[:])
	return idPrefix + idCode.EncodeToString(id)
}

// FreeSnapshotID returns the first SnapshotID that no snapshot has. It usually costs one Get.
func (s Store) FreeSnapshotID(ctx context.Context, n Snapshot) (string, error) {
	for attempt := 0; ; attempt++ {
		id := s.SnapshotID(n, attempt)
		if _, found, err := s.Snapshot(ctx, id); !found || err != nil {
			return id, err
		}
	}
}

// snapshotKey returns the key of a snapshot. ok is false if the id is malformed. The keys of newer
// snapshots sort first.
func snapshotKey(id string) (key string, ok bool) {
	rest, ok := strings.CutPrefix(id, idPrefix)
	data, err := idCode.DecodeString(rest)
	if !ok || err != nil || len(data) != idSize {
		return "", false
	}
	for i := range data {
		data[i] = ^data[i]
	}
	return prefixSnapshots + hex.EncodeToString(data), true
}

// Snapshot reads a snapshot. found is false if there is none with the id.
func (s Store) Snapshot(ctx context.Context, id string) (n SnapshotItem, found bool, err error) {
	key, ok := snapshotKey(id)
	if !ok {
		return n, false, nil
	}
	n.item, found, err = s.get(ctx, key, &n.Snapshot)
	return n, found, err
}

// EachSnapshot calls a function with the snapshots of the vault, the newest first, until it returns
// false. It begins after the snapshot with the id after, or with the newest if after is empty.
func (s Store) EachSnapshot(ctx context.Context, after string, do func(Snapshot) bool) error {
	from := prefixSnapshots
	if key, ok := snapshotKey(after); ok {
		from = key + "\x00"
	}
	for it, err := range s.Table.Query(ctx, s.Part, from, prefixSnapshots+lastKey) {
		if err != nil {
			return unread(err)
		}
		var n Snapshot
		if err := decode(it, &n); err != nil {
			return err
		}
		if !do(n) {
			break
		}
	}
	return nil
}

// AddSnapshot drafts a new snapshot. It returns QUOTA_EXCEEDED if the vault has MaxSnapshots. It
// costs one Get.
func (s Store) AddSnapshot(ctx context.Context, d *Draft, n Snapshot) error {
	count, err := s.Table.Get(ctx, s.snapshotsKey())
	switch {
	case err != nil && !errors.Is(err, table.ErrNotFound):
		return unread(err)
	case count.Count >= MaxSnapshots:
		return fault.New(fault.QuotaExceeded, "a vault has at most %d snapshots", MaxSnapshots).
			Try("tree_snapshot_list", nil).Fix("delete snapshots that are not used any more")
	}
	it, err := s.snapshotItem(n)
	if err != nil {
		return err
	}
	d.Do(table.Create(it), table.Add(table.Item{Key: s.snapshotsKey()}, 1, MaxSnapshots))
	return nil
}

// RemoveSnapshot drafts the removal of a snapshot; see RemoveBookmark.
func (s Store) RemoveSnapshot(d *Draft, n SnapshotItem) {
	d.Do(table.Replace(n.item, table.Item{Key: n.item.Key, Data: []byte("{}"), Expires: time.Unix(1, 0)}))
	if !n.Automatic {
		d.Do(table.Add(table.Item{Key: s.snapshotsKey()}, -1, MaxSnapshots))
	}
}

// KeepAutomatic writes an automatic snapshot, and replaces one with the same id.
func (s Store) KeepAutomatic(ctx context.Context, n Snapshot) error {
	n.Automatic = true
	it, err := s.snapshotItem(n)
	if err != nil {
		return err
	}
	it.Expires = s.Now().Add(safetyLife)
	return written(s.Table.Commit(ctx, table.Set(it)))
}

// DropAutomatic removes an automatic snapshot that no answer named. An error is ignored: the
// snapshot then expires.
func (s Store) DropAutomatic(ctx context.Context, id string) {
	if key, ok := snapshotKey(id); ok {
		gone := table.Item{Key: table.Key{Part: s.Part, Sort: key}, Data: []byte("{}"), Expires: time.Unix(1, 0)}
		_ = s.Table.Commit(ctx, table.Set(gone))
	}
}

func (s Store) snapshotItem(n Snapshot) (table.Item, error) {
	key, ok := snapshotKey(n.ID)
	if !ok {
		return table.Item{}, errors.New("the id of a snapshot is malformed")
	}
	return s.item(key, n)
}

// snapshotsKey returns the key of the item that counts the snapshots.
func (s Store) snapshotsKey() table.Key { return table.Key{Part: s.Part, Sort: keySnapshots} }
