package session

import (
	"context"
	"time"

	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tree"
)

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
