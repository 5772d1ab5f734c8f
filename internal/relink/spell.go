package relink

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// newSpelling returns the new spelling of a reference: the text that replaces its target, and the target
// that Parse reads from it. It changes as little of the target as possible. ok is false if no
// spelling leads to the same object as before.
func (w *rewriting) newSpelling(ref markdown.Reference, was index.Resolution) (spelled, target string, ok bool) {
	written := string(w.text[ref.Written.Start:ref.Written.End])
	if w.isMarkdown(ref) && w.selects == nil {
		return w.newLinkSpelling(ref, written, was)
	}
	// A target with one of these characters would end the reference early, or be split.
	for _, target := range w.targets(written, was) {
		if !strings.ContainsAny(target, "[]|\n") && w.leadsSame(target, was) {
			return target, target, true
		}
	}
	return "", "", false
}

// isMarkdown reports whether a reference is a Markdown link or image, and not in double brackets.
func (w *rewriting) isMarkdown(ref markdown.Reference) bool {
	text := strings.TrimPrefix(string(w.text[ref.Span.Start:min(ref.Span.Start+3, ref.Span.End)]), "!")
	return !strings.HasPrefix(text, "[[")
}

// targets returns the candidates for a new target, those first that keep most of the old one: the
// same note by the same name with the new fragment, the new id with the same fragment, and the new
// id as a whole; for a fragment that was the title of the note also its name without a fragment.
func (w *rewriting) targets(written string, was index.Resolution) []string {
	base, fragment, inside := strings.Cut(written, "#")
	note, slug, within := strings.Cut(w.newTargetID(was), "#")
	var all []string
	if inside && !within && strings.Contains(was.ID, "#") { // the section became a note
		all = append(all, note)
	}
	// The name of the note stays, so a reference by title or alias is not turned into one by id.
	if inside && within && w.selects == nil {
		all = append(all, base+"#"+slug)
	}
	if inside {
		all = append(all, note+"#"+fragment)
	} else {
		all = append(all, note)
	}
	switch {
	case within:
		all = append(all, note+"#"+slug)
	case inside && base != "": // the fragment was the title of the note, which has another one now
		all = append(all, base, note)
	case inside:
		all = append(all, note)
	}
	return all
}

// newLinkSpelling is spell for a Markdown link. A relative link stays relative, and has the ending of the
// file. It tries the old path with the new fragment first, then each form of the new path with the
// old and the new fragment. written is the target as it is in the text, encoded.
func (w *rewriting) newLinkSpelling(
	ref markdown.Reference, written string, was index.Resolution,
) (spelled, target string, ok bool) {
	file, fragment, inside := strings.Cut(ref.Target, "#")
	_, rawFragment, _ := strings.Cut(written, "#")
	note, slug, within := strings.Cut(w.newTargetID(was), "#")
	encode := encoder(w.text, ref.Written)
	type end struct{ raw, decoded string }
	ends := []end{{}}
	if inside {
		ends = []end{{"#" + rawFragment, "#" + fragment}}
	}
	switch {
	case within:
		ends = append(ends, end{"#" + encode(slug), "#" + slug})
	case inside && strings.Contains(was.ID, "#"): // the section became a note
		ends = []end{{}}
	case inside: // the fragment can be the title of the note, which has another one now
		ends = append(ends, end{})
	}
	if inside && within && !w.losesPath(ref, was) { // the path can stay
		if target := file + "#" + slug; w.leadsSame(target, was) {
			rawFile, _, _ := strings.Cut(written, "#")
			return rawFile + "#" + encode(slug), target, true
		}
	}
	for _, e := range ends {
		for _, file := range w.filePaths(file, w.pathOf(note)) {
			if target := file + e.decoded; w.leadsSame(target, was) {
				return encode(file) + e.raw, target, true
			}
		}
	}
	return "", "", false
}

// filePaths returns the ways to write the path of a file of the vault in a link: from the root,
// relative to the folder of the note, and as a path in the vault. The first is written like the old
// one.
func (w *rewriting) filePaths(old, file string) []string {
	relative := relativePath(w.note.Path, file)
	dotted := relative
	if !strings.HasPrefix(relative, "../") {
		dotted = "./" + relative
	}
	switch {
	case strings.HasPrefix(old, "/"):
		return []string{"/" + file, file, dotted}
	case strings.HasPrefix(old, "./"):
		return []string{dotted, relative, file, "/" + file}
	case strings.HasPrefix(old, "../") || w.wasRelativePath(old):
		return []string{relative, dotted, file, "/" + file}
	}
	return []string{file, relative, dotted, "/" + file}
}

// wasRelativePath reports whether a path, relative to the old folder of the note, is that of a note.
func (w *rewriting) wasRelativePath(file string) bool {
	_, ok := w.before.Note(path.Join(vault.Path(w.from.Path).Dir(), file))
	return ok
}

// losesPath reports whether a Markdown link was the path of a note, relative to the folder of this
// one, and no longer is. It may still resolve by the name of the note, but not in programs that
// support only paths.
func (w *rewriting) losesPath(ref markdown.Reference, was index.Resolution) bool {
	if w.selects != nil || was.Object.Note == nil || !w.isMarkdown(ref) {
		return false
	}
	file, _, _ := strings.Cut(ref.Target, "#")
	note, _, _ := strings.Cut(w.newTargetID(was), "#")
	target := w.pathOf(note)
	from := func(n *index.Note) string { return path.Join(vault.Path(n.Path).Dir(), file) }
	return from(w.from) == was.Object.Note.Path && path.Clean(file) != target && from(w.note) != target
}

// pathOf returns the path of the note with an id of the second state. If there is no such note, as
// for a day without one, it returns the id with .md.
func (w *rewriting) pathOf(id string) string {
	if n, ok := w.after.ByID(id); ok {
		return n.Path
	}
	return id + ".md"
}

// relativePath returns the path of a file relative to the folder of a note.
func relativePath(note, file string) string {
	relative, err := filepath.Rel(path.Clean("/"+vault.Path(note).Dir()), "/"+file)
	if err != nil {
		return "/" + file
	}
	return filepath.ToSlash(relative)
}

// encoder returns a function that encodes a part of a target like the target at a span: for angle
// brackets, in which blanks are allowed, or with percent escapes.
func encoder(text []byte, at markdown.Span) func(string) string {
	if at.Start > 0 && text[at.Start-1] == '<' {
		return strings.NewReplacer("%", "%25", "<", "%3C", ">", "%3E", `\`, "%5C").Replace
	}
	return strings.NewReplacer("%", "%25", " ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E",
		`\`, "%5C", "*", "%2A", "`", "%60", "[", "%5B", "]", "%5D", "?", "%3F", "#", "%23").Replace
}
