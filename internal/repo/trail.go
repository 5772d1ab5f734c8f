package repo

import (
	"container/heap"
	"context"
	"fmt"

	"rookery/internal/index"
)

// Trail goes back through what several files were: from names each file and the last commit that
// changed it. visit is called for every change, the newest commit first, and says whether the file is
// to be followed further back. A file that a commit from outside moved is followed under its earlier
// path; visit is told the path by which it was asked for. Each commit is read once, however many of
// the files it changed, so a trail costs about as much as the commits on it.
func (v *Vault) Trail(
	ctx context.Context, from map[string]uint64, visit func(path string, r Revision) (further bool),
) error {
	var t trail
	for path, seq := range from {
		t.follow(tracked{path, path, seq})
	}
	for t.Len() > 0 {
		c, err := v.log.commit(ctx, t.next[0].seq)
		if err != nil {
			return v.orNone(err)
		}
		if err := t.visit(c, visit); err != nil {
			return err
		}
	}
	return nil
}

// A tracked is a file on a trail.
type tracked struct {
	asked, path string // as it was asked for, and as it was called then
	seq         uint64 // the commit to look at next
}

// A trail holds the files that are followed, the one with the newest commit first.
type trail struct{ next []tracked }

// follow goes on with a file, unless it began with the commit before.
func (t *trail) follow(f tracked) {
	if f.seq > 0 {
		heap.Push(t, f)
	}
}

// visit tells of what a commit made of all files that it is the next one of.
func (t *trail) visit(c *Commit, visit func(string, Revision) bool) error {
	for t.Len() > 0 && t.next[0].seq == c.Seq {
		f := heap.Pop(t).(tracked)
		n, ok := c.note(f.path)
		if !ok || n.Prev >= c.Seq {
			return damaged(c.Seq, fmt.Errorf("commit %d is none of the file's", c.Seq))
		}
		if !visit(f.asked, Revision{Commit: c, Note: n, Digest: index.DigestOf(n.Text)}) {
			continue
		}
		f.path, f.seq = c.earlier(n)
		t.follow(f)
	}
	return nil
}

func (t *trail) Len() int           { return len(t.next) }
func (t *trail) Less(i, j int) bool { return t.next[i].seq > t.next[j].seq }
func (t *trail) Swap(i, j int)      { t.next[i], t.next[j] = t.next[j], t.next[i] }
func (t *trail) Push(x any)         { t.next = append(t.next, x.(tracked)) }

func (t *trail) Pop() any {
	last := t.next[len(t.next)-1]
	t.next = t.next[:len(t.next)-1]
	return last
}
