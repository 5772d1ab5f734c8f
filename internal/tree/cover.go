package tree

import "strconv"

// version is a commit as answers name it.
func version(seq uint64) string { return "v" + strconv.FormatUint(seq, 10) }

// Changed returns the address of the first of some nodes that changed after a version: their note, or, of a folder, what
// is in it; and with which commit that changed last. In a vault with strict versions it is the vault, if any note or
// folder changed. The address is empty if nothing did.
func (t *Tree) Changed(since uint64, nodes ...Node) (id string, seq uint64) {
	if seq := t.Index.NotesVersion(); t.Index.Config().Tree.Strict && seq > since {
		return t.Root().ID(), seq
	}
	for _, n := range nodes {
		if seq := t.Version(n); seq > since {
			return n.Holder().ID(), seq
		}
	}
	return "", 0
}

// Holder is the note of a section, else the node.
func (n Node) Holder() Node {
	n.Section = 0
	return n
}
