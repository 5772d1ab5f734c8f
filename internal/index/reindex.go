package index

// A Reindex is the entry of the audit log for a file with an outside edit: all changes found in it,
// in one line (spec/raven-agent-improvements.md, "Handling External Edits"; reference/raven.md
// §6.9). Things are named by kind and id: `trait:due-1f2e3d4c`, `object:daily/2025-02-01#standup`,
// `file:schema.yaml`.
type Reindex struct {
	Op         string                    `json:"op"` // always reindex
	File       string                    `json:"file"`
	Cause      string                    `json:"cause,omitempty"` // such as CauseGit; empty if unknown
	Discovered []string                  `json:"discovered,omitempty"`
	Modified   []string                  `json:"modified,omitempty"`
	Removed    []string                  `json:"removed,omitempty"`
	Changes    map[string]map[string]any `json:"changes,omitempty"` // of Modified and of discovered traits
}

// CauseGit is the cause of changes by git: a checkout of another branch, a reset, a pull.
const CauseGit = "git checkout"

// Reindexed returns the entry that replaces the events of a file. For a discovered trait it has the
// same data as an entry of its own, because otherwise the id could not be found again from the
// audit log alone. The events must be those of Events for the file; their order is that of the
// lists.
func Reindexed(path string, events []Event) Reindex {
	r := Reindex{Op: "reindex", File: path, Changes: map[string]map[string]any{}}
	for _, e := range events {
		name := e.Entity + ":" + e.ID
		switch e.Op {
		case "create":
			r.Discovered = append(r.Discovered, name)
			if e.Entity == "trait" {
				r.Changes[name] = e.beginning()
			}
		case "delete":
			r.Removed = append(r.Removed, name)
		default:
			r.Modified = append(r.Modified, name)
			r.Changes[name] = e.Changes
		}
	}
	return r
}

// beginning returns the data of a new trait as changes from null.
func (e *Event) beginning() map[string]any {
	return map[string]any{
		"trait": OldNew{nil, e.Trait}, "parent": OldNew{nil, e.Parent}, "value": OldNew{nil, e.Value},
		"content": OldNew{nil, e.Content}, "line": OldNew{nil, e.Line},
	}
}

// Counts are the numbers of things in a Reindex.
type Counts struct{ Discovered, Modified, Removed int }

// Counts counts the things in the entry.
func (r Reindex) Counts() Counts {
	return Counts{len(r.Discovered), len(r.Modified), len(r.Removed)}
}

// Add adds other counts to c.
func (c *Counts) Add(more Counts) {
	c.Discovered += more.Discovered
	c.Modified += more.Modified
	c.Removed += more.Removed
}
