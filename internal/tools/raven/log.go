package raven

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A logIn is the input of raven_log. Without Since, Until, ID and All it selects the last
// usualDays.
//
// ID, Op, Entity, Type, Actor and Path must all match. With AsOf the log ends at that version.
type logIn struct {
	tool.Vault
	// only from this time: yesterday, 24 hours ago, 2026-03-01; without since, until, id and all:
	// the last seven days
	Since string `json:"since,omitempty"`
	// only up to the end of this time
	Until string `json:"until,omitempty"`
	// only changes of this object, section, trait or configuration file
	ID string `json:"id,omitempty" complete:"id"`
	// what was done
	Op string `json:"op,omitempty" enum:"create,update,delete,reindex,erase"`
	// to what
	Entity string `json:"entity,omitempty" enum:"object,trait,file"`
	// of this type of object, or this trait
	Type string `json:"type,omitempty" complete:"type"`
	// by this principal or agent
	Actor string `json:"actor,omitempty"`
	// in this file or folder
	Path string `json:"path,omitempty" size:"id"`
	// from the first change on
	All bool `json:"all,omitempty"`
	tool.AsOf
	tool.Page
}

// A logOut is the output of raven_log, with the oldest entry first. There is no total, because
// counting would have to read the whole log.
type logOut struct {
	tool.Aside `json:"-"`
	Entries    []logEntry `json:"entries"`
}

// A logEntry is one entry of the log (raven.md §6.9).
//
// The members up to Removed describe the change, as a line of an audit log does; those from Tool on
// say who made it, and in which call and version.
type logEntry struct {
	TS time.Time `json:"ts" title:"when"`
	// create, update or delete; reindex for an outside edit; erase if a history was erased
	Op string `json:"op" title:"change"`
	// of a reindex
	File string `json:"file,omitempty"`
	// object, trait or file
	Entity string `json:"entity,omitempty"`
	ID     string `json:"id,omitempty"`
	// of an object
	Type string `json:"type,omitempty"`
	// of a trait
	Parent string `json:"parent,omitempty"`
	// its type
	Trait string `json:"trait,omitempty"`
	Value any    `json:"value,omitempty"`

	Content string `json:"content,omitempty"`
	Line    int    `json:"line,omitempty"`
	// by field: the old and new value; for a text, the numbers of lines added and removed
	Changes map[string]any `json:"changes,omitempty"`
	// for a deleted object
	Fields map[string]any `json:"fields,omitempty"`
	// new objects and traits that a reindex found: object:… or trait:…
	Discovered []string `json:"discovered,omitempty"`
	Modified   []string `json:"modified,omitempty"`
	Removed    []string `json:"removed,omitempty"`

	// the tool that made the change
	Tool      string `json:"tool,omitempty"`
	Principal string `json:"principal,omitempty" title:"who"`
	Agent     string `json:"agent,omitempty"`
	// the same for all changes of one call
	RequestID string `json:"request_id,omitempty"`
	// of the change, or of the import
	Version string `json:"version"`
	// the entry is from an imported audit log of another Raven
	Imported bool `json:"imported,omitempty"`
}

// log returns the tool raven_log, which lists changes of the vault.
func (f tools) log() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_log", Family: Family, Title: "List changes",
		Role: auth.Reader, Kind: tool.Read, List: "entries",
		Route:    tool.Route{Method: "GET", Path: "/log"},
		Commands: []tool.Command{{Words: "log"}},
		Columns:  []string{"ts", "op", "entity", "id", "file", "tool", "principal", "agent", "version"},
	}, showLog)
}

// timed implements timed: a time can be yesterday.
func (logIn) timed() {}

// maxLogged is the maximum number of entries that one page examines.
//
// A filter can match rarely; without the limit a page would have to read the whole log. A page that
// ends at the limit is marked as partial and has a token that continues after the examined entries.
const maxLogged = 20_000

// showLog runs raven_log.
//
// An empty first page that is complete warns with NO_RESULTS; one that is partial does not, because
// later pages may have entries.
func showLog(ctx context.Context, v view, in logIn) (logOut, error) {
	out := logOut{Entries: []logEntry{}}
	w, err := in.window(v.Clock, v.Index.Time())
	if err != nil {
		return out, err
	}
	r := logReader{view: v, window: w, filter: in.filter()}
	if r.at, err = readLogPosition(in.Page); err != nil {
		return out, err
	}
	if in.ID != "" {
		if err := r.about(ctx, in.ID); err != nil {
			return out, err
		}
	}
	if err := r.page(ctx, in.Limit, &out); err != nil {
		return out, err
	}
	if err := r.bounds(ctx, &out); err != nil {
		return out, err
	}
	if len(out.Entries) == 0 && in.PageToken == "" && out.Meta["partial"] == nil {
		out.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return out, nil
}

// A logWindow is the requested period. A zero time means no limit.
type logWindow struct {
	from  time.Time // the earliest ts
	to    time.Time // the latest ts
	until bool      // to is the end of a period, so ts must be before it
}

// usualDays is the length of the period if the call does not specify one.
const usualDays = 7 * 24 * time.Hour

// window returns the requested period. Without any limit in the call it is usualDays before `last`,
// the time of the newest commit.
//
// An end that names a period, such as a day, includes the whole period. The default counts from the
// newest commit and not from now, so that a vault that has been quiet still shows its last changes.
func (in logIn) window(c vault.Clock, last time.Time) (logWindow, error) {
	var w logWindow
	var problems []*fault.Fault
	if in.Since != "" {
		i, err := vault.ParseTime(in.Since, c)
		if err != nil {
			problems = append(problems, fault.Of(err).With("argument", "since"))
		}
		w.from = i.From
	}
	if in.Until != "" {
		i, err := vault.ParseTime(in.Until, c)
		if err != nil {
			problems = append(problems, fault.Of(err).With("argument", "until"))
		}
		w.to, w.until = i.To, !i.Instant()
	}
	if f := fault.Join(Family.Several, problems); f != nil {
		return w, f
	}
	if in.Since == "" && in.Until == "" && in.ID == "" && !in.All {
		w.from = last.Add(-usualDays)
	}
	return w, nil
}

// contains reports whether a time is in the period.
func (w logWindow) contains(t time.Time) bool { return !t.Before(w.from) && !w.isAfter(t) }

// isAfter reports whether a time is after the period.
func (w logWindow) isAfter(t time.Time) bool {
	return !w.to.IsZero() && (t.After(w.to) || w.until && t.Equal(w.to))
}

// bounds records the period in the meta. Where the call does not limit it, these are the times of
// the first and last changes.
func (r *logReader) bounds(ctx context.Context, out *logOut) error {
	from, to := r.window.from, r.window.to
	if r.window.until {
		// The end of the period is not part of it; the meta has the last second in it.
		to = to.Add(-time.Second)
	}
	if from.IsZero() {
		var err error
		if from, err = r.view.Vault.Began(ctx); err != nil {
			return err
		}
		if len(r.imported) > 0 && r.imported[0].TS.Before(from) {
			from = r.imported[0].TS
		}
	}
	if to.IsZero() {
		to = r.view.Index.Time()
	}
	out.Note("from", from.UTC().Format(time.RFC3339))
	out.Note("to", to.UTC().Format(time.RFC3339))
	return nil
}

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
