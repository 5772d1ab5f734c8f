package notes

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A writeIn is the input of notes_write. At least one of Content and Frontmatter must be given.
//
// Content replaces the body or, with Append, is added at its end. Frontmatter changes the given
// fields and keeps all others; the value null removes a field.
type writeIn struct {
	tool.Vault
	// inbox/plan.md
	Path string `json:"path" complete:"path" names:"target"`
	// Markdown after the frontmatter; default: the text is kept
	Content *string `json:"content,omitempty" text:"true" alias:"body"`
	// fields and their new values; null removes a field, others are kept
	Frontmatter tool.Fields `json:"frontmatter,omitempty"`
	// append content to the note, unchanged
	Append bool `json:"append,omitempty"`
	tool.Mutation
}

// A writeOut is the answer of notes_write.
type writeOut struct {
	tool.Aside `json:"-"`
	Path       string `json:"path"`
	// false in a dry run
	Written bool `json:"written"`
	DryRun  bool `json:"dry_run,omitempty"`
	// of a dry run
	WouldModify []mutation.FileChange `json:"would_modify_files,omitempty"`
}

// write returns the tool that creates or changes one note.
func (f tools) write() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_write", Short: "write", Family: Family, Title: "Write a note",
		Role: auth.Editor, Kind: tool.Destroy,
		Route:    tool.Route{Method: "POST", Path: "/notes"},
		Commands: []tool.Command{{Words: "write", Args: []string{"path", "content?"}}},
		Stdin:    "content",
	}, f.writeNote)
}

// writeNote creates a note, or changes its text or its fields.
func (f tools) writeNote(ctx context.Context, c auth.Caller, in writeIn) (writeOut, error) {
	w, err := in.request()
	if err != nil {
		return writeOut{}, err
	}
	return mutation.Draft(ctx, f.Source, mutation.Request{
		Caller: c, Vault: in.Vault.Vault, Mutation: &in.Mutation,
		Targets: func(context.Context, *repo.Tx) ([]vault.Path, error) { return []vault.Path{w.path}, nil },
	}, w.run)
}

// A writeRequest is a call of notes_write with valid arguments.
type writeRequest struct {
	path     vault.Path
	content  *string     // nil: the text is not changed
	append   bool        // append the content instead of replacing the body
	set      tool.Fields // fields to set
	unset    []string    // names of fields to remove
	reserved []string    // fields that are not written
	dry      bool        // dry run
}

// request checks the arguments of the call, as far as that is possible without the vault. Fields
// with the value null are removed. Reserved fields are left out and reported later.
func (in writeIn) request() (*writeRequest, error) {
	switch {
	case in.Content == nil && len(in.Frontmatter) == 0:
		return nil, fault.New(fault.InvalidParameter, "give content, frontmatter, or both").
			With("argument", "content")
	case in.Content == nil && in.Append:
		return nil, fault.New(fault.InvalidParameter, "append needs content").With("argument", "content")
	}
	clean, err := cleanPath("path", in.Path)
	if err != nil {
		return nil, err
	}
	path, err := newPath(clean)
	if err != nil {
		return nil, err
	}
	w := &writeRequest{path: path, content: in.Content, append: in.Append, set: tool.Fields{}, dry: in.DryRun}
	for _, name := range slices.Sorted(maps.Keys(in.Frontmatter)) {
		switch v := in.Frontmatter[name]; {
		case slices.Contains(reserved, name):
			w.reserved = append(w.reserved, name)
		case v == nil:
			w.unset = append(w.unset, name)
		default:
			w.set[name] = v
		}
	}
	return w, nil
}

// newPath parses the path of a note to write. Neither the fault nor its fixes quote the path.
func newPath(clean string) (vault.Path, error) {
	path, err := vault.ParsePath(clean)
	if err == nil {
		return path, nil
	}
	f := *fault.Of(err)
	f.Fixes = nil
	return "", (&f).With("argument", "path").Fix("give the path of a note: folder/name.md")
}

// reserved are the fields in which the system behind the specification records the authors of a
// note. Here the log records them.
var reserved = []string{
	"knowtation_editor", "knowtation_edited_at", "author_kind", "knowtation_proposed_by", "knowtation_approved_by",
}

// run drafts the change: the body first, then the fields, so that the fields also apply to new
// content with a frontmatter of its own. References in the new text that do not resolve are
// reported as warnings.
//
// The new text is built from the text in the transaction, so a call that is drafted again after
// another commit keeps the changes of that commit, unless if_version forbids it.
func (w *writeRequest) run(ctx context.Context, tx *repo.Tx, out *writeOut) error {
	was, there, err := tx.Text(ctx, w.path)
	if err != nil {
		return err
	}
	if !there {
		if err := vault.CheckNew(w.path); err != nil {
			return fault.Of(err).With("argument", "path")
		}
	}
	text, err := w.patch(tx, w.body(was))
	if err != nil {
		return err
	}
	if err := tx.Put(ctx, w.path, text); err != nil {
		return err
	}
	mutation.WarnRefs(tx, &out.Aside, nil, string(w.path))
	w.warnReserved(&out.Aside)
	out.Path, out.Written, out.DryRun = string(w.path), !w.dry, w.dry
	if w.dry {
		out.WouldModify, err = mutation.FileChanges(ctx, tx)
	}
	return err
}

// body returns the text with the new content: appended, or in place of everything after the
// frontmatter. The text of a new note is the content, which can have its own frontmatter, with a
// newline at its end. Without content it returns the text unchanged. Appended content keeps its
// bytes.
func (w *writeRequest) body(was []byte) []byte {
	switch {
	case w.content == nil:
		return was
	case w.append:
		return markdown.AddBytes(was, *w.content)
	case len(was) > 0:
		return markdown.SetBody(was, *w.content)
	case *w.content == "" || strings.HasSuffix(*w.content, "\n"):
		return []byte(*w.content)
	}
	return []byte(*w.content + "\n")
}

// patch returns the text with the fields set and removed. Everything else is unchanged. The new
// values are checked by the type of the note first.
func (w *writeRequest) patch(tx *repo.Tx, text []byte) ([]byte, error) {
	if len(w.set)+len(w.unset) == 0 {
		return text, nil
	}
	set, err := w.check(tx, text)
	if err != nil {
		return nil, err
	}
	if len(set) > 0 {
		if text, err = markdown.SetFields(text, mutation.SortedFields(set)); err != nil {
			return nil, w.unwritable(err)
		}
	}
	if len(w.unset) == 0 {
		return text, nil
	}
	text, err = markdown.UnsetFields(text, w.unset)
	return text, w.unwritable(err)
}

// unwritable returns an INVALID_PARAMETER fault, with the line, for an error of an edit:
// frontmatter that cannot be edited, or a value that cannot be written. It returns nil for a nil
// error.
func (w *writeRequest) unwritable(err error) error {
	if err == nil {
		return nil
	}
	f := asParameter(fault.Of(err))
	line, _ := f.Details["line"].(int)
	return f.At(string(w.path), line)
}

// asParameter returns a fault about a field with the code of this family for it.
func asParameter(f *fault.Fault) *fault.Fault {
	g := *f
	g.Code = fault.InvalidParameter
	return (&g).With("argument", "frontmatter")
}

// check parses the new values according to the type that the note will have, and returns them with
// references as ids. It returns all problems as one fault, also for removed fields that the type
// requires. Fields that the call does not mention are not checked.
//
// References are stored as ids, so that a note that is renamed later is still found. The clock of
// the vault resolves relative dates, such as "today".
func (w *writeRequest) check(tx *repo.Tx, text []byte) (map[string]any, error) {
	s, err := state.Schema(tx.Index())
	if err != nil {
		return nil, err
	}
	fields := mutation.TypedFields(w.set)
	t := w.typeOf(s, text)
	checked := t.Check(fields, state.Clock(tx.Index(), tx.Now()))
	problems := slices.Concat(checked.Problems, mutation.WrongTargets(tx.Index(), t, checked.Fields))
	for _, name := range w.unset {
		if f, ok := t.Field(name); ok && f.Required && !f.HasDefault {
			problems = append(problems, fault.New(fault.InvalidParameter, "type %s requires the field %q",
				t.Name, name).With("field", name))
		}
	}
	for i, p := range problems {
		problems[i] = asParameter(p)
	}
	if f := fault.Join(Family.Several, problems); f != nil {
		return nil, f
	}
	return mutation.ByIDs(tx.Index(), t, checked.Fields), nil
}

// typeOf returns the type that the note will have: from the new fields or, without them, from its
// frontmatter. If the schema does not have that type, the note is a page, which declares no fields.
// The type decides which values are valid, so a call can set the type and its fields together.
func (w *writeRequest) typeOf(s *vault.Schema, text []byte) *vault.Type {
	name := vault.Page
	if fm, _ := markdown.ReadHead(text); fm != nil {
		if e, ok := fm.Get("type"); ok {
			name, _ = e.Value.(string)
		}
	}
	switch given := w.set["type"].(type) {
	case string:
		name = given
	case tool.Text:
		name = string(given)
	}
	if slices.Contains(w.unset, "type") {
		name = vault.Page
	}
	if t, ok := s.Type(name); ok {
		return t
	}
	page, _ := s.Type(vault.Page)
	return page
}

// warnReserved adds a warning for each reserved field that was given.
func (w *writeRequest) warnReserved(a *tool.Aside) {
	for _, name := range w.reserved {
		a.Warn("UNKNOWN_FIELD", "the field "+name+" is not written: the log records the authors of a note",
			map[string]any{"field": name})
	}
}
