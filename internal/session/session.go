// Package session stores the settings of agents beside the log of a vault: their views, their
// bookmarks, and the labels of snapshots (reference/tree.md C6). They are items in the partition of
// the vault, and not part of a version of the vault.
//
// A call makes one commit of the table: the item, the idempotency key of the call, and its audit
// entry. If another call changed the item first, the call reads it again, so no change is lost. The
// package checks neither the rights of the caller nor whether the vault accepts writes; see
// repo.Vault.ReadWritable.
package session

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tree"
)

// The keys of the items. All sort after those of the log.
const (
	prefixViews     = "session/view/"
	prefixBookmarks = "session/bookmark/"
	prefixCounts    = "session/bookmarks/"
	prefixSnapshots = "session/snapshot/"
	keySnapshots    = "session/snapshots" // the number of snapshots
	prefixKeys      = "session/key/"

	lastKey = "\x7f" // sorts after the rest of each key, which is base64
)

// keyLife is the time for which an idempotency key is bound to its request.
const keyLife = 24 * time.Hour

// A Store contains the settings of agents for one vault. It is safe for concurrent use.
type Store struct {
	Table table.Table // of the tenant
	Part  string      // the partition of the vault
	Now   func() time.Time
}

// Of returns the store of a vault.
func Of(v *repo.Vault) Store {
	t, part := v.Beside()
	return Store{t, part, v.Now}
}

// An Owner is the agent of a principal to which an item belongs.
type Owner struct{ Principal, Agent string }

// A Call describes a call that changes items.
type Call struct {
	Owner

	Key     string // its idempotency key; empty: none
	Request []byte // the digest of the request, to which the key is bound

	// Audit is the audit entry of the call, which is written in the same commit; see audit.EntryOp.
	// Nil: none.
	Audit []table.Op
}

// A Draft contains the operations of the function of an Update.
type Draft struct{ ops []table.Op }

// Do adds operations.
func (d *Draft) Do(ops ...table.Op) { d.ops = append(d.ops, ops...) }

// maxAttempts is the maximum number of attempts of a call whose items other calls change.
const maxAttempts = 10

// Update runs a function that reads from the store and drafts operations, and writes these, the key
// of the call and its audit entry in one commit. The function may run several times. Its answer is
// stored with the key: a repeated call with the same key returns it as replayed. An error of the
// function is returned unchanged, and nothing is written. UNAVAILABLE with "outcome unknown" means
// that the commit may be written; the call can be repeated with the same key. INDEX_BUSY means that
// other calls changed the items at each attempt, and nothing was written.
func (s Store) Update(
	ctx context.Context, c Call, fn func(context.Context, *Draft) (any, error),
) (replayed json.RawMessage, err error) {
	for range maxAttempts {
		if replayed, err := s.replay(ctx, c); replayed != nil || err != nil {
			return replayed, err
		}
		d := &Draft{}
		answer, err := fn(ctx, d)
		if err != nil {
			return nil, err
		}
		if err := s.seal(d, c, answer); err != nil {
			return nil, err
		}
		if len(d.ops) == 0 {
			return nil, nil
		}
		err = s.Table.Commit(ctx, d.ops...)
		if conflict := (*table.Conflict)(nil); !errors.As(err, &conflict) {
			return nil, written(err)
		}
	}
	return nil, fault.New(fault.IndexBusy, "other calls of the agent change the same; nothing was written").
		Fix("repeat the call")
}

// written returns the fault of a failed commit. Its outcome is unknown unless an item is too large.
func written(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, table.ErrLimit):
		return fault.New(fault.QuotaExceeded, "the settings of the agent in the vault are too large").
			Fix("expand and collapse with recursive rules, and keep fewer bookmarks")
	}
	return fault.New(fault.Unavailable, "outcome unknown: repeat with the same idempotency key").Because(err)
}

// A keyItem is the value of the item of an idempotency key.
type keyItem struct {
	Request []byte          `json:"request"`
	Answer  json.RawMessage `json:"answer"`
}

// replay returns the answer of an earlier call with the same key, or nil if there was none.
func (s Store) replay(ctx context.Context, c Call) (json.RawMessage, error) {
	if c.Key == "" {
		return nil, nil
	}
	var known keyItem
	_, found, err := s.get(ctx, s.keyOf(c), &known)
	switch {
	case err != nil || !found:
		return nil, err
	case string(known.Request) != string(c.Request):
		return nil, eventlog.KeyReused()
	}
	return known.Answer, nil
}

// seal adds the key and the audit entry of a call to its draft.
func (s Store) seal(d *Draft, c Call, answer any) error {
	if c.Key != "" {
		kept, err := json.Marshal(answer)
		if err != nil {
			return fmt.Errorf("encode an answer: %w", err)
		}
		it, err := s.item(s.keyOf(c), keyItem{c.Request, kept})
		if err != nil {
			return err
		}
		it.Expires = s.Now().Add(keyLife)
		d.Do(table.Create(it))
	}
	d.Do(c.Audit...)
	return nil
}

func (s Store) keyOf(c Call) string { return prefixKeys + hashed(c.Principal, c.Agent, c.Key) }

// key returns the part of a key that identifies an owner.
func (o Owner) key() string { return hashed(o.Principal, o.Agent) }

// hashed returns a hash of some texts for a key, because a key has a maximum length and must not
// contain names.
func hashed(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p) // a hash never fails
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:24])
}

// item returns an item with a value, encoded as JSON.
func (s Store) item(key string, v any) (table.Item, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return table.Item{}, fmt.Errorf("encode an item: %w", err)
	}
	return table.Item{Key: table.Key{Part: s.Part, Sort: key}, Data: data}, nil
}

// get reads an item and decodes its value into v. found is false if the item does not exist.
func (s Store) get(ctx context.Context, key string, v any) (it table.Item, found bool, err error) {
	it, err = s.Table.Get(ctx, table.Key{Part: s.Part, Sort: key})
	switch {
	case errors.Is(err, table.ErrNotFound):
		return it, false, nil
	case err != nil:
		return it, false, unread(err)
	}
	return it, true, decode(it, v)
}

func decode(it table.Item, v any) error {
	if err := json.Unmarshal(it.Data, v); err != nil {
		return fault.New(fault.StorageError, "the stored settings of an agent are damaged").Because(err)
	}
	return nil
}

func unread(err error) error {
	return fault.New(fault.Unavailable, "the settings of agents cannot be read now").Because(err)
}

// viewLife is the time for which the view of a session is kept after its last change.
const viewLife = 30 * 24 * time.Hour

// A View contains the settings of a session for a vault: the expanded nodes and the visible
// properties.
type View struct {
	Seq      uint64      `json:"seq"`                // the version of the last change; 0: no change
	Root     string      `json:"root,omitempty"`     // the uid of the node of the imported view; empty: none
	Expanded *bool       `json:"expanded,omitempty"` // for nodes without a rule; nil: not set
	Rules    tree.Rules  `json:"rules,omitempty"`
	Filter   tree.Filter `json:"filter,omitzero"` // of all answers of the session
	Shown    tree.Filter `json:"shown,omitzero"`  // only of its views
}

// A ViewItem is a view with the item that contains it.
type ViewItem struct {
	View
	item table.Item // without data if it does not exist
	key  string
}

// View reads the view of a session, which is empty if the session changed nothing. It costs one
// Get.
func (s Store) View(ctx context.Context, o Owner, session string) (ViewItem, error) {
	v := ViewItem{key: prefixViews + o.key() + "/" + hashed(session)}
	it, found, err := s.get(ctx, v.key, &v.View)
	if found {
		v.item = it
	}
	return v, err
}

// SetView drafts a new view of a session, in place of old, which was read.
func (s Store) SetView(d *Draft, old ViewItem, v View) error {
	it, err := s.item(old.key, v)
	if err != nil {
		return err
	}
	it.Expires = s.Now().Add(viewLife)
	if old.item.Data == nil {
		d.Do(table.Create(it))
	} else {
		d.Do(table.Replace(old.item, it))
	}
	return nil
}
