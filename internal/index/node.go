package index

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A NodePart is the data of a node that depends on its own text; see markdown.Body.
type NodePart struct {
	UID       UID   // zero for a section that is not a node
	BodyBytes int32 // length of its own text in bytes
	Embeds    bool  // its own text is one transclusion: the first of the Refs with its scope and the form Embed
}

// readNodes sets which sections are nodes, and the data of their own texts. sections has the
// position of the section of each heading, -1 for the title.
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
			s.TopParent = small[int16](sections[h.TopParent])
		}
		s.read(bodies[1+i])
		s.body = bodySum(text[bodies[1+i].Start:bodies[1+i].End])
		s.pinned = h.Declaration != nil && h.Declaration.ID != ""
	}
}

// read sets the data of the own text of a node.
func (p *NodePart) read(b markdown.Body) { p.BodyBytes, p.Embeds = int32(b.End-b.Start), b.Embeds }

// bodySum returns a hash of the own text of a section; 0 only for an empty one. It is used to
// recognize a section whose heading has changed, so a rare collision at most gives a section the
// UID of another.
func bodySum(text []byte) uint64 {
	if len(text) == 0 {
		return 0
	}
	d := DigestOf(text)
	return max(binary.BigEndian.Uint64(d[:]), 1)
}

// nodes yields pointers to the UIDs of a note: its own, and those of the sections that are nodes,
// in text order.
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

// NodeIDs returns the UIDs of the note and of its sections that are nodes, in text order. A commit
// of the note must store them; Change.Nodes takes them.
func (n *Note) NodeIDs() []UID {
	all := make([]UID, 0, 1+len(n.Sections))
	for u := range n.nodes {
		all = append(all, *u)
	}
	return all
}

// NodeIDs returns the UIDs of the nodes in the file: for a note, hidden or not, those of
// Note.NodeIDs; for the file of a folder, that of the folder. It returns nil for any other file,
// and for a nil File.
func (f *File) NodeIDs() []UID {
	if n := f.parsed(); n != nil {
		return n.NodeIDs()
	}
	if f != nil && f.Folder != nil {
		return []UID{f.Folder.UID}
	}
	return nil
}

// Node returns the object with a UID. For the UID of a folder it returns false; see NodeFolder.
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

// FileOf returns the path of the file that contains the node with a UID, "" if there is none. A
// folder without a file of its own is in no file.
func (x *Index) FileOf(u UID) string { return x.uids.get(u.key()) }

// assignUIDs sets the UIDs of the nodes of a note that is not in the lookups yet: those that the
// commit has; else those that they had before; else new ones, which no other file has. was is the
// note before the change, nil if there was none.
func (d *draft) assignUIDs(n, was *Note, given []UID) {
	taken := map[UID]bool{}
	// Without UIDs from the commit, nodes keep those of their matches in the note before.
	if !n.setUIDs(given, taken) {
		d.matchUIDs(n, was, taken)
	}
	ordinal := -1
	for u := range n.nodes {
		ordinal++
		// Each attempt hashes another number. Steps of maxNodes avoid the ordinals of other nodes.
		for attempt := ordinal; *u == (UID{}); attempt += maxNodes {
			if next := derivedUID(d.time, d.version, n.Path, attempt); !taken[next] && d.isFreeUID(next, n.Path) {
				*u, taken[next] = next, true
			}
		}
	}
}

// maxNodes is larger than the number of nodes of any note.
const maxNodes = 1 << 20

// setUIDs sets the UIDs of the nodes to those of a list, except zero ones and duplicates. It
// reports whether the length of the list fits the note; if not, it changes nothing.
func (n *Note) setUIDs(given []UID, taken map[UID]bool) bool {
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

// matchUIDs sets the UIDs of the nodes of a note to those that they had in was, unless another file
// has them now.
func (d *draft) matchUIDs(n, was *Note, taken map[UID]bool) {
	if was == nil {
		return
	}
	take := func(u *UID, had UID) {
		if had == (UID{}) || taken[had] {
			return
		}
		if holder := d.ownerOfUID(had); holder == "" || holder == was.Path || holder == n.Path {
			*u, taken[had] = had, true
		}
	}
	take(&n.UID, was.UID)
	for i, w := range matchSections(n, was) {
		if w != nil {
			take(&n.Sections[i].UID, w.UID)
		}
	}
}

// isFreeUID reports whether the file at path can have a UID: whether no other file has it.
func (d *draft) isFreeUID(u UID, path string) bool {
	holder := d.ownerOfUID(u)
	return holder == "" || holder == path
}

// ownerOfUID returns the path of the file that contains the node with a UID, "" if there is none.
func (d *draft) ownerOfUID(u UID) string {
	path, changed := d.nodeIDs[u.key()]
	if !changed {
		path = d.uids.get(u.key())
	}
	return path
}

// swapNodes replaces the UIDs of the file old by those of now in the lookup; either can be nil. A
// UID that another file has taken over in the same commit is not removed: a moved file is added at
// its new path before or after it is deleted at the old one.
func (d *draft) swapNodes(old, now *File) {
	was, is := old.NodeIDs(), now.NodeIDs()
	if now != nil && old != nil && slices.Equal(was, is) && d.ownsAll(old.Path, was) {
		return
	}
	stays := make(map[UID]bool, len(is))
	for _, u := range is {
		if stays[u] = true; d.ownerOfUID(u) != now.Path {
			d.nodeIDs[u.key()] = now.Path
		}
	}
	for _, u := range was {
		if !stays[u] && d.ownerOfUID(u) == old.Path {
			d.nodeIDs[u.key()] = ""
		}
	}
}

// ownsAll reports whether the file at a path has all of these UIDs in the lookup.
func (d *draft) ownsAll(path string, all []UID) bool {
	return !slices.ContainsFunc(all, func(u UID) bool { return d.ownerOfUID(u) != path })
}

// flushNodes writes the pending changes of d.nodeIDs to the tree of UIDs.
func (d *draft) flushNodes() {
	d.uids.change(d.nodeIDs)
	clear(d.nodeIDs)
}

// A sectionMatcher matches the sections of a note with its sections before a change. Each step of
// matchSections looks only at sections that no earlier step has matched.
type sectionMatcher struct {
	note, was *Note
	matches   []*Section // by position of the section; nil if not matched
	unmatched []bool     // by position of the earlier section; a node that is not matched
}

// matchSections returns for each section that is a node its earlier state, nil for a new one. It
// matches sections with the same declared id; then with the same slugs from the note down; then
// with the same headings, in the same order; then with the same text (reference/tree.md C2).
func matchSections(n, was *Note) []*Section {
	m := sectionMatcher{n, was, make([]*Section, len(n.Sections)), make([]bool, len(was.Sections))}
	for i := range was.Sections {
		m.unmatched[i] = was.Sections[i].Top
	}
	m.matchBy(func(n *Note, i int) string {
		if s := &n.Sections[i]; s.pinned {
			return s.Slug
		}
		return ""
	})
	m.matchBy((*Note).slugPath)
	m.matchHeadings()
	m.matchBy(func(n *Note, i int) string {
		if sum := n.Sections[i].body; sum != 0 {
			return string(binary.BigEndian.AppendUint64(nil, sum))
		}
		return ""
	})
	return m.matches
}

// slugPath returns the slugs of a section and of its parents as a key, the innermost first.
func (n *Note) slugPath(i int) string {
	var b strings.Builder
	for ; i >= 0; i = int(n.Sections[i].TopParent) {
		b.WriteString(n.Sections[i].Slug)
		b.WriteByte('\n')
	}
	return b.String()
}

// matchBy matches sections with the same key, the k-th with the k-th. Sections with an empty key
// are not matched.
func (m *sectionMatcher) matchBy(key func(*Note, int) string) {
	queues := map[string][]int{}
	for i, left := range m.unmatched {
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
		if !m.note.Sections[i].Top || m.matches[i] != nil {
			continue
		}
		k := key(m.note, i)
		if queue := queues[k]; k != "" && len(queue) > 0 {
			m.match(i, queue[0])
			queues[k] = queue[1:]
		}
	}
}

// match matches a section with an earlier one, by their positions.
func (m *sectionMatcher) match(i, before int) {
	m.matches[i], m.unmatched[before] = &m.was.Sections[before], false
}

// maxAligned is the largest product of the numbers of headings before and after for which headings
// are aligned. Above it, the k-th section with a heading is matched with the k-th.
const maxAligned = 1 << 18

// matchHeadings matches sections with the same heading: those in the longest common subsequence of
// the headings that are not matched yet.
func (m *sectionMatcher) matchHeadings() {
	var old, now []int
	for i, left := range m.unmatched {
		if left {
			old = append(old, i)
		}
	}
	for i := range m.note.Sections {
		if m.note.Sections[i].Top && m.matches[i] == nil {
			now = append(now, i)
		}
	}
	if len(old)*len(now) > maxAligned {
		m.matchBy(func(n *Note, i int) string { return n.Sections[i].Title })
		return
	}
	m.align(old, now)
}

// align matches the sections in the longest common subsequence of two lists of headings. It takes
// time and memory in proportion to the product of their lengths. Unlike matching by number, it
// keeps the UIDs of all other sections if one of several with the same heading is removed.
func (m *sectionMatcher) align(old, now []int) {
	same := func(i, j int) bool { return m.was.Sections[old[i]].Title == m.note.Sections[now[j]].Title }
	longest := make([][]int32, len(old)+1) // of the rest of the lists, from i and j
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
			m.match(now[j], old[i])
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
}

// A Folder is the description of a folder in its own file (`_folder.md`). It is immutable.
type Folder struct {
	NodePart
	DeclaredType string // as in the file; empty if it declares none
	Title        string // of its title heading; empty if there is none
	Fields       []Field
	Tags         []Tag
	Created      time.Time
	Modified     time.Time

	// Problem is the reason why the fields cannot be used; nil if they can.
	Problem *markdown.Problem
}

// newFolder parses the file of a folder. It has no sections, references and traits in the index:
// only its fields, tags and title describe the folder. Its UID and times are set by
// setFolderIdentity.
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

// Order returns the names of children in the field `order` of the file: `website`, or `archive/`
// for a folder.
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

// Folder returns the description of a folder that has a file of its own. dir is the path of the
// folder with a slash at the end, "" for the vault.
func (x *Index) Folder(dir string) (*Folder, bool) {
	f, ok := x.files.Get(dir + vault.FolderFile)
	if !ok || f.Folder == nil {
		return nil, false
	}
	return f.Folder, true
}

// FolderType returns the type in the schema that the file of a folder declares; "" if it declares
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

// FolderUID returns the UID of a folder: that of its file or, without one, a UID derived from its
// path. It does not check whether the folder exists.
func (x *Index) FolderUID(dir string) UID {
	if f, ok := x.Folder(dir); ok {
		return f.UID
	}
	return x.freeFolderUID(dir, func(u UID) string { return x.uids.get(u.key()) })
}

// freeFolderUID returns the first UID derived from a path that no other file has. Another file can
// have one because the UID of a moved folder moves with its file.
func (x *Index) freeFolderUID(dir string, holder func(UID) string) UID {
	for attempt := 0; ; attempt++ {
		u := folderUID(dir, attempt)
		if path := holder(u); path == "" || path == dir+vault.FolderFile {
			return u
		}
	}
}

// NodeFolder returns the path of the folder with a UID, with a slash at the end, "" for the vault.
// For a folder without a file of its own it goes through all folders.
func (x *Index) NodeFolder(u UID) (dir string, ok bool) {
	// The index by UID has all folders with a file of their own.
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

// setFolderIdentity sets the UID and the times of the file of a folder. was is the file before the
// change, nil if there was none. A UID that another file has is replaced by one derived from the
// path.
func (d *draft) setFolderIdentity(f *File, was *File, ch Change) {
	now := f.Folder
	now.Created, now.Modified = d.time, d.time
	if was != nil && was.Folder != nil {
		now.UID, now.Created = was.Folder.UID, was.Folder.Created
	}
	// The UID in the commit takes precedence over that of the file before.
	if len(ch.Nodes) == 1 && ch.Nodes[0] != (UID{}) {
		now.UID = ch.Nodes[0]
	}
	dir := strings.TrimSuffix(f.Path, vault.FolderFile)
	if holder := d.ownerOfUID(now.UID); now.UID == (UID{}) ||
		holder != "" && holder != f.Path && (was == nil || holder != was.Path) {
		now.UID = d.freeFolderUID(dir, d.ownerOfUID)
	}
	if ch.Times != nil {
		now.Created, now.Modified = ch.Times.Note.Created.UTC(), ch.Times.Note.Modified.UTC()
	}
}

// FolderVersion returns the version that last changed the children of a folder, or its own file.
// dir has a slash at the end, or is "" for the vault. It returns 0 if there is no such folder and,
// for the vault, if nothing is in it yet.
func (x *Index) FolderVersion(dir string) uint64 {
	v, _ := x.folderVersions.Get(dir)
	return v
}

// NotesVersion returns the version that last changed a note or the file of a folder.
func (x *Index) NotesVersion() uint64 { return x.notesVersion }

// inTree reports whether the file at a path makes its folder exist: a note, or the file of a
// folder.
func inTree(path string) bool { return isNote(path) || isFolder(path) }

// isFolder reports whether a path is that of the file of a folder.
func isFolder(path string) bool {
	return vault.Path(path).Kind() == vault.KindFolder && path[0] != '.'
}

// touchFolders updates the versions of folders for the change of one file. came says that the file
// is new, went that it is deleted. It must be called before a new file is in d.files, and after a
// deleted one is removed from it.
//
// A folder has no entry of its own: it exists as long as a note or a folder file is below it. The
// change of a note in place changes no folder. A new or deleted file changes its folder and, if the
// folder comes or goes with it, the folder above, up to the first one that stays.
func (d *draft) touchFolders(path string, came, went bool) {
	if !inTree(path) {
		return
	}
	d.notesVersion = d.version
	if !came && !went && !isFolder(path) {
		return
	}
	dir := vault.Path(path).Dir()
	for dir != "" && !d.hasFolder(dir) { // dir comes or goes: the folder above changes
		if came {
			d.folderVersions.Set(dir, d.version)
		} else {
			d.folderVersions.Delete(dir)
		}
		dir = vault.Path(strings.TrimSuffix(dir, "/")).Dir()
	}
	d.folderVersions.Set(dir, d.version)
}

// touchAll sets the version of all folders, and of the notes, to the current one.
func (d *draft) touchAll() {
	all := append(d.folderVersions.Keys(), "")
	for _, dir := range all {
		d.folderVersions.Set(dir, d.version)
	}
	d.notesVersion = d.version
}

// hasFolder reports whether a folder exists: whether a note or the file of a folder is in it or
// below it.
func (d *draft) hasFolder(dir string) (has bool) {
	d.files.Ascend(dir, func(path string, _ *File) bool {
		inside := strings.HasPrefix(path, dir)
		has = inside && inTree(path)
		return inside && !has
	})
	return has
}
