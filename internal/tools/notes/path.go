package notes

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// drive matches the beginning of an absolute path on Windows.
var drive = regexp.MustCompile(`^[A-Za-z]:`)

// cleanPath returns the path in an argument in the form of the paths of a vault: without
// surrounding space, empty segments and `.`, and with / as the separator. The root of the vault is
// "". It returns INVALID_PATH for a path that could lead out of the vault: an absolute one, one
// with a drive, and one with `..`, even if it would lead back. The fault does not quote the path.
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

// badPath returns an INVALID_PATH fault about an argument.
func badPath(argument, message string) error {
	return fault.New(fault.InvalidPath, "%s", message).With("argument", argument)
}

// notePath returns the path of a note in an argument, as cleanPath does, but refuses the root. It
// does not read the vault, so an invalid path costs no request.
func notePath(argument, path string) (string, error) {
	path, err := cleanPath(argument, path)
	if err == nil && path == "" {
		err = badPath(argument, "a path must not be empty")
	}
	return path, err
}

// noteAt returns the note at a path from notePath, which may omit `.md`. A path that exists as it
// is written takes precedence. It returns NOT_FOUND if there is none.
//
// The suffix is optional because people type paths without it. Only .md is tried, and only at the
// end.
func noteAt(idx *index.Index, path string) (*index.Note, error) {
	if n, ok := idx.Note(path); ok {
		return n, nil
	}
	if n, ok := idx.Note(path + ".md"); ok {
		return n, nil
	}
	return nil, noNote(idx, path)
}

// maxNear is the maximum number of similar paths that a fault suggests.
const maxNear = 3

// noNote returns the NOT_FOUND fault for a path, with calls that read the notes with the most
// similar paths, or a call that lists notes if there are none. It says so if the setting exclude
// hides the note.
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
