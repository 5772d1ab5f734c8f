package raven

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A historyIn is the input of raven_history.
//
// The subject may no longer exist: its history is then found in the log, by a path or by an id that
// commits contain.
type historyIn struct {
	tool.Vault
	// people/freya, people/freya#notes, or the id of a trait; also of a deleted one
	ID string `json:"id" complete:"id" alias:"object_id,reference,trait_id"`
	// show the lines that each version changed
	Diff bool `json:"diff,omitempty"`
	tool.AsOf
	tool.Page
}

// A historyOut is the output of raven_history, with the newest revision first.
type historyOut struct {
	tool.Aside `json:"-"`
	ID         string     `json:"id"`
	Items      []revision `json:"items"`

	full bool // the next revision does not fit into the answer
}

// A revision is one commit in the history of a subject (raven.md §6.9).
//
// The details of the subject's own event are in told; changes of its parts in the same commit are
// in Inside. A revision that only moved the file has a change of the field id.
type revision struct {
	Version string    `json:"version"`
	TS      time.Time `json:"ts" title:"when"`
	// create, update, delete, or reindex for an outside edit
	Op string `json:"op" title:"change"`
	// the tool that made the change
	Tool      string `json:"tool"`
	Principal string `json:"principal" title:"who"`
	Agent     string `json:"agent"`
	Path      string `json:"path"`
	eventDetails
	// other changes in it, the first 20
	Inside      []partEvent `json:"inside,omitempty"`
	InsideTotal int         `json:"inside_total,omitempty"`
	// a unified diff
	Diff string `json:"diff,omitempty"`
	// the diff shows only the first lines
	DiffCut bool `json:"diff_cut,omitempty"`
}

// An eventDetails contains the details of an event.
type eventDetails struct {
	// of a reindex: discovered, modified or removed
	Found string `json:"found,omitempty"`
	// by field: the old and new value; for a text, the numbers of lines added and removed
	Changes map[string]any `json:"changes"`
	// for a deleted object
	Fields map[string]any `json:"fields,omitempty"`
	// of a trait
	Parent string `json:"parent,omitempty"`
	// of a trait
	Value any `json:"value,omitempty"`
	// of a trait
	Content string `json:"content,omitempty"`
	// of a trait
	Line int `json:"line,omitempty"`
}

// A partEvent is an event of a part of the subject.
type partEvent struct {
	Op     string `json:"op" title:"change"`
	Entity string `json:"entity"`
	ID     string `json:"id"`
	eventDetails
}

// maxInside is the maximum number of events of parts that a revision shows.
const maxInside = 20

// history returns the tool raven_history, which lists the commits that changed an object.
func (f tools) history() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_history", Family: Family, Title: "Show the history of an object",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/log/{id}"},
		Commands: []tool.Command{{Words: "history", Args: []string{"id"}}},
		Columns:  []string{"version", "ts", "op", "tool", "principal", "agent"}, Diff: "diff",
	}, showHistory)
}

// showHistory runs raven_history on one state of the vault.
//
// An id that never existed is NOT_FOUND. A subject that exists always has at least one revision,
// the one that created it.
func showHistory(ctx context.Context, v view, in historyIn) (historyOut, error) {
	out := historyOut{Items: []revision{}}
	s, err := v.subject(ctx, in.ID)
	if err != nil {
		return out, err
	}
	out.ID = s.id
	if s.path, s.from, err = s.pageFrom(ctx, v.Vault, in.Page); err != nil {
		return out, err
	}
	s.diff = in.Diff
	if err := s.page(ctx, v.Vault, in.Limit, &out); err != nil {
		return out, err
	}
	if len(out.Items) == 0 && in.PageToken == "" {
		return out, noHistory(v.Index, in.ID)
	}
	return out, nil
}

// noHistory returns NOT_FOUND for an id that never existed.
func noHistory(idx *index.Index, id string) error {
	return noObject(idx, "no note, section or trait has or had the id %q", id)
}

// A subject is the note, section, trait or configuration file that a history is about.
//
// path and from are a pair: the file has had other paths in earlier commits, and Revisions follows
// it back through them. The id of a section contains the path, so it changes with it; see calledIn.
type subject struct {
	id   string
	path string // of its file, in commit from
	from uint64 // the newest commit of the history
	slug string // of the section; empty: not a section
	// trait reports that the subject is a trait. Then slug is empty.
	trait bool
	diff  bool // each revision contains a diff
}

// subject returns the subject that an id names. It may have been deleted.
//
// It is tried as a configuration file, as a trait, as an object and, if all fail, as something
// deleted. An ambiguous name is an error, because its history would be that of an arbitrary note.
func (v view) subject(ctx context.Context, id string) (subject, error) {
	id = strings.TrimSpace(id)
	if f, ok := v.settings(id); ok {
		return subject{id: id, path: f.Path, from: f.Version}, nil
	}
	if t, _, err := findTrait(v.Index, id); err == nil {
		return subject{id: t.ID, path: t.Note.Path, from: t.Note.Version, trait: true}, nil
	}
	o, err := locate(v.Index, id, v.Clock)
	switch {
	case err == nil:
		s := subject{id: o.ID(), path: o.Note.Path, from: o.Note.Version}
		if o.Section != nil {
			s.slug = o.Section.Slug
		}
		return s, nil
	case !fault.Is(err, fault.NotFound):
		return subject{}, err
	}
	return v.deletedSubject(ctx, id)
}

// settings returns the configuration file with a name, or false.
func (v view) settings(name string) (*index.File, bool) {
	switch name {
	case vault.SchemaFile, vault.ConfigRaven, vault.ConfigRookery:
		return v.Index.File(name)
	}
	return nil, false
}

// deletedSubject returns a subject that no longer exists. It searches the log for it: for a note by
// its path, for a trait by the ids that commits contain.
//
// A section is first looked for in the existing note, whose history contains the time at which it
// had the section. The log is searched from the newest commit back; the first such search of a
// process reads the whole log, later ones only the parts that may contain the names.
func (v view) deletedSubject(ctx context.Context, id string) (subject, error) {
	note, slug, _ := strings.Cut(id, "#")
	stem := strings.TrimSuffix(note, ".md")
	file := stem + ".md"
	s := subject{id: stem, slug: slug}
	if slug != "" {
		s.id += "#" + slug
	}
	if f, ok := v.Index.Note(file); ok {
		s.path, s.from = f.Path, f.Version
		return s, nil
	}
	var err error
	s.path, s.from, err = v.Vault.Trace(ctx, v.Index.Version(), []string{file, note}, func(n *eventlog.Note) bool {
		return (n.Path == file || n.Path == note) && n.Path[0] != '.'
	})
	if err != nil || s.from > 0 {
		return s, err
	}
	s = subject{id: id, trait: true}
	s.path, s.from, err = v.Vault.Trace(ctx, v.Index.Version(), []string{id}, func(n *eventlog.Note) bool {
		return slices.Contains(n.Traits, id)
	})
	if err == nil && s.from == 0 {
		err = noHistory(v.Index, id)
	}
	return s, err
}

// pageFrom returns the newest commit of a page, and the path of the file in that commit.
//
// The key of a page token is SEQ:PATH. If the path is another than today's, the revisions are
// followed to that commit, which also proves that the token is from this list and not from that of
// another file.
func (s subject) pageFrom(
	ctx context.Context, v *repo.Vault, in tool.Page,
) (path string, seq uint64, err error) {
	key, err := in.After(Family)
	if err != nil || key == "" {
		return s.path, s.from, err
	}
	number, path, _ := strings.Cut(key, ":")
	seq, err = strconv.ParseUint(number, 10, 64)
	if err != nil || seq == 0 || seq > s.from {
		return "", 0, state.OtherList(Family)
	}
	if path == s.path {
		return path, seq, nil
	}
	for r, err := range v.Revisions(ctx, s.path, s.from) { // the file had another path then
		if err != nil {
			return "", 0, err
		}
		if r.Path == path && r.Seq == seq {
			return path, seq, nil
		}
	}
	return "", 0, state.OtherList(Family)
}

// page fills one page. It does not count all revisions, because it would have to read them.
//
// A revision is shown as the change from the one before it, so it is added only when the next older
// one is known. The loop therefore is one revision ahead of the page. A page ends at the limit, or
// earlier when the answer is full.
func (s subject) page(
	ctx context.Context, v *repo.Vault, limit int, out *historyOut,
) error {
	var newer *repo.Revision
	more := ""
	for r, err := range v.Revisions(ctx, s.path, s.from) {
		if err != nil {
			return err
		}
		if err := s.addFilledRevision(ctx, v, newer, &r, out); err != nil {
			return err
		}
		if out.full {
			more = fmt.Sprintf("%d:%s", newer.Seq, newer.Path)
			break
		}
		if len(out.Items) == limit {
			more = fmt.Sprintf("%d:%s", r.Seq, r.Path)
			break
		}
		newer = &r
	}
	if more == "" {
		if err := s.addFilledRevision(ctx, v, newer, nil, out); err != nil {
			return err
		}
		if out.full {
			more = fmt.Sprintf("%d:%s", newer.Seq, newer.Path)
		}
	}
	out.Note("count", len(out.Items))
	out.Note("has_more", more != "")
	if more != "" {
		out.Note("next_page_token", tool.Token(more))
	}
	return nil
}

// addFilledRevision is take after it has loaded the texts of both revisions, if they are needed.
//
// Revisions of large runs come without their texts. Texts are needed for sections, for diffs and
// for outside edits; other histories are answered from events and digests alone.
func (s subject) addFilledRevision(
	ctx context.Context, v *repo.Vault, r, before *repo.Revision, out *historyOut,
) error {
	if r != nil && (s.slug != "" || s.diff || bytes.Contains(r.Events, []byte(reindexOp))) {
		if err := errors.Join(v.Fill(ctx, r), v.Fill(ctx, before)); err != nil {
			return err
		}
	}
	return s.addRevision(r, before, out)
}

// addRevision adds a revision to the page, if it changed the subject. before is the previous
// revision; nil if r is the first. It does nothing if r is nil.
//
// A revision can touch the file and not the subject: it is left out if neither the texts nor an
// event show a change. Op comes from the texts where they decide, and from the events otherwise.
// out.full is set, and the revision not added, if the answer has no room for it; the first revision
// of a page is always added.
func (s subject) addRevision(r, before *repo.Revision, out *historyOut) error {
	if r == nil {
		return nil
	}
	item := revision{
		Version: eventlog.Version(r.Seq), TS: r.Time, Tool: r.Tool, Principal: r.Who.Principal,
		Agent: r.Who.Agent, Path: r.Path, eventDetails: eventDetails{Changes: map[string]any{}},
		Op: s.opOfTexts(r, before),
	}
	events, called := 0, s.calledIn(r.Path)
	outside := false
	places := parentFinder{now: r, was: before}
	for e, err := range eventsOf(r) {
		if err != nil {
			return err
		}
		// The first event shows whether the revision is an outside edit.
		if events++; events == 1 {
			outside = e.found != ""
		}
		if outside {
			places.setParent(&e)
		}
		item.add(called, e)
	}
	if outside {
		item.reindexed()
	}
	if item.Op != "" && (events > 0 || !same(r, before)) {
		if s.diff {
			item.showDiff(s.calledIn(r.Path), r, before)
		}
		if out.full = !out.Fits(item) && len(out.Items) > 0; !out.full {
			out.Items = append(out.Items, item)
		}
	}
	return nil
}

// same reports whether a revision left the text and the path of the file unchanged.
func same(r, before *repo.Revision) bool {
	return before != nil && r.Path == before.Path && !r.Deleted && !before.Deleted &&
		!r.Erased && !before.Erased && r.Digest == before.Digest
}

// calledIn returns the subject with the id that it had while its file had the given path.
func (s subject) calledIn(path string) subject {
	if s.trait {
		return s
	}
	if s.id = vault.Path(path).ID(); s.slug != "" {
		s.id += "#" + s.slug
	}
	return s
}

// opOfTexts returns the Op that follows from the texts: each change of a file, and the creation and
// deletion of a section. It returns "" if only the events show a change of the subject.
func (s subject) opOfTexts(r, before *repo.Revision) string {
	if s.trait {
		return ""
	}
	had, has := s.isIn(before), s.isIn(r)
	switch {
	case has && !had:
		return "create"
	case had && !has:
		return "delete"
	case s.slug == "":
		return "update"
	}
	return ""
}

// isIn reports whether a revision of the file contains the subject, which is not a trait.
func (s subject) isIn(r *repo.Revision) bool {
	if r == nil || r.Deleted {
		return false
	}
	if s.slug == "" {
		return true
	}
	_, ok := markdown.Parse(r.Text).Section(s.slug)
	return ok
}

// add adds an event, if it is about the subject or a part of it.
//
// An event about something else in the same file is ignored for a section or trait. For a note
// every other event in its file is about a part of it.
func (r *revision) add(s subject, e event) {
	switch {
	// The event is about the subject itself.
	case e.ID == s.id && (e.Entity == "trait") == s.trait:
		r.eventDetails = e.details()
		r.Op = cmp.Or(r.Op, e.Op)
	// The note of the section was moved.
	case s.slug != "" && e.Changes["id"] != nil && s.id == e.ID+"#"+s.slug:
		r.eventDetails = e.details()
		r.Changes = map[string]any{"id": e.Changes["id"]}
		r.Op = cmp.Or(r.Op, "update")
	// The event is about something outside the subject.
	case s.trait, s.slug != "" && e.Parent != s.id:
	default:
		r.Op = cmp.Or(r.Op, "update")
		if r.InsideTotal++; len(r.Inside) < maxInside {
			r.Inside = append(r.Inside, partEvent{e.Op, e.Entity, e.ID, e.details()})
		}
	}
}

// details returns the details of an event, shortened for an answer.
func (h *event) details() eventDetails {
	what := eventDetails{
		Found: h.found, Parent: h.Parent, Value: cutValue(h.Value, maxListed),
		Content: tool.Beginning(h.Content, maxListed), Line: h.Line,
	}
	what.Changes, _ = listedFields(h.Changes)
	what.Fields, _ = listedFields(h.Fields)
	if what.Changes == nil {
		what.Changes = map[string]any{}
	}
	return what
}
