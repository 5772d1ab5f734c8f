package checkout

import (
	"context"
	"maps"
	"slices"
	"time"

	"rookery/internal/repo"
)

// A noticing holds what came to be known of changes from outside since the last sweep. Checkout.mu
// guards it.
type noticing struct {
	paths map[string]bool
	last  time.Time // when the last of them was met
	news  bool      // the control item does not say so yet
}

// recall takes up what an earlier process had noticed.
func recall(old *repo.Noticed) noticing {
	n := noticing{paths: map[string]bool{}}
	if old == nil {
		return n
	}
	n.last = old.At
	for _, path := range old.Paths {
		n.paths[path] = true
	}
	return n
}

// told is what the control item is to say; nil if there is nothing to tell.
func (n *noticing) told() *repo.Noticed {
	if len(n.paths) == 0 {
		return nil
	}
	return &repo.Noticed{
		At: n.last, Paths: head(slices.Sorted(maps.Keys(n.paths))), Count: len(n.paths),
	}
}

func sameNoticed(a, b *repo.Noticed) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Count == b.Count && slices.Equal(a.Paths, b.Paths)
}

// notice notes that a write met a file that somebody else changed. One that the last sweep found is
// known already. The caller holds mu.
func (c *Checkout) notice(path string) {
	if !c.edited[path] && !c.noticed.paths[path] {
		c.noticed.paths[path] = true
		c.noticed.last, c.noticed.news = c.now().UTC(), true
	}
	c.left(path)
}

// agrees notes that a file is as the log says. The caller holds mu.
func (c *Checkout) agrees(path string) {
	delete(c.edited, path)
	if c.noticed.paths[path] {
		delete(c.noticed.paths, path)
		c.noticed.news = true
	}
}

// tell writes what was noticed to the control item, where every answer can read it. What cannot be
// written now is told by the next save. The caller holds mu.
func (c *Checkout) tell(ctx context.Context) {
	if !c.noticed.news {
		return
	}
	told := c.noticed.told()
	err := c.vault.Change(ctx, func(control *repo.Control) bool {
		same := sameNoticed(control.Noticed, told)
		control.Noticed = told
		return !same
	})
	if err != nil {
		c.complain(ctx, err)
		return
	}
	c.noticed.news = false
}

// swept is what is still to be told when a sweep has looked at every file: what was noticed while it
// ran and is not among what it found, and what lies where the log has no file, while it is there.
// before is what was noticed before it. The caller holds mu.
func (c *Checkout) swept(ctx context.Context, before, found []string) (noticing, error) {
	rest := c.noticed
	rest.paths = maps.Clone(c.noticed.paths)
	for _, path := range found {
		delete(rest.paths, path)
	}
	for _, path := range before {
		if _, ok := c.vault.Known().File(path); !ok {
			gone, err := c.free(ctx, path)
			if err != nil {
				return rest, err
			}
			if !gone {
				continue
			}
		}
		delete(rest.paths, path)
	}
	rest.news = false
	return rest, nil
}
