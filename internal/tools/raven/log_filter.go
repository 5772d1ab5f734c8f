package raven

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A logFilter selects entries of the log. An empty field selects all.
//
// The conditions are tested in two steps: mayHold on the head of an entry, which rejects most of
// them, and holds after the entry was decoded.
type logFilter struct {
	ids                    []string // all ids that the subject has had
	op, entity, typ, actor string
	path                   string // of a file, or of a folder, which may end in a slash; "/": all
}

// filter returns the filters of the call, except for times and id.
func (in logIn) filter() logFilter {
	return logFilter{op: in.Op, entity: in.Entity, typ: in.Type, actor: in.Actor, path: in.Path}
}

// A logRecord is an entry of the log with the path of its file.
type logRecord struct {
	logEntry
	path   string // empty: unknown
	number int    // its number among the entries of its version, from 1, by id

	events *noteEvents // contains the rest of the entry; nil: logEntry is complete
	at     int         // its position among them
}

// mayMatch reports whether an entry can pass, given only its head.
//
// It never rejects an entry that holds would accept. A reindex entry lists its objects and traits
// only in the complete form, so its head passes whatever entity and id are selected.
func (f logFilter) mayMatch(e *logRecord) bool {
	return (f.op == "" || e.Op == f.op) &&
		(f.actor == "" || e.Principal == f.actor || e.Agent == f.actor) &&
		f.inPath(e.path) && (e.Op == reindexOp || f.names(e))
}

// matches reports whether a complete entry passes.
func (f logFilter) matches(e *logRecord) bool { return f.mayMatch(e) && f.names(e) && f.ofType(e) }

// inPath reports whether a file is the selected one, or is in the selected folder. A path selects
// the file with or without the extension, and all files of the folder with that name. An unknown
// path matches only an empty filter.
func (f logFilter) inPath(path string) bool {
	want := strings.Trim(strings.TrimSpace(f.path), "/")
	if want == "" {
		return true
	}
	rest, found := strings.CutPrefix(path, want)
	return found && (rest == "" || rest == ".md" || rest[0] == '/')
}

// names reports whether an entry has the selected entity and id. A reindex entry has those of every
// object and trait that it lists.
func (f logFilter) names(e *logRecord) bool {
	if e.Op != reindexOp {
		return (f.entity == "" || e.Entity == f.entity) && f.hasID(e.ID)
	}
	if f.entity == "" && len(f.ids) == 0 {
		return true
	}
	return slices.ContainsFunc(slices.Concat(e.Discovered, e.Modified, e.Removed), func(name string) bool {
		kind, id, _ := strings.Cut(name, ":")
		return (f.entity == "" || kind == f.entity) && f.hasID(id)
	})
}

// hasID reports whether an id is selected.
func (f logFilter) hasID(id string) bool { return len(f.ids) == 0 || slices.Contains(f.ids, id) }

// ofType reports whether an entry is about an object or trait of the selected type. A reindex entry
// contains the types only of discovered traits, and of objects whose type changed.
func (f logFilter) ofType(e *logRecord) bool {
	if f.typ == "" || e.Type == f.typ || e.Trait == f.typ {
		return true
	}
	if e.Op != reindexOp {
		return false
	}
	for _, changes := range e.Changes {
		fields, _ := changes.(map[string]any)
		for _, name := range []string{"trait", "type"} {
			change, _ := fields[name].(map[string]any)
			if change["new"] == f.typ || change["old"] == f.typ {
				return true
			}
		}
	}
	return false
}

// pathOf returns the path of the file that an imported entry is about, derived from its ids; "" if
// they do not determine it.
//
// Entries of audit logs contain ids and, except for a reindex, no paths.
func pathOf(e *logEntry) string {
	id := e.ID
	switch {
	case e.File != "":
		return e.File
	case e.Entity == aTrait:
		id = e.Parent
	case e.Entity != anObject:
		return e.ID
	}
	note, _, _ := strings.Cut(id, "#")
	if note == "" {
		return ""
	}
	return strings.TrimSuffix(vault.CleanPath(note), ".md") + ".md"
}
