package index

import "encoding/binary"

// A Location is a position in the order of lists: by path, then line, then position in the line. A
// list that starts after a Location continues where a page ended. The Location itself need not
// exist any more: the list continues with the next thing, so a page stays valid when the vault
// changes. The zero Location is before everything. A Location with only a path is that of the note,
// before everything in it.
type Location struct {
	Path     string
	Line     int
	Position int
}

// key returns the location as a text that sorts like locations: the path, NUL, and the line and the
// position as four bytes each, big-endian. The zero Location has the key "".
func (s Location) key() string {
	if s == (Location{}) {
		return ""
	}
	b := make([]byte, 0, len(s.Path)+9)
	b = append(append(b, s.Path...), 0)
	b = binary.BigEndian.AppendUint32(b, uint32(s.Line))
	return string(binary.BigEndian.AppendUint32(b, uint32(s.Position)))
}

// After reports whether s comes after t in the order of lists.
func (s Location) After(t Location) bool {
	if s.Path != t.Path {
		return s.Path > t.Path
	}
	if s.Line != t.Line {
		return s.Line > t.Line
	}
	return s.Position > t.Position
}
