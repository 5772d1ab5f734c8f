package raven

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/relink"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A moveIn is the input of raven_move. Exactly one of Source, Query and Filter is given.
//
// A bulk call moves all results into one folder and keeps their names; the destination then must
// end in a slash.
type moveIn struct {
	tool.Vault
	// people/freya
	Source string `json:"source,omitempty" complete:"id" size:"id" alias:"id,reference"`
	// the new id, or a folder with a slash at its end, which keeps the name
	Destination string `json:"destination" size:"id"`
	// rewrite the references that would no longer resolve to it; default true
	UpdateRefs *bool `json:"update_refs,omitempty"`
	bulkIn
	tool.Brief
	tool.Mutation
}

// A moveOut is the output of raven_move for one note.
//
// The lists are limited to the first tool.MaxPage elements; UpdatedRefsTotal is not.
type moveOut struct {
	objectOut
	// its former id
	Source string `json:"source,omitempty"`
	// the id that it has
	Destination string `json:"destination,omitempty"`

	// ids of the objects whose references were rewritten, the first 200
	UpdatedRefs []string `json:"updated_refs,omitzero"`
	// the number of rewritten references
	UpdatedRefsTotal int `json:"updated_refs_total"`
	// the fields and traits among them, the first 200
	UpdatedRefFields []refField `json:"updated_ref_fields,omitzero"`
}

// A refField is a field or trait whose references were rewritten.
type refField struct {
	SourceID string `json:"source_id"`
	File     string `json:"file"`
	Field    string `json:"field"`
}

// move returns the tool raven_move, which changes the ids of notes and updates references.
func (f tools) move() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_move", Family: Family, Title: "Move or rename a note",
		Role: auth.Editor, Kind: tool.Destroy,
		Route:    tool.Route{Method: "POST", Path: "/objects/move"},
		Commands: []tool.Command{{Words: "move", Args: []string{"source?", "destination"}}},
	}, func(ctx context.Context, c auth.Caller, in moveIn) (bulkMoveOut, error) {
		if err := in.validate(); err != nil {
			return bulkMoveOut{}, err
		}
		plan, err := planOf(in.PlanToken, "raven_move", in.Source, in.Query, in.Filter, in.Destination, in.rewrites())
		if err != nil {
			return bulkMoveOut{}, err
		}
		w := request{c, in.Vault.Vault, &in.Mutation, in.Slim, optionalTarget(in.Source)}
		return draft(ctx, f, w, func(ctx context.Context, tx *repo.Tx, out *bulkMoveOut) error {
			if out.expected = plan; in.isBulk() {
				return in.runAll(ctx, tx, out)
			}
			return in.run(ctx, tx, &out.moveOut)
		})
	})
}

// rewrites reports whether the call rewrites references.
func (in moveIn) rewrites() bool { return in.UpdateRefs == nil || *in.UpdateRefs }

// validate returns an error if the arguments are invalid. It does not read the vault.
//
// The fault of a missing id names the argument source, which id is an alias of.
func (in moveIn) validate() error {
	if err := in.checkOne(in.Source, in.DryRun); err != nil {
		if f := fault.Of(err); f.Details["argument"] == "id" {
			return fault.New(f.Code, "give a source, a query or a filter").With("argument", "source")
		}
		return err
	}
	if in.isBulk() && !strings.HasSuffix(in.Destination, "/") {
		return fault.New(fault.InvalidValue,
			"the results of a query are moved into a folder: destination must end with a slash").
			With("argument", "destination")
	}
	return nil
}

// run drafts the move.
//
// A move to the path that the note has already is unchanged. The new path is checked first, then
// all texts are staged: the note under its new path, and the notes whose references must be
// rewritten.
func (in moveIn) run(ctx context.Context, tx *repo.Tx, out *moveOut) error {
	idx := tx.Index()
	o, err := locate(idx, in.Source, state.Clock(idx, tx.Now()))
	if err != nil {
		return noPath(err, in.Source, "source")
	}
	if o.Section != nil {
		return fault.New(fault.InvalidValue, "%s is a section; raven_move moves notes", o.ID()).
			With("argument", "source").Try("raven_section", fault.Args{"op": "move", "id": o.ID()})
	}
	to, err := in.to(tx, o.Note)
	if err != nil {
		return err
	}
	out.Source, out.Destination = o.Note.ID, to.ID()
	was := priorOf(idx, o)
	if string(to) == o.Note.Path {
		out.fill(refUpdates{})
		return out.updated(tx, was)
	}
	u := refUpdates{rewrite: in.rewrites()}
	if err := u.move(ctx, tx, map[string]string{o.Note.ID: to.ID()}); err != nil {
		return err
	}
	out.fill(u)
	out.SideEffects = slices.Concat(moveEffects(tx.Index(), o, to), settingsEffects(tx.Index(), o.Note.ID), u.effects())
	was.Note = noteAt(tx.Index(), to)
	return out.updated(tx, was)
}

// noteAt returns the note at a path that the draft has just written.
func noteAt(idx *index.Index, path vault.Path) *index.Note {
	n, _ := idx.Note(string(path))
	return n
}

// to returns the new path of a note. A path of another note is DUPLICATE_ID.
//
// A path that differs from that of another note only by letter case counts as taken; one that
// differs so from the note's own does not, so a move can change the case of a name. A daily note
// must remain at the path of a day, because its path is the only source of its date.
func (in moveIn) to(tx *repo.Tx, n *index.Note) (vault.Path, error) {
	id := strings.TrimSpace(in.Destination)
	if strings.HasSuffix(id, "/") {
		id += path.Base(n.ID)
	}
	to, err := vault.NewPath(strings.TrimSuffix(id, ".md"))
	if err != nil {
		return "", fault.Of(err).With("argument", "destination")
	}
	if other, taken := tx.Folded(to); taken && other != n.Path {
		return "", fault.New(fault.DuplicateID, "there is a note %q already", vault.Path(other).ID()).
			With("id", vault.Path(other).ID()).With("argument", "destination").
			Fix("choose another name").Try("raven_read", fault.Args{"path": vault.Path(other).ID()})
	}
	config := tx.Index().Config()
	if _, was := config.IsDaily(vault.Path(n.Path)); n.Type == vault.Daily && was {
		if _, day := config.IsDaily(to); !day {
			return "", fault.New(fault.InvalidValue, "%s is a daily note; at a path that is not the path of a day "+
				"it would lose its type", n.ID).With("argument", "destination").
				Try("raven_reclassify", fault.Args{"id": n.ID, "type": vault.Page})
		}
	}
	return to, nil
}

// moveEffects returns sentences about the side effects of a move, such as a folder of another type.
func moveEffects(after *index.Index, o index.Object, to vault.Path) []string {
	effects := []string{o.Note.ID + " goes by " + to.ID()}
	if t := typeOfFolder(after.Schema(), to.ID()); t != nil && t.Name != o.Note.Type {
		effects = append(effects, fmt.Sprintf("%s is the folder of the type %s, but the note stays a %s; "+
			"raven_reclassify changes its type", t.DefaultPath, t.Name, o.Note.Type))
	}
	return effects
}

// typeOfFolder returns the type whose folder contains an id, the innermost one if there are
// several, or nil. The comparison is with the default_path of the types, and ignores the type of
// the notes in the folder.
func typeOfFolder(s *vault.Schema, id string) *vault.Type {
	var best *vault.Type
	for _, t := range s.Types {
		if t.DefaultPath != "" && strings.HasPrefix(id, t.DefaultPath) &&
			(best == nil || len(t.DefaultPath) > len(best.DefaultPath)) {
			best = t
		}
	}
	return best
}

// fill adds the rewritten references to the output.
func (m *moveOut) fill(u refUpdates) {
	m.UpdatedRefs, m.UpdatedRefsTotal = []string{}, u.total
	m.UpdatedRefFields = []refField{}
	for _, s := range u.sources {
		m.UpdatedRefs = append(m.UpdatedRefs, s.ID)
		for _, field := range s.Fields {
			m.UpdatedRefFields = append(m.UpdatedRefFields, refField{s.ID, s.File, field})
		}
	}
	m.UpdatedRefs = firstOf(m.UpdatedRefs, tool.MaxPage)
	m.UpdatedRefFields = firstOf(m.UpdatedRefFields, tool.MaxPage)
}

// A refUpdates rewrites references in a draft and counts them.
//
// The zero value counts references and rewrites none. It is filled by one call of move or relink.
type refUpdates struct {
	rewrite bool // false: only count the references that break
	// total is the number of rewritten references, and sources the objects that contain them.
	total   int
	sources []relink.Source
	// unwritable is the number of references that cannot be written with the new id.
	unwritable int
	broken     int // references that are not rewritten and lose their target; only without rewrite
	// gained is the number of references that had no target and have one now.
	gained int
}

// move drafts the moves of notes, given as a map from old to new ids, and rewrites the references
// to them and in them so that the targets stay the same.
//
// The targets are compared between the index before the moves and the one after them. All notes are
// moved before any reference is rewritten, so that references between moved notes are right.
func (u *refUpdates) move(ctx context.Context, tx *repo.Tx, ids map[string]string) error {
	was := tx.Index()
	for _, from := range slices.Sorted(maps.Keys(ids)) {
		text, _, err := tx.Text(ctx, vault.Path(from+".md"))
		if err != nil {
			return err
		}
		if err := tx.Move(ctx, vault.Path(from+".md"), vault.Path(ids[from]+".md"), text); err != nil {
			return err
		}
	}
	return u.relink(ctx, tx, relink.New(was, tx.Index(), ids))
}

// relinkedAtOnce is the number of notes whose texts relink reads before it drafts the first of them.
// It limits the memory that the texts take.
const relinkedAtOnce = 256

// relink drafts the new references. Notes are rewritten in parallel, while earlier ones are drafted
// and the texts of later ones are read.
//
// Only notes that the Relinker lists are read. A note that the draft has removed meanwhile is
// skipped.
func (u *refUpdates) relink(ctx context.Context, tx *repo.Tx, r *relink.Relinker) error {
	var unread error
	for n, res := range r.RewriteAll(textsOf(ctx, tx, r.Sources(), &unread), relinkedAtOnce) {
		if err := u.take(ctx, tx, vault.Path(n.ID+".md"), res); err != nil {
			return err
		}
	}
	return unread
}

// textsOf yields the texts of those notes that exist in the draft. It stops at a text that cannot be
// read, and sets failed to the error.
func textsOf(ctx context.Context, tx *repo.Tx, all []string, failed *error) iter.Seq[relink.NoteText] {
	return func(yield func(relink.NoteText) bool) {
		for ids := range slices.Chunk(all, relinkedAtOnce) {
			paths := make([]string, len(ids))
			for i, id := range ids {
				paths[i] = id + ".md"
			}
			tx.Prefetch(ctx, paths)
			for i, id := range ids {
				text, exists, err := tx.Text(ctx, vault.Path(paths[i]))
				if err != nil {
					*failed = err
					return
				}
				if exists && !yield(relink.NoteText{ID: id, Text: text}) {
					return
				}
			}
		}
	}
}

// take counts the rewritten references of one note and, unless references stay as they are, drafts
// its new text.
func (u *refUpdates) take(ctx context.Context, tx *repo.Tx, at vault.Path, res relink.Result) error {
	u.gained += res.Gained
	if !u.rewrite {
		u.broken += res.Count + len(res.Unwritable)
		return nil
	}
	u.unwritable += len(res.Unwritable)
	if res.Count == 0 {
		return nil
	}
	u.total += res.Count
	u.sources = append(u.sources, res.Sources...)
	return tx.PutParsed(ctx, at, res.Text, res.Parsed, res.Nodes)
}

// effects returns sentences about the references for the side effects of the answer.
func (u *refUpdates) effects() []string {
	var effects []string
	add := func(n int, one, many string) {
		if n > 0 {
			effects = append(effects, mutation.Count(n, "reference")+" "+mutation.Plural(n, one, many))
		}
	}
	add(u.total, "is rewritten", "are rewritten")
	add(u.broken, "is not changed and no longer resolves to it", "are not changed and no longer resolve to it")
	add(u.unwritable, "cannot be written with the new id, and is not changed",
		"cannot be written with the new id, and are not changed")
	add(u.gained, "that did not resolve resolves now", "that did not resolve resolve now")
	return effects
}

// A bulkMoveOut is the output of raven_move for one note or for all results of a query.
//
// For a single note BulkAnswer is nil. For a query, moveOut has only the destination, the rewritten
// references and the side effects.
type bulkMoveOut struct {
	moveOut
	bulkOut
}

// finish implements answer.
func (m *bulkMoveOut) finish(ctx context.Context, tx *repo.Tx) error {
	return m.bulkOut.finish(ctx, tx, &m.moveOut, &m.DryRun, &m.WouldModify)
}

// runAll drafts the move of all notes that a query finds into a folder. It moves them together, so
// that a note with references to several of them is rewritten once.
//
// If one of the results cannot be moved, nothing is; the fault has the problem of each.
func (in moveIn) runAll(ctx context.Context, tx *repo.Tx, out *bulkMoveOut) error {
	items, err := in.results(ctx, tx, query.Objects)
	if err != nil {
		return err
	}
	answer := &BulkAnswer{Items: make([]bulkItem, len(items)), Total: len(items)}
	ids, taken := map[string]string{}, map[string]bool{}
	var problems []*fault.Fault
	for i, item := range items {
		one, err := in.place(tx, item.ID(), ids, taken)
		if err != nil {
			problems = append(problems, fault.Of(err).With("id", item.ID()))
		}
		answer.Items[i] = one
		answer.count(one.Status)
	}
	if len(problems) > 0 {
		return bulkFault(problems)
	}
	u := refUpdates{rewrite: in.rewrites()}
	if len(ids) > 0 {
		if err := u.move(ctx, tx, ids); err != nil {
			return err
		}
	}
	answer.Items = firstOf(answer.Items, maxBulkItems)
	out.Action, out.BulkAnswer, out.Destination = "updated", answer, in.Destination
	out.fill(u)
	out.SideEffects = slices.Concat([]string{},
		settingsEffects(tx.Index(), slices.Sorted(maps.Keys(ids))...), u.effects())
	return nil
}

// place determines the new id of one result of a query, and adds it to ids and taken. It skips
// results that are not whole notes.
//
// ids maps the old ids of the notes that are moved to their new ones, and taken contains the new
// ids after case folding. Two results with the same name cannot both be moved into one folder.
func (in moveIn) place(
	tx *repo.Tx, id string, ids map[string]string, taken map[string]bool,
) (bulkItem, error) {
	o, ok := tx.Index().Find(id)
	if !ok {
		return bulkItem{ID: id, Status: "skipped", Reason: "it does not exist"}, nil
	}
	one := bulkItem{ID: o.ID(), File: o.Note.Path, Status: "updated"}
	if o.Section != nil {
		one.Status, one.Reason = "skipped", "it is part of a note; only whole notes are moved"
		return one, nil
	}
	to, err := in.to(tx, o.Note)
	switch {
	case err != nil:
		return one, err
	case string(to) == o.Note.Path:
		one.Status = "unchanged"
		return one, nil
	case taken[vault.Fold(to.ID())]:
		return one, fault.New(fault.DuplicateID, "another note is moved to %q", to.ID()).
			With("argument", "destination").
			Fix("move them into several folders")
	}
	taken[vault.Fold(to.ID())], ids[o.Note.ID] = true, to.ID()
	one.File = string(to)
	return one, nil
}

// settingsEffects returns sentences about the settings that contain one of the former ids. A move
// does not change settings.
//
// Settings are written by people, with comments and patterns that a rewrite could break, so the
// answer only names them. At most maxMatches are named.
func settingsEffects(idx *index.Index, ids ...string) []string {
	var effects []string
	add := func(file, what, id string) {
		effects = append(effects, fmt.Sprintf("%s of %s still names %s", what, file, id))
	}
	config := idx.Config()
	for _, id := range ids {
		if isFile(config.Capture.Destination, id) {
			add(vault.ConfigRaven, "capture.destination", id)
		}
		for _, q := range config.Queries {
			if namesID(q.Query, id) {
				add(vault.ConfigRaven, "the saved query "+q.Name, id)
			}
		}
		for _, t := range idx.Schema().Templates {
			if isFile(t.File, id) {
				add(vault.SchemaFile, "the template "+t.ID, id)
			}
		}
	}
	if n := len(effects) - maxMatches; n > 0 {
		effects = append(effects[:maxMatches:maxMatches], mutation.Count(n, "more setting")+" "+
			mutation.Plural(n, "names", "name")+" a note that moved")
	}
	return effects
}

// isFile reports whether a setting is the path of a note, with or without `.md`.
func isFile(setting, id string) bool {
	return strings.TrimSuffix(strings.TrimSpace(setting), ".md") == id
}

// namesID reports whether the text of a query contains an id that is not a part of a longer one.
//
// It compares text only: an id in a string of the query counts too. A false positive costs a
// sentence in the answer.
func namesID(text, id string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], id)
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(id)
		if !isOfID(text[:begin], len(text[:begin])-1) && !isOfID(text, end) {
			return true
		}
		at = end
	}
}

// isOfID reports whether the byte at an offset can be part of a longer id. `#` cannot, because it
// ends the id of a note.
func isOfID(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return c >= 0x80 || slices.Contains([]byte("/-_"), c) ||
		c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
