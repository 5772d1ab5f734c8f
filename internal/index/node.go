package index

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A NodePart is what is known of the own text of a node; see markdown.Body.
type NodePart struct {
	UID       UID   // zero of a section that is no node
	BodyBytes int32 // of its own text
	Embeds    bool  // its own text is one transclusion: the first of the Refs with its scope and the form Embed
}

// readNodes takes which sections are nodes, and what their own texts are. sections are the positions of the sections
// by heading, -1 for the title.
func (n *Note) readNodes(doc *markdown.Doc, text []byte, sections []int) {
	bodies := doc.Bodies(text)
	n.read(bodies[0])
	for i, h := range doc.Headings {
		if h.Title || !h.Top {
			continue
		}
		s := &n.Sections[sections[i]]
		s.Top, s.TopParent = true, -1
		if h.TopParent >= 0 {
			s.TopParent = int32(sections[h.TopParent])
		}
		s.read(bodies[1+i])
		s.body = bodySum(text[bodies[1+i].Start:bodies[1+i].End])
		s.pinned = h.Embedded != nil && h.Embedded.ID != ""
	}
}

func (p *NodePart) read(b markdown.Body) { p.BodyBytes, p.Embeds = int32(b.End-b.Start), b.Embeds }

// bodySum is a hash of the own text of a section; 0 of an empty one.
func bodySum(text []byte) uint64 {
	if len(text) == 0 {
		return 0
	}
	d := DigestOf(text)
	return max(binary.BigEndian.Uint64(d[:]), 1)
}

// nodes yields the places of the UIDs of a note: its own, and those of the sections that are nodes, in text order.
func (n *Note) nodes(yield func(*UID) bool) {
	if !yield(&n.UID) {
		return
	}
	for i := range n.Sections {
		if s := &n.Sections[i]; s.Top && !yield(&s.UID) {
			return
		}
	}
}

// NodeIDs are the UIDs of the note and of those of its sections that are nodes, in text order: what a commit of the
// note must keep, and Change.Nodes takes.
func (n *Note) NodeIDs() []UID {
	all := make([]UID, 0, 1+len(n.Sections))
	for u := range n.nodes {
		all = append(all, *u)
	}
	return all
}

// NodeIDs are the UIDs of the nodes that the file is: of a note, hidden or not, those of Note.NodeIDs; of the file of a folder, that of
// the folder; none of another file.
func (f *File) NodeIDs() []UID {
	if n := f.parsed(); n != nil {
		return n.NodeIDs()
	}
	if f != nil && f.Folder != nil {
		return []UID{f.Folder.UID}
	}
	return nil
}

// Node is the object of a UID. That of a folder is none; see NodeFolder.
func (x *Index) Node(u UID) (Object, bool) {
	n, ok := x.Note(x.uids.get(u.key()))
	if !ok {
		return Object{}, false
	}
	if n.UID == u {
		return Object{Note: n}, true
	}
	i := slices.IndexFunc(n.Sections, func(s Section) bool { return s.Top && s.UID == u })
	if i < 0 {
		return Object{}, false
	}
	return n.Object(i), true
}

// FileOf is the path of the file that has the node of a UID, "" if none has. A folder without a file of its own has none.
func (x *Index) FileOf(u UID) string { return x.uids.get(u.key()) }

// nameNodes gives the nodes of a note, which is not entered yet, their UIDs: those that the commit says; else those that
// they had before; else new ones.
func (d *draft) nameNodes(n, was *Note, given []UID) {
	taken := map[UID]bool{}
	if !n.takeNodes(given, taken) {
		d.meetNodes(n, was, taken)
	}
	ordinal := -1
	for u := range n.nodes {
		ordinal++
		for attempt := ordinal; *u == (UID{}); attempt += maxNodes {
			if next := derivedUID(d.time, d.version, n.Path, attempt); !taken[next] && d.mayTake(next, n.Path) {
				*u, taken[next] = next, true
			}
		}
	}
}

// maxNodes is more than a note has nodes.
const maxNodes = 1 << 20

// takeNodes gives the nodes the UIDs of a list, zero ones aside, and reports whether the list fits the note.
func (n *Note) takeNodes(given []UID, taken map[UID]bool) bool {
	count := 0
	for range n.nodes {
		count++
	}
	if len(given) != count {
		return false
	}
	i := 0
	for u := range n.nodes {
		if next := given[i]; next != (UID{}) && !taken[next] {
			*u, taken[next] = next, true
		}
		i++
	}
	return true
}

// meetNodes gives the nodes of a note the UIDs that they had before.
func (d *draft) meetNodes(n, was *Note, taken map[UID]bool) {
	if was == nil {
		return
	}
	take := func(u *UID, had UID) {
		if had == (UID{}) || taken[had] {
			return
		}
		if holder := d.holderOfUID(had); holder == "" || holder == was.Path || holder == n.Path {
			*u, taken[had] = had, true
		}
	}
	take(&n.UID, was.UID)
	for i, w := range meetSections(n, was) {
		if w != nil {
			take(&n.Sections[i].UID, w.UID)
		}
	}
}

// mayTake reports whether a note may have a UID: whether no other file has it.
func (d *draft) mayTake(u UID, path string) bool {
	holder := d.holderOfUID(u)
	return holder == "" || holder == path
}

// holderOfUID is the path of the file whose node has a UID, "" if none has.
func (d *draft) holderOfUID(u UID) string {
	path, changed := d.nodeIDs[u.key()]
	if !changed {
		path = d.uids.get(u.key())
	}
	return path
}

// swapNodes enters the UIDs of a file in the place of those of another; either may be nil.
func (d *draft) swapNodes(old, now *File) {
	was, is := old.NodeIDs(), now.NodeIDs()
	if now != nil && old != nil && slices.Equal(was, is) && d.holds(old.Path, was) {
		return
	}
	stays := make(map[UID]bool, len(is))
	for _, u := range is {
		if stays[u] = true; d.holderOfUID(u) != now.Path {
			d.nodeIDs[u.key()] = now.Path
		}
	}
	for _, u := range was {
		if !stays[u] && d.holderOfUID(u) == old.Path {
			d.nodeIDs[u.key()] = ""
		}
	}
}

// holds reports whether a file has all of these UIDs.
func (d *draft) holds(path string, all []UID) bool {
	for _, u := range all {
		if d.holderOfUID(u) != path {
			return false
		}
	}
	return true
}

// enterNodes brings the tree of the UIDs up to date.
func (d *draft) enterNodes() {
	d.uids.change(d.nodeIDs)
	clear(d.nodeIDs)
}

// A nodeMeeting brings the sections of a note together with those that they were before.
type nodeMeeting struct {
	note, was *Note
	met       []*Section // by position of the section
	left      []bool     // by position of the section before: nobody has it yet
}

// meetSections finds for each section that is a node what it was before: one that declares the same id; else the same
// slugs from the note down; else the same heading, in the same order; else the same text (reference/tree.md C2).
// Nil is a newcomer.
func meetSections(n, was *Note) []*Section {
	m := nodeMeeting{n, was, make([]*Section, len(n.Sections)), make([]bool, len(was.Sections))}
	for i := range was.Sections {
		m.left[i] = was.Sections[i].Top
	}
	m.by(func(n *Note, i int) string {
		if s := &n.Sections[i]; s.pinned {
			return s.Slug
		}
		return ""
	})
	m.by((*Note).slugPath)
	m.sameHeadings()
	m.by(func(n *Note, i int) string {
		if sum := n.Sections[i].body; sum != 0 {
			return string(binary.BigEndian.AppendUint64(nil, sum))
		}
		return ""
	})
	return m.met
}

// slugPath is the slugs of a section and of those above it.
func (n *Note) slugPath(i int) string {
	var b strings.Builder
	for ; i >= 0; i = int(n.Sections[i].TopParent) {
		b.WriteString(n.Sections[i].Slug)
		b.WriteByte('\n')
	}
	return b.String()
}

// by matches what has the same key, the k-th with the k-th. An empty key matches nothing.
func (m *nodeMeeting) by(key func(*Note, int) string) {
	queues := map[string][]int{}
	for i, left := range m.left {
		if !left {
			continue
		}
		if k := key(m.was, i); k != "" {
			queues[k] = append(queues[k], i)
		}
	}
	for i := range m.note.Sections {
		if len(queues) == 0 {
			return
		}
		if !m.note.Sections[i].Top || m.met[i] != nil {
			continue
		}
		k := key(m.note, i)
		if queue := queues[k]; k != "" && len(queue) > 0 {
			m.meet(i, queue[0])
			queues[k] = queue[1:]
		}
	}
}

func (m *nodeMeeting) meet(i, before int) { m.met[i], m.left[before] = &m.was.Sections[before], false }

// maxAligned is how many headings, before times after, are aligned at most: beyond it, the k-th of a text is the k-th.
const maxAligned = 1 << 18

// sameHeadings matches what has the same heading: of the two texts, the longest common part of the lists of headings
// that are left.
func (m *nodeMeeting) sameHeadings() {
	var old, now []int
	for i, left := range m.left {
		if left {
			old = append(old, i)
		}
	}
	for i := range m.note.Sections {
		if m.note.Sections[i].Top && m.met[i] == nil {
			now = append(now, i)
		}
	}
	if len(old)*len(now) > maxAligned {
		m.by(func(n *Note, i int) string { return n.Sections[i].Title })
		return
	}
	m.align(old, now)
}

// align matches the longest common part of two lists of headings.
func (m *nodeMeeting) align(old, now []int) {
	same := func(i, j int) bool { return m.was.Sections[old[i]].Title == m.note.Sections[now[j]].Title }
	longest := make([][]int32, len(old)+1) // of what is behind i and j
	for i := range longest {
		longest[i] = make([]int32, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); same(i, j) {
				longest[i][j] = 1 + longest[i+1][j+1]
			}
		}
	}
	for i, j := 0, 0; i < len(old) && j < len(now); {
		switch {
		case same(i, j):
			m.meet(now[j], old[i])
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
}

// A Folder is what the file of a folder (`_folder.md`) says of the folder. It never changes.
type Folder struct {
	NodePart
	DeclaredType string // as the file says it; empty if it does not
	Title        string // of its title heading; empty if there is none
	Fields       []Field
	Tags         []Tag
	Created      time.Time
	Modified     time.Time

	// Problem is why the fields cannot be used; nil: they can.
	Problem *markdown.Problem
}

// newFolder reads the file of a folder.
func newFolder(f *File, text []byte) *Folder {
	doc := markdown.Parse(text)
	n := &Note{File: f}
	n.readFields(doc.Frontmatter)
	all := &Folder{DeclaredType: n.DeclaredType, Fields: n.Fields, Problem: doc.Problem}
	from := doc.Body
	for _, h := range doc.Headings {
		if h.Title {
			all.Title, from = h.Text, h.Content
		}
	}
	n.readTags(doc.Tags, func(int) int { return -1 })
	all.Tags = n.Tags
	all.BodyBytes = int32(len(strings.TrimSpace(string(text[from:]))))
	return all
}

// Order is the names of children that the file lists in its field `order`: `website`, or `archive/` for a folder.
func (f *Folder) Order() []string {
	order, _ := find(f.Fields, "order")
	list, ok := order.Value.([]any)
	if !ok {
		list = []any{order.Value}
	}
	var all []string
	for _, v := range list {
		if s := textOf(v); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// Folder is what the own file of a folder says. The folder is its path with a slash at the end, "" for the vault.
func (x *Index) Folder(dir string) (*Folder, bool) {
	f, ok := x.files.Get(dir + vault.FolderFile)
	if !ok || f.Folder == nil {
		return nil, false
	}
	return f.Folder, true
}

// FolderType is what the type that the file of a folder declares means in the schema of the vault; "" if it declares
// none that the schema knows.
func (x *Index) FolderType(dir string) string {
	f, ok := x.Folder(dir)
	if !ok || f.DeclaredType == "" {
		return ""
	}
	if t, known := x.schema.Type(f.DeclaredType); known {
		return t.Name
	}
	return ""
}

// FolderUID is the UID of a folder: that which its file has, else one that follows from its path. It does not tell
// whether there is the folder.
func (x *Index) FolderUID(dir string) UID {
	if f, ok := x.Folder(dir); ok {
		return f.UID
	}
	return x.freeFolderUID(dir, func(u UID) string { return x.uids.get(u.key()) })
}

// freeFolderUID is the first of the UIDs that follow from a path and that no file has but that of the folder. Where a
// folder moved, its UID went with its file.
func (x *Index) freeFolderUID(dir string, holder func(UID) string) UID {
	for attempt := 0; ; attempt++ {
		u := folderUID(dir, attempt)
		if path := holder(u); path == "" || path == dir+vault.FolderFile {
			return u
		}
	}
}

// NodeFolder is the path of the folder of a UID, with a slash at the end, "" for the vault. Of a folder without a file
// of its own it asks about every folder.
func (x *Index) NodeFolder(u UID) (dir string, ok bool) {
	if path := x.uids.get(u.key()); path != "" {
		dir, ok = strings.CutSuffix(path, vault.FolderFile)
		f, known := x.Folder(dir)
		return dir, ok && known && f.UID == u
	}
	if u == x.FolderUID("") {
		return "", true
	}
	x.folderVersions.Scan(func(at string, _ uint64) bool {
		if x.FolderUID(at) == u {
			dir, ok = at, true
		}
		return !ok
	})
	return dir, ok
}

// settleFolder gives the file of a folder its UID and its times.
func (d *draft) settleFolder(f *File, was *File, ch Change) {
	now := f.Folder
	now.Created, now.Modified = d.time, d.time
	if was != nil && was.Folder != nil {
		now.UID, now.Created = was.Folder.UID, was.Folder.Created
	}
	if len(ch.Nodes) == 1 && ch.Nodes[0] != (UID{}) {
		now.UID = ch.Nodes[0]
	}
	dir := strings.TrimSuffix(f.Path, vault.FolderFile)
	if holder := d.holderOfUID(now.UID); now.UID == (UID{}) ||
		holder != "" && holder != f.Path && (was == nil || holder != was.Path) {
		now.UID = d.freeFolderUID(dir, d.holderOfUID)
	}
	if ch.Past != nil {
		now.Created, now.Modified = ch.Past.Note.Created.UTC(), ch.Past.Note.Modified.UTC()
	}
}

// FolderVersion is the commit that changed the children of a folder, or its own file, last. The folder is its path with
// a slash at the end, "" for the vault. 0: there is no such folder, or, of the vault, nothing in it yet.
func (x *Index) FolderVersion(dir string) uint64 {
	v, _ := x.folderVersions.Get(dir)
	return v
}

// NotesVersion is the commit that changed a note, or the file of a folder, last.
func (x *Index) NotesVersion() uint64 { return x.notesVersion }

// FolderPaths yields the paths of the folders behind one, each with a slash at the end, bytewise in order; the vault is
// none. A folder is one if a note, or the file of a folder, is in it or below it.
func (x *Index) FolderPaths(after string) iter.Seq[string] {
	return func(yield func(string) bool) {
		x.folderVersions.Ascend(after, func(dir string, _ uint64) bool {
			return dir == after || dir == "" || yield(dir)
		})
	}
}

// inTree reports whether a file makes its folder one: a note, or the file of a folder.
func inTree(path string) bool { return isNote(path) || isFolder(path) }

// isFolder reports whether a path is that of the file of a folder.
func isFolder(path string) bool {
	return vault.Path(path).Kind() == vault.KindFolder && path[0] != '.'
}

// touchFolders notes what a change does to folders: came says that a file is new, went that it is no more. It is
// called before the files have a new one, and after they have one less.
func (d *draft) touchFolders(path string, came, went bool) {
	if !inTree(path) {
		return
	}
	d.notesVersion = d.version
	if !came && !went && !isFolder(path) {
		return
	}
	dir := vault.Path(path).Dir()
	for dir != "" && !d.hasFolder(dir) { // then the folder above has one more, or one less
		if came {
			d.folderVersions.Set(dir, d.version)
		} else {
			d.folderVersions.Delete(dir)
		}
		dir = vault.Path(strings.TrimSuffix(dir, "/")).Dir()
	}
	d.folderVersions.Set(dir, d.version)
}

// touchAll notes that all folders changed.
func (d *draft) touchAll() {
	all := append(d.folderVersions.Keys(), "")
	for _, dir := range all {
		d.folderVersions.Set(dir, d.version)
	}
	d.notesVersion = d.version
}

// hasFolder reports whether a note or the file of a folder is in a folder, or below it.
func (d *draft) hasFolder(dir string) (has bool) {
	d.files.Ascend(dir, func(path string, _ *File) bool {
		inside := strings.HasPrefix(path, dir)
		has = inside && inTree(path)
		return inside && !has
	})
	return has
}
