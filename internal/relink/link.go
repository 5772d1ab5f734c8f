package relink

import (
	"path"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// anchors rewrites Markdown links to a section of the same note, `[x](#part)`, if the section has
// another slug now. A section that is in another note now is handled by freeAnchors.
func (w *rewriting) anchors() {
	for i, link := range w.doc.Anchors {
		target := "#" + markdown.Unescape(strings.TrimPrefix(link.Target, "#"))
		if !w.enterPassage(link.Line) {
			continue
		}
		was := w.resolveBefore.From(w.from, target)
		// A link that leads nowhere, or still leads to the same section, stays as it is.
		if was.ID == "" || was.FragmentMissing || w.leadsSame(target, was) {
			continue
		}
		_, slug, _ := strings.Cut(w.NewID(was.ID), "#")
		spelled := "#" + encoder(w.text, link.Written)(slug)
		w.edits = append(w.edits, edit{
			at: link.Written, with: spelled, line: link.Line, source: w.note.Object(-1),
			holds: func(d *markdown.Doc) bool {
				return len(d.Anchors) == len(w.doc.Anchors) && d.Anchors[i].Target == spelled
			},
		})
	}
}

// files rewrites the relative links to files that are not notes, if the note moved to another
// folder, because the files did not move.
func (w *rewriting) files() {
	for i, link := range w.doc.Links {
		if !w.enterPassage(link.Line) || !w.moved() {
			continue
		}
		spelled, ok := w.fileLink(link)
		if !ok {
			continue
		}
		w.edits = append(w.edits, edit{
			at: link.Written, with: spelled, line: link.Line, source: w.note.Object(-1),
			holds: func(d *markdown.Doc) bool {
				return len(d.Links) == len(w.doc.Links) && d.Links[i].Target == spelled
			},
		})
	}
}

// fileLink returns the target of a link to a file, relative to the current folder of the note. It
// returns false if the link need not change.
func (w *rewriting) fileLink(link markdown.Link) (string, bool) {
	file, end := link.Target, ""
	if i := strings.IndexAny(file, "?#"); i >= 0 {
		file, end = file[:i], file[i:]
	}
	plain := markdown.Unescape(file)
	if link.Scheme != markdown.SchemeFile || plain == "" || strings.HasPrefix(plain, "/") {
		return "", false
	}
	relative := relativePath(w.note.Path, path.Join(vault.Path(w.from.Path).Dir(), plain))
	if strings.HasSuffix(plain, "/") {
		relative += "/"
	}
	if strings.HasPrefix(plain, "./") && !strings.HasPrefix(relative, "../") {
		relative = "./" + relative
	}
	return encoder(w.text, link.Written)(relative) + end, relative != plain
}
