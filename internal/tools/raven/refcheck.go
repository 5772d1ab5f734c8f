package raven

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// warnRefs warns of the new references in these notes that do not resolve, with calls of raven_new
// that create the targets; see mutation.WarnRefs.
func warnRefs(tx *repo.Tx, a *tool.Aside, paths ...string) {
	mutation.WarnRefs(tx, a, func(
		tx *repo.Tx, m mutation.Mention, t *vault.Type,
	) (command string, call fault.Call, ok bool) {
		in, ok := createCall(tx, m, t)
		if !ok {
			return "", fault.Call{}, false
		}
		return in.command(), in.call(), true
	}, paths...)
}

// createCall returns a call that creates the target of a reference, or false if there is none. The
// call was tried: it succeeds, and then the reference resolves to the new note.
//
// The type is that which the context of the reference suggests. Required fields get an empty value,
// for the caller to fill in. If the reference names a section, the new note has a heading for it.
func createCall(tx *repo.Tx, m mutation.Mention, t *vault.Type) (in newIn, ok bool) {
	if tx.Index().SchemaErr() != nil {
		return in, false
	}
	id, fragment, inside := m.Parts()
	in = newIn{Type: t.Name, Title: id[strings.LastIndexByte(id, '/')+1:], Fields: tool.Fields{}}
	if inside {
		in.Content = "## " + fragment
	}
	given := map[string]any{t.NameField(): in.Title}
	for _, f := range t.Missing(given) {
		name, _ := f.Details["field"].(string)
		in.Fields[name] = tool.Text("")
	}
	// Try the id as it is written, then its clean form, then the default path of the type.
	paths := []string{id, vault.CleanPath(id), ""}
	if t.DefaultPath+vault.FileName(in.Title) == id {
		paths = []string{""}
	}
	for _, in.Path = range paths {
		if in.wouldResolve(tx, t, m.Target) {
			return in, true
		}
	}
	return in, false
}

// wouldResolve reports whether the call would succeed, and the reference would then resolve to the
// new note.
//
// It builds the note in a copy of the index and resolves the reference there, which costs time in
// proportion to the changed notes and nothing in the log.
func (in newIn) wouldResolve(tx *repo.Tx, t *vault.Type, ref string) bool {
	n, err := in.plan(tx, t)
	if err != nil {
		return false
	}
	idx := tx.Index()
	if _, collides := idx.Folded(string(n.path)); collides {
		return false
	}
	// The call would fail if the template does not exist.
	if in.Content == "" && (t.Template != "" || t.DefaultTemplate != "") {
		file, err := in.templateFile(tx, t)
		if _, ok := idx.File(string(file)); err != nil || !ok {
			return false
		}
	}
	text, err := markdown.Compose(n.frontmatter(t), mutation.SeparateBody(in.Content))
	if err != nil {
		return false
	}
	after := idx.With(index.Commit{
		Seq: idx.Version() + 1, Time: tx.Now(),
		Changes: []index.Change{{Path: string(n.path), Text: text}},
	})
	to := after.Resolve(ref)
	return to.Object.Note != nil && to.Object.Note.Path == string(n.path)
}
