package tree

import "strconv"

// version is a commit as answers name it.
func version(seq uint64) string { return "v" + strconv.FormatUint(seq, 10) }

// Changed returns the address of the first of some nodes that changed after a version, by what the tree knows of its
// note or folder; "" if none did.
func (t *Tree) Changed(since uint64, nodes ...Node) string {
	for _, n := range nodes {
		if t.Version(n) > since {
			return n.ID()
		}
	}
	return ""
}
