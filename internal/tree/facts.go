package tree

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"rookery/internal/index"
)

// An about is what the file of a folder says of it (`_folder.md`). It is empty for a folder without one.
type about struct {
	Type   string
	Title  string
	Fields []index.Field
	Order  []string
}

// about is what the file of a folder says.
func (t *Tree) about(string) about { return about{} }

// folderVersion is the commit with which the children of a folder, or its own file, changed last.
func (t *Tree) folderVersion(dir string) uint64 {
	var last uint64
	for f := range t.Index.FilesAfter(dir) {
		if !strings.HasPrefix(f.Path, dir) {
			break
		}
		last = max(last, f.Version)
	}
	return last
}

// isNode reports whether a section is a node: its heading is at the top level of the note.
func isNode(*index.Section) bool { return true }

// parentOf is the position of the section that a section is below, of those that are nodes; -1: the note.
func parentOf(s *index.Section) int { return s.Parent }

// UIDPrefix begins every uid.
const UIDPrefix = "n_"

// crockford is the alphabet of ULIDs.
var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// folderUID is the uid of a folder, which follows from its path.
func folderUID(dir string) string {
	sum := sha256.Sum256([]byte("folder\x00" + dir))
	return UIDPrefix + ulid([16]byte(sum[:16]))
}

// ulid writes sixteen bytes as a ULID: 26 characters, of which the first has three bits.
func ulid(id [16]byte) string {
	var padded [20]byte // 32 characters, of which the first six are of the zeros in front
	copy(padded[4:], id[:])
	return crockford.EncodeToString(padded[:])[6:]
}

// UID is the stable identity of the node.
func (t *Tree) UID(n Node) string {
	if n.Note == nil {
		return folderUID(n.Folder)
	}
	sum := sha256.Sum256([]byte(n.ID()))
	return UIDPrefix + ulid([16]byte(sum[:16]))
}

// byUID finds a node by its uid.
func (t *Tree) byUID(id string) (Node, bool) {
	if len(id) != len(UIDPrefix)+26 || !strings.HasPrefix(id, UIDPrefix) {
		return Node{}, false
	}
	for n := range t.Walk(t.Root(), nil) {
		if t.UID(n) == id {
			return n, true
		}
	}
	return Node{}, false
}

// Moved are the new addresses of the nodes of a note by their old ones, of those that have another address after a
// change: the same nodes by their uids.
func Moved(before, after *Tree, was, is *index.Note) map[string]string {
	now := map[string]Node{}
	for n := range after.Walk(Node{Note: is}, nil) {
		now[after.UID(n)] = n
	}
	moved := map[string]string{}
	for n := range before.Walk(Node{Note: was}, nil) {
		if to, ok := now[before.UID(n)]; ok && to.ID() != n.ID() {
			moved[n.ID()] = to.ID()
		}
	}
	return moved
}
