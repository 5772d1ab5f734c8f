package raven

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// locate returns the object that an argument names: by its id or, as in a reference, by a name, an
// alias, the end of its path or a word for a day (raven.md §1.9). Several candidates are
// AMBIGUOUS_REF.
//
// Every argument that names an object is read here, so that all tools accept the same forms and
// return the same faults. An id takes precedence over a name.
func locate(idx *index.Index, id string, c vault.Clock) (index.Object, error) {
	to := resolution(idx, id, c)
	if to.Object.Note == nil {
		return index.Object{}, unresolved(idx, id, to)
	}
	return to.Object, nil
}

// resolution returns the object with an id or, if there is none, the result of index.ResolveArg.
func resolution(idx *index.Index, id string, c vault.Clock) index.Resolution {
	if o, ok := idx.Find(strings.TrimSpace(id)); ok {
		return index.Resolution{ID: o.ID(), Object: o}
	}
	return idx.ResolveArg(id, c)
}

// unresolved returns the fault of an argument that does not name exactly one object.
func unresolved(idx *index.Index, id string, to index.Resolution) error {
	switch {
	case len(to.Matches) > 0:
		return ambiguous(id, to.Matches)
	case strings.Contains(id, "#"):
		return noObject(idx, "no section %q", id)
	}
	return noObject(idx, "no object %q", id)
}

// noPath replaces a NOT_FOUND error by INVALID_PATH if path is written as a path that no note can
// have. Otherwise it returns err. argument is the argument's name in the new error.
//
// A text with a slash or an extension was meant as a path; the reason why it is none helps more
// than the news that nothing is there.
func noPath(err error, path, argument string) error {
	file, _, _ := strings.Cut(strings.TrimSpace(path), "#")
	written := strings.ContainsAny(file, "/\\\x00") || strings.HasSuffix(file, ".md")
	if !written || !fault.Is(err, fault.NotFound) {
		return err
	}
	if _, bad := vault.NotePath(strings.TrimSuffix(file, "/")); bad != nil {
		return fault.Of(bad).With("argument", argument)
	}
	return err
}

// locateTarget is locate for the target of references. It returns an id, because a day can be a
// target without a daily note.
func locateTarget(idx *index.Index, ref string, c vault.Clock) (string, error) {
	to := resolution(idx, ref, c)
	if to.ID == "" {
		return "", unresolved(idx, ref, to)
	}
	return to.ID, nil
}

// The maximum numbers of candidates of an ambiguous reference in an answer: if they are its result,
// and if they are a detail. A short name can be the name of a section in every note.
const (
	maxCandidates = 200
	maxMatches    = 20
)

// firstOf returns the first n elements of a list, or all if there are fewer. It does not copy them.
func firstOf[T any](all []T, n int) []T { return all[:min(n, len(all))] }

// ambiguous returns AMBIGUOUS_REF with the first candidates.
//
// matches is not modified and may be longer than the fault shows.
func ambiguous(ref string, matches []string) *fault.Fault {
	some := firstOf(matches, maxMatches)
	names := strings.Join(some, ", ")
	if len(some) < len(matches) {
		names += ", …"
	}
	return fault.New(fault.AmbiguousRef, "%q is ambiguous: it can be any of: %s", ref, names).
		With("matches", some).Fix("use one of these ids")
}

// notFound returns NOT_FOUND. The message does not contain the id if it is too long to be one. Such
// a text is usually the content of another argument, and can be large or confidential.
func notFound(format, id string) *fault.Fault {
	f := fault.New(fault.NotFound, format, id)
	if len(id) > 600 || strings.ContainsAny(id, "\n\x00") {
		f = fault.New(fault.NotFound, "no object with that id")
	}
	return f
}

// maxRetries is the maximum number of ids for which a fault has a call that reads them.
//
// A fault with more calls would be longer than most answers.
const maxRetries = 3

// excludedBy is the reason why a path that the settings exclude has no note.
const excludedBy = "its path is excluded by " + vault.ConfigRaven

// noObject returns NOT_FOUND with the most similar ids, and calls that read the first of them.
//
// If the settings exclude the path, the message says that: the file may well be in the folder.
func noObject(idx *index.Index, format, id string) *fault.Fault {
	file, _, _ := strings.Cut(strings.TrimSpace(id), "#")
	if idx.Hides(file) || idx.Hides(file+".md") {
		format += ": " + excludedBy
	}
	f, near := notFound(format, id), idx.Nearest(strings.TrimSpace(id))
	if len(near) == 0 {
		return f.Try("raven_object_list", nil)
	}
	f = f.With("nearest", near)
	for _, other := range firstOf(near, maxRetries) {
		f = f.Try("raven_read", fault.Args{"path": other})
	}
	return f
}
