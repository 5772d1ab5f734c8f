package notes

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// drive is how a path on Windows may begin.
var drive = regexp.MustCompile(`^[A-Za-z]:`)

// cleanPath returns an argument that names a file of a vault in the form of the paths of a vault: without
// blanks around it, with / between its segments, and without empty segments and `.`. A path that could lead
// out of the vault is INVALID_PATH. No fault quotes it. The vault itself is the empty path.
func cleanPath(argument, path string) (string, error) {
	path = strings.ReplaceAll(trim(path), `\`, "/")
	segments := strings.Split(path, "/")
	switch {
	case strings.ContainsRune(path, 0):
		return "", badPath(argument, "a path must not contain NUL")
	case strings.HasPrefix(path, "/"):
		return "", badPath(argument, "a path must be relative to the vault and not begin with /")
	case drive.MatchString(path):
		return "", badPath(argument, "a path must be relative to the vault and not contain a drive")
	case slices.Contains(segments, ".."):
		return "", badPath(argument, "a path must not contain the folder ..")
	}
	segments = slices.DeleteFunc(segments, func(s string) bool { return s == "" || s == "." })
	return vault.CleanPath(strings.Join(segments, "/")), nil
}

func badPath(argument, message string) error {
	return fault.New(fault.InvalidPath, "%s", message).With("argument", argument)
}

// notePath returns an argument that names a note, as cleanPath does. It reads no vault, so that a path
// that is refused costs no request.
func notePath(argument, path string) (string, error) {
	path, err := cleanPath(argument, path)
	if err == nil && path == "" {
		err = badPath(argument, "a path must not be empty")
	}
	return path, err
}

// noteAt finds the note at a path that notePath returned, with or without `.md`.
func noteAt(idx *index.Index, path string) (*index.Note, error) {
	if n, ok := idx.Note(path); ok {
		return n, nil
	}
	if n, ok := idx.Note(path + ".md"); ok {
		return n, nil
	}
	return nil, noNote(idx, path)
}

// maxNear is how many of the nearest notes a fault proposes.
const maxNear = 3

// noNote is NOT_FOUND, with calls that read the notes whose paths are nearest.
func noNote(idx *index.Index, path string) error {
	message := "there is no note at that path"
	if idx.Hides(path) || idx.Hides(path+".md") {
		message += ": it is excluded by " + vault.ConfigRaven
	}
	f := fault.New(fault.NotFound, "%s", message).With("argument", "path")
	var near []string
	for _, id := range idx.Nearest(strings.TrimSuffix(path, ".md")) {
		if n, ok := idx.ByID(id); ok && len(near) < maxNear {
			near = append(near, n.Path)
		}
	}
	if len(near) == 0 {
		return f.Try("notes_list", nil)
	}
	f = f.With("nearest", near)
	for _, path := range near {
		f = f.Try("notes_get", fault.Args{"path": path})
	}
	return f
}
