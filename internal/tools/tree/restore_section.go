package tree

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/relink"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A sectionRestorer restores one section: its text, and its place below its former parent.
//
// The section is identified by its uid, so it is found wherever it is now: at its place, elsewhere
// in the note, in another note, or as a note of its own. What it contains now and the snapshot does
// not have goes to the trash. It is used for one run of the draft.
type sectionRestorer struct {
	*restorer
	*edit
	out *snapshotRestoreOut

	now    tree.Node // the section, or the note that it became; its Note is nil if it is gone
	parent tree.Node // the note or section below which it goes
	at     int       // position among the other sections below the parent
	stays  bool      // it is at that place already
	home   bool      // the parent is its former one, so that it keeps its level
}

// restoreSection drafts the section of the snapshot as it was.
//
// The steps are: find the place, take the section out of its present place, put the former text at
// the new one, and rewrite the references from elsewhere.
func (r *restorer) restoreSection(ctx context.Context, e *edit, dry bool, out *snapshotRestoreOut) error {
	e.moves = true
	s := sectionRestorer{restorer: r, edit: e, out: out}
	s.now, _ = e.tree.Find(r.oldTree.UID(r.top))
	if err := s.findPlace(); err != nil {
		return err
	}
	if err := s.write(ctx); err != nil {
		return err
	}
	_, err := e.finish(ctx, s.now, dry, &out.changeOut)
	return err
}

// exists reports whether the section, or the note that it has become, exists in the state before
// the call.
func (s *sectionRestorer) exists() bool { return s.now.Note != nil }

// findPlace finds the node below which the section goes: its former parent or, if that does not
// exist, the nearest existing ancestor. Nodes match by uid, or else by address. It returns
// NOT_FOUND if the note does not exist either.
//
// A parent that is inside the section now is not used, because the section would go below itself.
func (s *sectionRestorer) findPlace() error {
	branch := s.top // the section, or its ancestor that does not exist
	for above, ok := s.oldTree.Parent(s.top); ok && above.Note != nil; above, ok = s.oldTree.Parent(above) {
		for _, id := range []string{s.oldTree.UID(above), above.ID()} {
			n, found := s.tree.Find(id)
			if found && n.Note != nil && s.isElsewhere(n) {
				s.parent, s.home = n, branch == s.top
				s.findPosition(s.oldTree.OwnChildren(above), branch)
				return nil
			}
		}
		branch = above
	}
	return fault.New(fault.NotFound, "the note that had the section is gone").With("argument", "snapshotId").
		With("reason", "note_gone").
		Fix("restore the note from the trash, or a snapshot of the note or of its folder; then repeat the call")
}

// findPosition finds the position of the section below its parent. It stays where it is if its
// former predecessors are before it and its former successors are after it. Otherwise it goes after
// the nearest predecessor, or before the nearest successor. siblings are the sections below the
// parent at the snapshot; branch is the one that was, or contained, the section.
//
// Ranks are the distances of siblings from the section in the order of the snapshot: negative
// before it, positive after it, 0 for siblings that came later.
func (s *sectionRestorer) findPosition(siblings []tree.Node, branch tree.Node) {
	rank, mine := map[string]int{}, slices.Index(siblings, branch)
	for i, n := range siblings {
		rank[s.oldTree.UID(n)] = i - mine
	}
	children := s.tree.OwnChildren(s.parent)
	here := slices.Index(children, s.now)
	var ranks []int // of the other children; 0: not in the snapshot
	for _, n := range children {
		if n != s.now {
			ranks = append(ranks, rank[s.tree.UID(n)])
		}
	}
	if s.at, s.stays = here, here >= 0 && isBetween(ranks, here); !s.stays {
		s.at = placeAmong(ranks)
	}
}

// isBetween reports whether no rank before a position is positive, and none from there on is
// negative.
func isBetween(ranks []int, at int) bool {
	return !slices.ContainsFunc(ranks[:at], func(rank int) bool { return rank > 0 }) &&
		!slices.ContainsFunc(ranks[at:], func(rank int) bool { return rank < 0 })
}

// placeAmong returns the position after the highest negative rank, or else that of the lowest
// positive rank, or else the end.
func placeAmong(ranks []int) int {
	before, after := -1, -1
	for i, rank := range ranks {
		switch {
		case rank < 0 && (before < 0 || rank > ranks[before]):
			before = i
		case rank > 0 && (after < 0 || rank < ranks[after]):
			after = i
		}
	}
	switch {
	case before >= 0:
		return before + 1
	case after >= 0:
		return after
	}
	return len(ranks)
}

// write drafts the texts of the notes that contain and receive the section.
//
// There are four cases: the section stays and its text is swapped in place; it moves among the
// children of the same parent; it moves from elsewhere in the note; or it comes from another note,
// or does not exist.
func (s *sectionRestorer) write(ctx context.Context) error {
	text, err := s.noteText(ctx, s.parent)
	if err != nil {
		return err
	}
	if s.stays {
		r, block, err := markdown.SwapSection(text, s.now.Section, s.text, s.top.Section)
		if err != nil {
			return unplaceable(err, s.now)
		}
		if err := s.trashLater(ctx, text); err != nil {
			return err
		}
		return s.put(ctx, marksOf(s.parent.Note), text, r, block)
	}
	block, err := markdown.SubtreeAt(s.text, s.top.Section)
	if err != nil {
		return unplaceable(err, s.top)
	}
	m, position := marksOf(s.parent.Note), s.parent.Section
	switch {
	// The section does not exist, so nothing has to be taken out.
	case !s.exists():
	// The section is in another note, or is one.
	case s.now.Note != s.parent.Note:
		err = s.removeCurrent(ctx)
	// The section has the right parent and the wrong position.
	case slices.Contains(s.tree.OwnChildren(s.parent), s.now):
		return s.moveAmong(ctx, text, block)
	// The section is elsewhere in the note.
	default:
		m, text, position, err = s.cut(ctx, text)
	}
	if err != nil {
		return err
	}
	return s.place(ctx, m, text, position, block)
}

// moveAmong drafts the move of the section to another place below its parent, with its text at the
// snapshot.
func (s *sectionRestorer) moveAmong(ctx context.Context, text []byte, block markdown.Subtree) error {
	if err := s.trashLater(ctx, text); err != nil {
		return err
	}
	d := markdown.Parse(text)
	order := d.Siblings(s.parent.Section)
	here := slices.Index(s.tree.OwnChildren(s.parent), s.now)
	order = slices.Insert(slices.Delete(order, here, here+1), s.at, markdown.Sibling{New: &block, Keep: s.home})
	r, err := d.Reorder(s.parent.Section, order)
	if err != nil {
		return unplaceable(err, s.now)
	}
	return s.put(ctx, marksOf(s.parent.Note), text, r, block)
}

// place drafts the section in a text, below the section at a position. m are the identities in that
// text.
//
// The position of the parent is that in text, which can differ from the one in the tree after a
// cut.
func (s *sectionRestorer) place(
	ctx context.Context, m marks, text []byte, position int, block markdown.Subtree,
) error {
	d := markdown.Parse(text)
	order := d.Siblings(position)
	order = slices.Insert(order, min(s.at, len(order)), markdown.Sibling{New: &block, Keep: s.home})
	r, err := d.Reorder(position, order)
	if err != nil {
		return unplaceable(err, s.top)
	}
	return s.put(ctx, m, text, r, block)
}

// cut returns the note without the section, and the position of the parent in it. m are the
// identities in the rest. It drafts sections that the snapshot does not have into the trash, but
// not the note: place adds the section first.
func (s *sectionRestorer) cut(ctx context.Context, text []byte) (m marks, rest []byte, position int, err error) {
	if err := s.trashLater(ctx, text); err != nil {
		return m, nil, 0, err
	}
	cut, gone, err := markdown.CutSection(text, s.now.Section)
	if err != nil {
		return m, nil, 0, unplaceable(err, s.now)
	}
	if position = s.parent.Section; position > s.now.Section {
		position -= gone.Sections()
	}
	if cut.Titled {
		position = max(0, position-1)
		s.recordTitle(s.now, cut)
	}
	return marksOf(s.now.Note).moved(text, cut, nil), cut.Text, position, nil
}

// removeCurrent drafts the removal of the section from the note that contains it now. If it has
// become a note, that note goes to the trash.
//
// It stages the other note; the note that receives the section is staged by place.
func (s *sectionRestorer) removeCurrent(ctx context.Context) error {
	text, err := s.noteText(ctx, s.now)
	if err != nil {
		return err
	}
	if s.now.Section == 0 {
		return s.trashNote(ctx, text)
	}
	if err := s.trashLater(ctx, text); err != nil {
		return err
	}
	cut, gone, err := markdown.CutSection(text, s.now.Section)
	if err != nil {
		return unplaceable(err, s.now)
	}
	s.recordTitle(s.now, cut)
	s.moveBlocks(s.now.Note, linesOf(text).span(gone.At), s.parent.Note.ID)
	return s.putReordered(ctx, s.now.Note, marksOf(s.now.Note), text, cut)
}

// trashNote drafts the move of the note that the section has become into the trash.
func (s *sectionRestorer) trashNote(ctx context.Context, text []byte) error {
	path := vault.Path(s.now.Note.Path)
	if _, err := s.Trash(ctx, path, text); err != nil {
		return err
	}
	if err := s.leaveOrder(ctx, s.now); err != nil {
		return err
	}
	s.removed(s.now)
	s.moveBlocks(s.now.Note, everyLine, s.parent.Note.ID)
	return s.Remove(ctx, path)
}

// trashLater drafts the move into the trash of those sections inside the section that are not in
// the snapshot. It must be called with the text before the section is cut out.
func (s *sectionRestorer) trashLater(ctx context.Context, text []byte) error {
	known := map[string]bool{}
	for n := range s.oldTree.Walk(s.top, nil) {
		known[s.oldTree.UID(n)] = true
	}
	gone := s.later(s.now, known)
	bins, err := trashItemsOf(text, gone)
	if err != nil {
		return err
	}
	for i, b := range bins {
		if _, err := s.Trash(ctx, b.path, b.text); err != nil {
			return err
		}
		s.removed(gone[i])
	}
	return ctx.Err()
}

// later returns the topmost sections below a node whose uids are not known. What is below such a
// section goes to the trash with it, even if the snapshot has it; its text is in the snapshot too.
func (s *sectionRestorer) later(n tree.Node, known map[string]bool) (all []tree.Node) {
	for _, child := range s.tree.OwnChildren(n) {
		if known[s.tree.UID(child)] {
			all = append(all, s.later(child, known)...)
			continue
		}
		all = append(all, child)
	}
	return all
}

// removed counts and lists a node that goes to the trash.
func (s *sectionRestorer) removed(n tree.Node) {
	s.out.Counts.Removed++
	s.out.Removed = appendFirst(s.out.Removed, n.ID())
}

// put drafts the note with the restored section. m are the identities in the text before.
//
// Lines that come from the snapshot are recorded as new passages: their references stay as they
// were written.
func (s *sectionRestorer) put(
	ctx context.Context, m marks, text []byte, r markdown.ReorderResult, block markdown.Subtree,
) error {
	s.out.FootnoteConflicts = r.Conflicts
	if slices.Equal(text, r.Text) {
		return nil
	}
	if err := s.putReordered(ctx, s.parent.Note, m, text, r, s.insertion(block)); err != nil {
		return err
	}
	id := []string{s.addressAt(s.parent.Note.Path, newLine(r))}
	if s.exists() {
		s.out.Counts.Updated, s.out.Updated = 1, id
	} else {
		s.out.Counts.Created, s.out.Created = 1, id
	}
	for _, p := range r.Parts {
		if p.New > 0 {
			id := s.parent.Note.ID
			s.passages[id] = append(s.passages[id], relink.Passage{Lines: p.Lines})
		}
	}
	return nil
}

// insertion returns the section with the former identities of its nodes and annotations. An
// identity that exists elsewhere stays there, and the node gets a new one.
//
// An annotation whose id exists elsewhere makes the ids of all annotations be found from the text.
func (s *sectionRestorer) insertion(block markdown.Subtree) *insertion {
	at, m := linesOf(s.text).span(block.At), marksOf(s.top.Note)
	a := &insertion{Subtree: block, uids: idsIn(m.sections, at), traits: idsIn(m.traits, at)}
	for i, u := range a.uids {
		if n, ok := s.tree.Find(u.String()); ok && s.isElsewhere(n) {
			a.uids[i] = index.UID{}
		}
	}
	for _, id := range a.traits {
		if holder, _ := s.Before().Trait(id); holder != nil && s.isElsewhere(tree.AtLine(holder.Note, holder.Line())) {
			a.unlike = true
		}
	}
	return a
}

// isElsewhere reports whether a node is outside the section as it is now.
func (s *sectionRestorer) isElsewhere(n tree.Node) bool {
	return !s.exists() || !s.tree.Within(n, s.now)
}
