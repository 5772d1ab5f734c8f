package vault

import "strings"

// Trash is the folder that deleted notes go to. Nothing in it is a note.
const Trash = ".trash/"

// InTrash reports whether a path is that of something in the trash.
func InTrash(path string) bool { return strings.HasPrefix(path, Trash) }
