// Package session keeps what agents set for themselves beside the log of a vault: their views, their bookmarks, and the
// labels of snapshots (reference/tree.md C6). It is items of the vault's partition, in no version of the vault.
//
// What one call does is one commit of the table: the item, the idempotency key of the call, and its audit entry. Whoever
// was faster makes the call read again, so nothing is lost. Nothing here says who may call, nor whether the vault takes
// writes; see repo.Vault.ReadWritable.
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

// The keys of the items. All sort behind those of the log.
const (
	prefixViews     = "session/view/"
	prefixBookmarks = "session/bookmark/"
	prefixCounts    = "session/bookmarks/"
	prefixSnapshots = "session/snapshot/"
	keySnapshots    = "session/snapshots" // that counts them
	prefixKeys      = "session/key/"

	lastKey = "\x7f" // behind the rest of each key, which is base64
)

// keyLife is how long an idempotency key is bound to its request.
const keyLife = 24 * time.Hour

// A Store is what agents keep beside the log of one vault. It may be used by many at once.
type Store struct {
	Table table.Table // of the tenant
	Part  string      // the partition of the vault
	Now   func() time.Time
}

// Of is the store of a vault.
func Of(v *repo.Vault) Store {
	t, part := v.Beside()
	return Store{t, part, v.Now}
}

// An Owner is whose something is: an agent of a principal.
type Owner struct{ Principal, Agent string }

// A Call is what a store needs to know of a call that changes something.
type Call struct {
	Owner

	Key     string // its idempotency key; empty: none
	Request []byte // the digest of the request, which the key is bound to

	// Audit is the audit entry of the call, to be written with what it changes; see audit.EntryOp. Nil: there is none.
	Audit []table.Op
}

// A Draft is what the function of an Update changes.
type Draft struct{ ops []table.Op }

// Do adds operations.
func (d *Draft) Do(ops ...table.Op) { d.ops = append(d.ops, ops...) }

// maxAttempts is how often a call is begun whose items somebody else keeps changing.
const maxAttempts = 10

// Update runs a function that reads from the store and drafts what changes, and writes that, the key of the call and its
// audit entry in one commit. The function may run several times. Its answer is kept for whoever repeats the call with
// the same key, who gets it as replayed. A failure of the function is returned as it is, and nothing is written.
// UNAVAILABLE that says "outcome unknown" means that it may be written; to repeat the call with the same key is safe.
// INDEX_BUSY means that others were faster each time, and nothing was written.
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

// written is the fault of a commit whose outcome nobody knows.
func written(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, table.ErrLimit):
		return fault.New(fault.QuotaExceeded, "what the agent keeps in the vault is too large").
			Fix("expand and collapse with recursive rules, and keep fewer bookmarks")
	}
	return fault.New(fault.Unavailable, "outcome unknown: repeat with the same idempotency key").Because(err)
}

// A keyItem is what an idempotency key is bound to.
type keyItem struct {
	Request []byte          `json:"request"`
	Answer  json.RawMessage `json:"answer"`
}

// replay is the answer of an earlier call with the same key, nil if there was none.
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

// seal adds the key and the audit entry of a call.
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

// of is the part of a key that stands for an owner.
func (o Owner) key() string { return hashed(o.Principal, o.Agent) }

// hashed stands for some texts in a key, which has a limit and holds no names.
func hashed(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p) // a hash takes everything
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:24])
}

// item is an item that holds a value.
func (s Store) item(key string, v any) (table.Item, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return table.Item{}, fmt.Errorf("encode an item: %w", err)
	}
	return table.Item{Key: table.Key{Part: s.Part, Sort: key}, Data: data}, nil
}

// get reads the value of an item, and reports whether there is one.
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
		return fault.New(fault.StorageError, "what an agent keeps beside the vault is damaged").Because(err)
	}
	return nil
}

func unread(err error) error {
	return fault.New(fault.Unavailable, "what agents keep beside the vault cannot be read now").Because(err)
}

// viewLife is how long the view of a session is kept after its last change.
const viewLife = 30 * 24 * time.Hour

// A View is how a session sees a vault: what is expanded, and which properties are shown.
type View struct {
	Seq      uint64      `json:"seq"`                // the version of the vault at the last change; 0: nothing was changed yet
	Root     string      `json:"root,omitempty"`     // the uid of the node that the view was imported for; empty: none
	Expanded *bool       `json:"expanded,omitempty"` // what holds of nodes that no rule is about; nil: nobody said
	Rules    tree.Rules  `json:"rules,omitempty"`
	Filter   tree.Filter `json:"filter,omitzero"` // of all answers of the session
	Shown    tree.Filter `json:"shown,omitzero"`  // of its views alone
}

// A ViewItem is a view, and the item that holds it.
type ViewItem struct {
	View
	item table.Item // without data: there is none
	key  string
}

// View reads the view of a session; a session that changed nothing has an empty one. It costs one Get.
func (s Store) View(ctx context.Context, o Owner, session string) (ViewItem, error) {
	v := ViewItem{key: prefixViews + o.key() + "/" + hashed(session)}
	it, found, err := s.get(ctx, v.key, &v.View)
	if found {
		v.item = it
	}
	return v, err
}

// SetView drafts that a session has another view in place of the one that was read.
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
