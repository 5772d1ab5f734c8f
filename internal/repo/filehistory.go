package repo

import (
	"container/heap"
	"context"
	"fmt"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
)

// Trail follows several files back through their history. from maps the path of each file to the
// last commit that changed it. visit is called for every change, newest commit first, with the path
// in from, and returns whether the file is to be followed further. A file that was moved is
// followed to its earlier path. Each commit is read once, however many of the files it changed.
// Unlike Revisions, the Revision contains the whole commit and the text. It returns INDEX_ERROR if
// a commit did not change the file for which it was read, and NOT_FOUND if the vault does not
// exist.
func (v *Vault) Trail(
	ctx context.Context, from map[string]uint64, visit func(path string, r Revision) (further bool),
) error {
	var t fileHistory
	for path, seq := range from {
		t.follow(tracked{path, path, seq})
	}
	for t.Len() > 0 {
		c, err := v.log.Commit(ctx, t.next[0].seq)
		if err != nil {
			return v.orNone(err)
		}
		if err := t.visit(c, visit); err != nil {
			return err
		}
	}
	return nil
}

// A tracked is a file that Trail follows.
type tracked struct {
	asked, path string // its path in from, and its path at seq
	seq         uint64 // the commit to read next
}

// A fileHistory is a priority queue of the files to follow, newest commit first. It implements
// heap.Interface. Files whose next commit is the same are adjacent in that order, so the commit is
// read once for all of them.
type fileHistory struct{ next []tracked }

// follow adds a file, unless its first commit was visited.
func (t *fileHistory) follow(f tracked) {
	if f.seq > 0 {
		heap.Push(t, f)
	}
}

// visit calls visit for all files whose next commit is c.
func (t *fileHistory) visit(c *eventlog.Commit, visit func(string, Revision) bool) error {
	for t.Len() > 0 && t.next[0].seq == c.Seq {
		f := heap.Pop(t).(tracked)
		n, ok := c.NoteAt(f.path)
		if !ok || n.Prev >= c.Seq {
			return eventlog.Damaged(c.Seq, fmt.Errorf("commit %d does not concern the file", c.Seq))
		}
		if !visit(f.asked, Revision{Commit: c, Note: n, Digest: index.DigestOf(n.Text)}) {
			continue
		}
		f.path, f.seq = c.Earlier(n)
		t.follow(f)
	}
	return nil
}

func (t *fileHistory) Len() int           { return len(t.next) }
func (t *fileHistory) Less(i, j int) bool { return t.next[i].seq > t.next[j].seq }
func (t *fileHistory) Swap(i, j int)      { t.next[i], t.next[j] = t.next[j], t.next[i] }
func (t *fileHistory) Push(x any)         { t.next = append(t.next, x.(tracked)) }

// Pop implements heap.Interface.
func (t *fileHistory) Pop() any {
	last := t.next[len(t.next)-1]
	t.next = t.next[:len(t.next)-1]
	return last
}
