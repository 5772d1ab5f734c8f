package raven

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/relink"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// The operations of raven_section.
const (
	sectionCreate = "create"
	sectionMove   = "move"
	sectionRename = "rename"
	sectionDelete = "delete"
)

// A sectionIn is the input of raven_section. Op determines which arguments are required; see
// complete.
//
// ID and File exclude each other: create names the note that gets the section, the other operations
// name the section. At most one of After, Before and Under is given; without one, the section goes
// to the end of the note.
type sectionIn struct {
	tool.Vault
	// what to do
	Op string `json:"op" enum:"create,move,rename,delete"`
	// move, rename and delete: the section, people/freya#notes
	ID string `json:"id,omitempty" complete:"id" size:"id"`
	// create: the note
	File string `json:"file,omitempty" complete:"id" size:"id"`
	// create and rename: the heading as plain text
	Title string `json:"title,omitempty" size:"id" alias:"new_heading_text"`
	// create: 1 to 6; default: the level that fits the place
	Level int `json:"level,omitempty" minimum:"0" maximum:"6"`
	// after this section of the same note and its subsections
	After string `json:"after,omitempty" complete:"id" size:"id"`
	// before this section
	Before string `json:"before,omitempty" complete:"id" size:"id"`
	// as the last section under this one
	Under string `json:"under,omitempty" complete:"id" size:"id"`
	tool.Brief
	tool.Mutation
}

// A sectionOut is the output of raven_section.
type sectionOut struct {
	objectOut
	// the slug of the section
	Section string `json:"section,omitempty"`
	// rename: the former id
	OldID string `json:"old_id,omitempty"`
	Level int    `json:"level,omitempty"`
	// after, before, under or end
	Placement string `json:"placement,omitempty"`
	// the id of the section that the placement names
	Anchor string `json:"anchor,omitempty"`
	// rename: the number of rewritten references
	UpdatedRefsTotal int `json:"updated_refs_total,omitempty"`
	// delete: the beginning of the removed text
	RemovedContent string `json:"removed_content,omitempty"`
	// delete: the ids that were removed
	DeletedSections []string `json:"deleted_sections,omitempty"`
}

// section returns the tool raven_section, which creates, moves, renames and deletes sections.
func (f tools) section() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_section", Family: Family, Title: "Create, move, rename or delete a section",
		Role: auth.Editor, Kind: tool.Destroy,
		Route: tool.Route{Method: "POST", Path: "/objects/section"},
		Commands: []tool.Command{
			{Words: "section create", Args: []string{"file", "title"}, Set: map[string]string{"op": sectionCreate}},
			{Words: "section move", Args: []string{"id"}, Set: map[string]string{"op": sectionMove}},
			{Words: "section rename", Args: []string{"id", "title"}, Set: map[string]string{"op": sectionRename}},
			{Words: "section delete", Args: []string{"id"}, Set: map[string]string{"op": sectionDelete}},
		},
	}, func(ctx context.Context, c auth.Caller, in sectionIn) (sectionOut, error) {
		if err := in.validate(); err != nil {
			return sectionOut{}, err
		}
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, in.Slim, noteTarget(in.ID + in.File)}, in.run)
	})
}

// validate returns a fault if an argument of the operation is missing, or if arguments exclude each
// other.
func (in sectionIn) validate() error {
	missing := func(name string) error {
		return fault.New(fault.MissingRequired, "%s of a section needs argument %q", in.Op, name).
			With("argument", name)
	}
	places := 0
	for _, place := range []string{in.After, in.Before, in.Under} {
		if place != "" {
			places++
		}
	}
	switch titled := in.Op == sectionCreate || in.Op == sectionRename; {
	case in.Op == sectionCreate && in.File == "":
		return missing("file")
	case in.Op != sectionCreate && in.ID == "":
		return missing("id")
	case titled && strings.TrimSpace(in.Title) == "":
		return missing("title")
	case places > 1:
		return fault.New(fault.InvalidValue, "after, before and under exclude each other").
			With("argument", "after")
	case in.File != "" && in.ID != "":
		return fault.New(fault.InvalidValue, "create needs file, the other operations need id").
			With("argument", "file")
	}
	return nil
}

// run drafts the operation.
//
// Every operation moves or removes a section together with its subsections. References to a section
// are by its slug, so create, move and delete leave them alone and rename rewrites them.
func (in sectionIn) run(ctx context.Context, tx *repo.Tx, out *sectionOut) error {
	if in.Op == sectionDelete {
		return in.remove(ctx, tx, out)
	}
	idx := tx.Index()
	// complete has checked that one of the two is empty.
	o, err := locate(idx, in.ID+in.File, state.Clock(idx, tx.Now()))
	if err != nil {
		return err
	}
	if in.Op == sectionCreate {
		o = o.Note.Object(-1)
	} else if o.Section == nil {
		return fault.New(fault.InvalidValue, "%s is a note, not a section", o.ID()).With("argument", "id").
			Try("raven_move", fault.Args{"source": o.ID()})
	}
	text, _, err := tx.Text(ctx, vault.Path(o.Note.Path))
	if err != nil {
		return err
	}
	to, err := in.place(idx, o.Note)
	if err != nil {
		return err
	}
	switch in.Op {
	case sectionCreate:
		return in.create(ctx, tx, o, text, to, out)
	case sectionMove:
		return in.move(ctx, tx, o, text, to, out)
	}
	return in.rename(ctx, tx, o, text, out)
}

// place returns the place that the arguments after, before and under select.
func (in sectionIn) place(idx *index.Index, n *index.Note) (to markdown.SectionPlace, err error) {
	for _, p := range []struct {
		name, given string
		slug        *string
	}{{"after", in.After, &to.After}, {"before", in.Before, &to.Before}, {"under", in.Under, &to.Under}} {
		if p.given == "" {
			continue
		}
		if *p.slug, err = slugIn(idx, n, p.given); err != nil {
			return to, fault.Of(err).With("argument", p.name)
		}
	}
	return to, nil
}

// slugIn returns the slug of a section of the note n, which name gives as an id, a slug or a
// heading. The title of the note is a section too in this respect: its slug is returned.
func slugIn(idx *index.Index, n *index.Note, name string) (string, error) {
	id, fragment, inside := strings.Cut(name, "#")
	if !inside {
		id, fragment = "", name
	}
	to := idx.From(n, "#"+fragment)
	switch {
	case id != "" && strings.TrimSuffix(id, ".md") != n.ID:
		return "", fault.New(fault.InvalidValue, "the section must be in the same note, %s", n.ID)
	case to.FragmentMissing || to.Object.Note == nil:
		return "", notFound("no section %q", n.ID+"#"+fragment).Try("raven_read", fault.Args{"path": n.ID})
	case to.Object.Section == nil:
		return n.TitleSlug, nil
	}
	return to.Object.Section.Slug, nil
}

// create drafts a new section.
func (in sectionIn) create(
	ctx context.Context, tx *repo.Tx, o index.Object, text []byte, to markdown.SectionPlace, out *sectionOut,
) error {
	text, line, err := markdown.InsertSection(text, strings.TrimSpace(in.Title), in.Level, to)
	if err != nil {
		return withFileAndLine(err, o.Note.Path)
	}
	if err := tx.Put(ctx, vault.Path(o.Note.Path), text); err != nil {
		return err
	}
	return in.done(tx, o, line, to, out, "created")
}

// move drafts the move of a section within its note.
func (in sectionIn) move(
	ctx context.Context, tx *repo.Tx, o index.Object, text []byte, to markdown.SectionPlace, out *sectionOut,
) error {
	text, line, err := markdown.MoveSection(text, o.Section.Slug, to)
	if err != nil {
		return withFileAndLine(err, o.Note.Path)
	}
	if err := tx.Put(ctx, vault.Path(o.Note.Path), text); err != nil {
		return err
	}
	return in.done(tx, o, line, to, out, "updated")
}

// rename drafts a new heading, and rewrites the references to the section.
//
// Other sections keep their slugs, and all nodes of the note their uids. If the section keeps its
// id, because it declares one, only references by its heading are rewritten.
func (in sectionIn) rename(
	ctx context.Context, tx *repo.Tx, o index.Object, text []byte, out *sectionOut,
) error {
	was := tx.Index()
	text, h, err := markdown.RenameSection(text, o.Section.Slug, strings.TrimSpace(in.Title))
	if err != nil {
		return withFileAndLine(err, o.Note.Path)
	}
	if err := tx.PutNodes(ctx, vault.Path(o.Note.Path), text, nil, o.Note.NodeIDs()); err != nil {
		return err
	}
	if h.Text != o.Section.Title {
		u := refUpdates{rewrite: true}
		ids := map[string]string{o.ID(): o.Note.ID + "#" + h.Slug}
		if err := u.relink(ctx, tx, relink.New(was, tx.Index(), ids)); err != nil {
			return err
		}
		out.UpdatedRefsTotal, out.SideEffects = u.total, u.effects()
		if h.Slug != o.Section.Slug {
			out.OldID = o.ID()
			out.SideEffects = append([]string{o.ID() + " goes by " + ids[o.ID()]}, out.SideEffects...)
		}
	}
	return in.done(tx, o, o.Section.Line(), markdown.SectionPlace{}, out, "updated")
}

// done fills the output for the section whose heading is in a line of the note.
//
// The section is found by its line, because its slug may be new.
func (in sectionIn) done(
	tx *repo.Tx, o index.Object, line int, to markdown.SectionPlace, out *sectionOut, action string,
) error {
	n := noteAt(tx.Index(), vault.Path(o.Note.Path))
	for i := range n.Sections {
		if n.Sections[i].Line() == line {
			o = n.Object(i)
		}
	}
	shown := objectAt(tx.Index(), o)
	if !tx.Touched() {
		action = "unchanged"
	}
	out.Action, out.ID, out.Type, out.File, out.Line = action, o.ID(), o.Type(), n.Path, line
	out.Object = &shown
	if o.Section != nil {
		out.Section, out.Level = o.Section.Slug, o.Section.Level()
	}
	if in.Op != sectionRename {
		out.placed(n, to)
	}
	return nil
}

// placed sets the place of the section in the output.
func (m *sectionOut) placed(n *index.Note, to markdown.SectionPlace) {
	switch {
	case to.After != "":
		m.Placement, m.Anchor = "after", n.ID+"#"+to.After
	case to.Before != "":
		m.Placement, m.Anchor = "before", n.ID+"#"+to.Before
	case to.Under != "":
		m.Placement, m.Anchor = "under", n.ID+"#"+to.Under
	default:
		m.Placement = "end"
	}
}

// maxRemoved is the maximum number of characters of a removed section in an answer.
const maxRemoved = 4000

// remove drafts the deletion of a section, as raven_delete does.
//
// The section and its subsections go to the trash. The answer also has the beginning of the text,
// so that a caller sees what was removed without reading the trash.
func (in sectionIn) remove(ctx context.Context, tx *repo.Tx, out *sectionOut) error {
	idx := tx.Index()
	o, err := locate(idx, in.ID, state.Clock(idx, tx.Now()))
	if err != nil {
		return err
	}
	if o.Section == nil {
		return fault.New(fault.InvalidValue, "%s is a note, not a section", o.ID()).With("argument", "id").
			Try("raven_delete", fault.Args{"id": o.ID()})
	}
	text, _, err := tx.Text(ctx, vault.Path(o.Note.Path))
	if err != nil {
		return err
	}
	_, gone, err := markdown.RemoveSection(text, o.Section.Slug)
	if err != nil {
		return withFileAndLine(err, o.Note.Path)
	}
	out.Section, out.Level = o.Section.Slug, o.Section.Level()
	out.RemovedContent = mutation.FirstRunes(string(gone), maxRemoved)
	for i := range o.Note.Sections {
		if s := o.Note.Object(i); mutation.Inside(s, o) {
			out.DeletedSections = append(out.DeletedSections, s.ID())
		}
	}
	out.DeletedSections = firstOf(out.DeletedSections, tool.MaxPage)
	return deleteIn{ID: in.ID, Mutation: in.Mutation}.run(ctx, tx, &out.objectOut)
}
