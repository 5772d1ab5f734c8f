package raven

import (
	"context"
	_ "embed"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

//go:embed log.md
var logDoc string

type logIn struct {
	tool.Vault
	Since  string `json:"since,omitempty" jsonschema:"only from this time: yesterday, 24 hours ago, 2026-03-01; without since, until, id and all: the last seven days"`
	Until  string `json:"until,omitempty" jsonschema:"only up to the end of this time"`
	ID     string `json:"id,omitempty" complete:"id" jsonschema:"only changes of this object, section, trait or configuration file"`
	Op     string `json:"op,omitempty" enum:"create,update,delete,reindex,erase" jsonschema:"what was done"`
	Entity string `json:"entity,omitempty" enum:"object,trait,file" jsonschema:"to what"`
	Type   string `json:"type,omitempty" complete:"type" jsonschema:"of this type of object, or this trait"`
	Actor  string `json:"actor,omitempty" jsonschema:"by this principal or agent"`
	Path   string `json:"path,omitempty" size:"id" jsonschema:"in this file or folder"`
	All    bool   `json:"all,omitempty" jsonschema:"from the first change on"`
	tool.AsOf
	tool.Page
}

type logOut struct {
	tool.Aside `json:"-"`
	Entries    []logEntry `json:"entries"`
}

// A logEntry is one entry of the log (raven.md §6.9).
type logEntry struct {
	TS     time.Time `json:"ts" title:"when"`
	Op     string    `json:"op" title:"change" jsonschema:"create, update or delete; reindex for an outside edit; erase if a history was erased"`
	File   string    `json:"file,omitempty" jsonschema:"of a reindex"`
	Entity string    `json:"entity,omitempty" jsonschema:"object, trait or file"`
	ID     string    `json:"id,omitempty"`
	Type   string    `json:"type,omitempty" jsonschema:"of an object"`
	Parent string    `json:"parent,omitempty" jsonschema:"of a trait"`
	Trait  string    `json:"trait,omitempty" jsonschema:"its type"`
	Value  any       `json:"value,omitempty"`

	Content    string         `json:"content,omitempty"`
	Line       int            `json:"line,omitempty"`
	Changes    map[string]any `json:"changes,omitempty" jsonschema:"by field: the old and new value; for a text, the numbers of lines added and removed"`
	Fields     map[string]any `json:"fields,omitempty" jsonschema:"for a deleted object"`
	Discovered []string       `json:"discovered,omitempty" jsonschema:"new objects and traits that a reindex found: object:… or trait:…"`
	Modified   []string       `json:"modified,omitempty"`
	Removed    []string       `json:"removed,omitempty"`

	Tool      string `json:"tool,omitempty" jsonschema:"the tool that made the change"`
	Principal string `json:"principal,omitempty" title:"who"`
	Agent     string `json:"agent,omitempty"`
	RequestID string `json:"request_id,omitempty" jsonschema:"the same for all changes of one call"`
	Version   string `json:"version" jsonschema:"of the change, or of the import"`
	Imported  bool   `json:"imported,omitempty" jsonschema:"the entry is from an imported audit log of another Raven"`
}

func (f tools) log() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_log", Family: Family, Title: "List changes", Doc: logDoc,
		Role: auth.Reader, Kind: tool.Read, List: "entries",
		Route:    tool.Route{Method: "GET", Path: "/log"},
		Commands: []tool.Command{{Words: "log"}},
		Columns:  []string{"ts", "op", "entity", "id", "file", "tool", "principal", "agent", "version"},
	}, f.showLog)
}

// maxLogged is how many entries a page goes through.
const maxLogged = 20_000

func (f tools) showLog(ctx context.Context, c auth.Caller, in logIn) (logOut, error) {
	out := logOut{Entries: []logEntry{}}
	v, err := f.viewAt(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return out, err
	}
	w, err := in.window(v.Clock, v.Index.Time())
	if err != nil {
		return out, err
	}
	r := logReader{view: v, window: w, filter: in.filter()}
	if r.at, err = readLogSpot(in.Page); err != nil {
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
	zoned(&out.Aside, v.Index)
	out.Note("version", v.Version())
	return out, nil
}

// A logWindow is the time of which entries are asked for; a zero end is open.
type logWindow struct {
	from  time.Time // ts must not be before
	to    time.Time // nor behind
	until bool      // to is none that the caller named otherwise: ts must be before it
}

// usualDays is how far back the log goes where the call does not say.
const usualDays = 7 * 24 * time.Hour

// window reads the times of the call. Where it says none, the window ends with the last change.
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

// holds reports whether a time is in the window.
func (w logWindow) holds(t time.Time) bool { return !t.Before(w.from) && !w.over(t) }

// over reports whether a time is behind the window.
func (w logWindow) over(t time.Time) bool {
	return !w.to.IsZero() && (t.After(w.to) || w.until && t.Equal(w.to))
}

// bounds notes from when to when the log was asked for or, where the call does not say, goes.
func (r *logReader) bounds(ctx context.Context, out *logOut) error {
	from, to := r.window.from, r.window.to
	if r.window.until {
		to = to.Add(-time.Second)
	}
	if from.IsZero() {
		for c, err := range r.view.Vault.Commits(ctx, 1) {
			if err != nil {
				return err
			}
			from = c.Time
			break
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
