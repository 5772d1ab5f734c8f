package raven

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// locate finds the object that an argument names: its id or, as in a reference, a name, an alias, the
// end of its path, or a word for a day (raven.md §1.9). What may be several is AMBIGUOUS_REF.
func locate(idx *index.Index, id string, c vault.Clock) (index.Object, error) {
	to := resolution(idx, id, c)
	if to.Object.Note == nil {
		return index.Object{}, unresolved(idx, id, to)
	}
	return to.Object, nil
}

// resolution returns what an argument leads to: the object of that id, else what index.ResolveArg finds.
func resolution(idx *index.Index, id string, c vault.Clock) index.Resolution {
	if o, ok := idx.Find(strings.TrimSpace(id)); ok {
		return index.Resolution{ID: o.ID(), Object: o}
	}
	return idx.ResolveArg(id, c)
}

// unresolved returns the fault of an argument that leads to no object.
func unresolved(idx *index.Index, id string, to index.Resolution) error {
	switch {
	case len(to.Matches) > 0:
		return ambiguous(id, to.Matches)
	case strings.Contains(id, "#"):
		return noObject(idx, "no section %q", id)
	}
	return noObject(idx, "no object %q", id)
}

// noPath says of an argument that names nothing that it could not, if it is written as a path and none
// that a note can have; else it is the error as it was.
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

// locateTarget finds the id of what an argument names, as locate does. A day that it names need not
// have a note: there are references to it all the same.
func locateTarget(idx *index.Index, ref string, c vault.Clock) (string, error) {
	to := resolution(idx, ref, c)
	if to.ID == "" {
		return "", unresolved(idx, ref, to)
	}
	return to.ID, nil
}

// How many candidates of an ambiguous reference an answer lists: where they are the answer, and where
// they stand beside another. A short name may be that of a section in every note.
const (
	maxCandidates = 200
	maxMatches    = 20
)

// firstOf are the first n of a list.
func firstOf[T any](all []T, n int) []T { return all[:min(n, len(all))] }

// ambiguous is AMBIGUOUS_REF with the candidates.
func ambiguous(ref string, matches []string) *fault.Fault {
	some := firstOf(matches, maxMatches)
	names := strings.Join(some, ", ")
	if len(some) < len(matches) {
		names += ", …"
	}
	return fault.New(fault.AmbiguousRef, "%q is ambiguous: it can be any of: %s", ref, names).
		With("matches", some).Fix("use one of these ids")
}

// notFound is NOT_FOUND. It echoes no id that could not be one.
func notFound(format, id string) *fault.Fault {
	f := fault.New(fault.NotFound, format, id)
	if len(id) > 600 || strings.ContainsAny(id, "\n\x00") {
		f = fault.New(fault.NotFound, "no object with that id")
	}
	return f
}

// maxRetries is how many of the nearest ids a fault offers to read.
const maxRetries = 3

// excludedBy says why there is no note at a path.
const excludedBy = "its path is excluded by " + vault.ConfigRaven

// noObject is NOT_FOUND with the nearest ids, and calls that read the first of them.
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
