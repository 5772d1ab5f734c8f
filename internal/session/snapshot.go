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

// MaxSnapshots is how many snapshots a vault has at most, automatic ones aside.
const MaxSnapshots = 1000

// safetyLife is how long an automatic snapshot is kept.
const safetyLife = 30 * 24 * time.Hour

// A Snapshot is a label of a version of a node and all below it. The text of the node is in the log.
type Snapshot struct {
	ID        string    `json:"id"`
	Label     string    `json:"label"`
	Seq       uint64    `json:"seq"` // the version of the vault
	UID       string    `json:"uid"` // of the node
	NodeID    string    `json:"nodeId"`
	Name      string    `json:"name"` // as both were at the version
	NodeCount int       `json:"nodes"`
	CreatedAt time.Time `json:"createdAt"`
	Owner     Owner     `json:"owner"`

	// Automatic says that a restore made it. It is kept for 30 days, and does not count against MaxSnapshots.
	Automatic bool `json:"automatic,omitempty"`
}

// A SnapshotItem is a snapshot, and the item that holds it.
type SnapshotItem struct {
	Snapshot
	item table.Item
}

// The ids of snapshots: a time, a version and a hash, so that they sort as they were made.
const (
	idPrefix = "s_"
	timeSize = 6 // milliseconds
	idSize   = 16
)

var idCode = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// SnapshotID is an id for a snapshot that is not made yet. It follows from the time and from what the snapshot is; of
// several that are alike in one millisecond, the attempts tell them apart.
func (s Store) SnapshotID(n Snapshot, attempt int) string {
	head := binary.BigEndian.AppendUint64(nil, uint64(max(0, s.Now().UnixMilli())))[8-timeSize:] //nolint:gosec // not negative
	head = binary.BigEndian.AppendUint32(head, uint32(n.Seq))                                    //nolint:gosec // it only sorts
	sum := sha256.Sum256([]byte(hashed(n.Owner.Principal, n.Owner.Agent, n.Label, n.UID, strconv.Itoa(attempt))))
	id := make([]byte, idSize)
	copy(id[copy(id, head):], sum[:])
	return idPrefix + idCode.EncodeToString(id)
}

// FreeSnapshotID is the SnapshotID of the first attempt that no snapshot has. It costs a Get.
func (s Store) FreeSnapshotID(ctx context.Context, n Snapshot) (string, error) {
	for attempt := 0; ; attempt++ {
		id := s.SnapshotID(n, attempt)
		if _, found, err := s.Snapshot(ctx, id); !found || err != nil {
			return id, err
		}
	}
}

// snapshotKey is the key of a snapshot; ok is false if the id is that of none. The newest comes first.
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

// Snapshot reads a snapshot, and reports whether there is one.
func (s Store) Snapshot(ctx context.Context, id string) (n SnapshotItem, found bool, err error) {
	key, ok := snapshotKey(id)
	if !ok {
		return n, false, nil
	}
	n.item, found, err = s.get(ctx, key, &n.Snapshot)
	return n, found, err
}

// EachSnapshot calls a function with the snapshots of the vault, newest first, behind one with an id, or all of them,
// until it returns false.
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

// AddSnapshot drafts a new snapshot. It costs a Get: one more than MaxSnapshots is QUOTA_EXCEEDED.
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

// RemoveSnapshot drafts that a snapshot goes. Its item expires, as that of a bookmark does.
func (s Store) RemoveSnapshot(d *Draft, n SnapshotItem) {
	d.Do(table.Replace(n.item, table.Item{Key: n.item.Key, Data: []byte("{}"), Expires: time.Unix(1, 0)}))
	if !n.Automatic {
		d.Do(table.Add(table.Item{Key: s.snapshotsKey()}, -1, MaxSnapshots))
	}
}

// KeepAutomatic writes an automatic snapshot, in place of one with its id.
func (s Store) KeepAutomatic(ctx context.Context, n Snapshot) error {
	n.Automatic = true
	it, err := s.snapshotItem(n)
	if err != nil {
		return err
	}
	it.Expires = s.Now().Add(safetyLife)
	return written(s.Table.Commit(ctx, table.Set(it)))
}

// DropAutomatic removes an automatic snapshot that nobody was told of. That it cannot be removed does no harm.
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

// snapshotsKey is the key of the item that counts the snapshots.
func (s Store) snapshotsKey() table.Key { return table.Key{Part: s.Part, Sort: keySnapshots} }
