package tree

import "strconv"

// version returns a sequence number in the form of answers, such as v42.
func version(seq uint64) string { return "v" + strconv.FormatUint(seq, 10) }

// Changed returns the address of the first of the nodes that changed after the version since, and
// the version that last changed it. For a note or a section, that is the note; for a folder, the
// folder, if its children or its own file changed. In a vault with strict versions, it is the
// vault, if any note or folder changed. It returns "" and 0 if nothing changed.
//
// It is the test of a write with an expected version: the caller has read the nodes at since, and
// must not overwrite a change that it has not seen.
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

// Holder returns the note of a section; any other node itself.
func (n Node) Holder() Node {
	n.Section = 0
	return n
}
