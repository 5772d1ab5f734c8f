package checkout

import "rookery/internal/index"

// The removals of files by others, which commits behind the cursor took in: by path, where the file
// went; empty: nowhere.
type removals map[string]string

// removals returns those of the commits that are told and not written yet. The caller holds mu.
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

// ends reports whether somebody removed a file, and its note is not at another path of the index either.
// The commit removed nothing from the folder then: a file that is there holds the only text of the note
// but for the history.
func (r removals) ends(path string, at *index.Index) bool {
	to, removed := r[path]
	for next := to; removed && next != ""; next = r[next] {
		to = next
	}
	_, lives := at.File(to)
	return removed && !lives
}
