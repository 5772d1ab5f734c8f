package checkout

import "github.com/rookeryhq/rookery/internal/index"

// removals contains the outside removals that commits after the cursor ingested: the new path of
// each file by its old path; empty if it was not moved.
type removals map[string]string

// removals returns the removals of commits that were applied and are not in the files yet. A path
// that a later commit uses again is not among them. The caller holds mu.
func (c *Checkout) removals() removals {
	all := removals{}
	for _, e := range c.inbox.entries {
		if e.commit.Seq <= c.written {
			continue
		}
		for _, n := range e.commit.Notes {
			delete(all, n.Path)
			if n.Deleted && e.commit.Tool == reindex {
				all[n.Path] = ""
			}
		}
		for _, n := range e.commit.Notes {
			if _, gone := all[n.From]; gone && !n.Deleted {
				all[n.From] = n.Path
			}
		}
	}
	return all
}

// isFinal reports whether a file was removed outside, and its note is not at another path of the
// index either. Then the commit removed nothing from the folder, so a file that exists has the only
// text of the note, except for the history.
func (r removals) isFinal(path string, at *index.Index) bool {
	to, removed := r[path]
	for next := to; removed && next != ""; next = r[next] {
		to = next
	}
	_, lives := at.File(to)
	return removed && !lives
}
