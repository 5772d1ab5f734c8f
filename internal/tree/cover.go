package tree

import "strconv"

// version is a commit as answers name it.
func version(seq uint64) string { return "v" + strconv.FormatUint(seq, 10) }

// Changed returns the address of the first of some nodes that changed after a version: their note, or, of a folder, what
// is in it. In a vault with strict versions it is the vault, if any note or folder changed. It is empty if nothing did.
func (t *Tree) Changed(since uint64, nodes ...Node) string {
	if t.Index.Config().Tree.Strict && t.Index.NotesVersion() > since {
		return t.Root().ID()
	}
	for _, n := range nodes {
		if t.Version(n) > since {
			return n.note().ID()
		}
	}
	return ""
}

// note is the note of a section, else the node.
func (n Node) note() Node {
	n.Section = 0
	return n
}
