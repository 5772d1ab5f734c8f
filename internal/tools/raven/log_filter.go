package raven

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A logFilter says which entries of the log a call asks for. Empty members ask for all.
type logFilter struct {
	ids                    []string // what is asked about, under each of its names
	op, entity, typ, actor string
	path                   string // of a file, or with a slash at its end of a folder; "/" is the vault
}

// filter reads the filters of the call but for its times and id.
func (in logIn) filter() logFilter {
	return logFilter{op: in.Op, entity: in.Entity, typ: in.Type, actor: in.Actor, path: in.Path}
}

// A logged is an entry of the log and the file that it is about.
type logged struct {
	logEntry
	path   string // empty: not known
	number int    // in its version, by id

	events *noteEvents // that it is one of, if logEntry has only its head so far; nil: logEntry is whole
	at     int         // its position among them
}

// mayHold reports whether an entry of which only the head is known may pass.
func (f logFilter) mayHold(e *logged) bool {
	return (f.op == "" || e.Op == f.op) &&
		(f.actor == "" || e.Principal == f.actor || e.Agent == f.actor) &&
		f.inPath(e.path) && (e.Op == reindexOp || f.names(e))
}

// holds reports whether an entry passes.
func (f logFilter) holds(e *logged) bool { return f.mayHold(e) && f.names(e) && f.ofType(e) }

// inPath reports whether a file is the one that is asked for, or in that folder.
func (f logFilter) inPath(path string) bool {
	want := strings.Trim(strings.TrimSpace(f.path), "/")
	if want == "" {
		return true
	}
	rest, found := strings.CutPrefix(path, want)
	return found && (rest == "" || rest == ".md" || rest[0] == '/')
}

// names reports whether an entry is about what is asked for. A reindex is about each thing that it names.
func (f logFilter) names(e *logged) bool {
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

func (f logFilter) hasID(id string) bool { return len(f.ids) == 0 || slices.Contains(f.ids, id) }

// ofType reports whether an entry is about something of the type that is asked for. Of what a reindex names,
// traits that were discovered and objects whose type changed say it.
func (f logFilter) ofType(e *logged) bool {
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

// pathOf is the file that an entry without one is about, as far as its ids tell.
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
