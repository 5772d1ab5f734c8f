package vault

import "strings"

// Trash is the folder of deleted notes. Files in it are not notes.
const Trash = ".trash/"

// InTrash reports whether a path is in the trash.
func InTrash(path string) bool { return strings.HasPrefix(path, Trash) }
