package raven

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A newIn is the input of raven_new. It needs a title, a path, or the name field of the type.
//
// The tool never overwrites: a path that is taken is DUPLICATE_ID. raven_upsert creates or changes.
type newIn struct {
	tool.Vault
	// type of the object; the schema lists them
	Type string `json:"type" complete:"type"`
	// its name, which sets the type's name field and the file name
	Title string `json:"title,omitempty"`
	// its path, without .md; default: the type's folder and the title
	Path string `json:"path,omitempty" size:"id"`
	// values of the frontmatter
	Fields tool.Fields `json:"fields,omitempty" complete:"type_field" of:"type" alias:"field"`
	// Markdown after the frontmatter; default: the template, otherwise a heading
	Content string `json:"content,omitempty" text:"true"`
	// id of a template of the schema
	Template string `json:"template,omitempty" rare:"true"`
	tool.Brief
	tool.Mutation
}

// create returns the tool raven_new, which creates a note.
func (f tools) create() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_new", Family: Family, Title: "Create an object",
		Role: auth.Editor, Kind: tool.Write, Aliases: []string{"raven_object_create"},
		Route: tool.Route{Method: "POST", Path: "/objects"},
		Flags: map[string]string{"fields": "field"},
		Commands: []tool.Command{
			{Words: "new", Args: []string{"type", "title?"}},
			{Words: "object create", Args: []string{"type?", "title?"}},
		},
	}, func(ctx context.Context, c auth.Caller, in newIn) (objectOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, in.Slim, in.targets}, in.run)
	})
}

// run drafts the new object.
//
// The text is composed from the frontmatter and the body, and staged as a whole. Fields that the
// type does not declare, and references without a target, are warnings.
func (in newIn) run(ctx context.Context, tx *repo.Tx, out *objectOut) error {
	t, err := noteType(tx, in.Type)
	if err != nil {
		return err
	}
	n, err := in.plan(tx, t)
	if err != nil {
		return err
	}
	body, err := in.body(ctx, tx, t, n)
	if err != nil {
		return err
	}
	text, err := markdown.Compose(n.frontmatter(t), mutation.SeparateBody(body))
	if err != nil {
		return err
	}
	if err := tx.Put(ctx, n.path, text); err != nil {
		return err
	}
	unknownFields(&out.Aside, t, n.unknown)
	warnRefs(tx, &out.Aside, string(n.path))
	return out.created(tx, n.path)
}

// noteType returns the type with a name. It returns an error if notes cannot have it. A section is
// a heading in a note and cannot be created on its own.
func noteType(tx *repo.Tx, name string) (*vault.Type, error) {
	s, err := state.Schema(tx.Index())
	if err != nil {
		return nil, err
	}
	t, ok := s.Type(name)
	switch {
	case !ok:
		return nil, s.NoType(name)
	case t.Name == vault.Section:
		return nil, noSection(s)
	}
	return t, nil
}

// noSection returns the fault of a call that tries to create a section as a note.
func noSection(s *vault.Schema) error {
	others := slices.DeleteFunc(s.TypeNames(), func(name string) bool {
		return name == vault.Section
	})
	return fault.New(fault.InvalidType,
		"a section is a heading in a note, not a note; new creates one of: %s",
		strings.Join(vault.Offered(others), ", ")).With("available_types", vault.Offered(others)).
		Fix("write a heading into a note")
}

// A newNote is a checked note that does not exist yet.
//
// plan builds it; it is valid for the state of the draft that plan saw. path is empty only if plan
// returns an error.
type newNote struct {
	path vault.Path
	// title is empty if the name field is not given as text.
	title  string
	fields map[string]any
	// unknown are the fields that the type does not declare. They are written, with a warning.
	unknown []string
	at      time.Time // the current time for the template; zero: the time of the commit
}

// plan checks all arguments and returns the new note. If some are invalid, it returns one fault
// with all problems.
//
// The title sets the name field of the type unless the field is given. The fields are read as their
// types, defaults of the schema are not written, and references are replaced by full ids where they
// resolve. A missing title is not reported if the missing name field is reported already. Problems
// of fields have the path of the new note as their location.
func (in newIn) plan(tx *repo.Tx, t *vault.Type) (newNote, error) {
	fields := mutation.TypedFields(in.Fields)
	var problems []*fault.Fault
	if f := noType(fields); f != nil {
		problems = append(problems, f)
	}
	name := t.NameField()
	if _, given := fields[name]; name != "" && !given && in.Title != "" {
		fields[name] = in.Title
	}
	checked := t.Check(fields, state.Clock(tx.Index(), tx.Now()))
	problems = slices.Concat(problems, checked.Problems, t.Missing(fields),
		mutation.WrongTargets(tx.Index(), t, checked.Fields), unwritable(checked.Fields, inFrontmatter))
	n := newNote{fields: mutation.ByIDs(tx.Index(), t, checked.Fields), unknown: checked.Unknown}
	n.title = in.title(checked.Fields[name])
	path, err := in.path(tx, t, n.title)
	untitled := fault.Is(err, fault.MissingRequired)
	if err != nil && (!untitled || !hasNameProblem(problems, name)) {
		problems = append(problems, fault.Of(err))
	}
	n.path = path
	if f := n.setDailyTime(tx, t); f != nil {
		problems = append(problems, f)
	}
	if _, err := in.templateFile(tx, t); err != nil && in.Template != "" {
		problems = append(problems, fault.Of(err))
	}
	for i, p := range problems {
		if path != "" && p.Details["field"] != nil {
			problems[i] = p.At(string(path), 1)
		}
	}
	return n, fault.Join(Family.Several, problems).Err()
}

// hasNameProblem reports whether problems already contain the missing name field. A missing title
// is the same problem (CONTRACT §2).
func hasNameProblem(problems []*fault.Fault, name string) bool {
	return slices.ContainsFunc(problems, func(p *fault.Fault) bool {
		return p.Code == fault.MissingRequired && p.Details["field"] == name
	})
}

// title returns the title of the call or, if it has none, the value of the name field.
func (in newIn) title(name any) string {
	if s, ok := name.(string); ok && in.Title == "" {
		return s
	}
	return in.Title
}

// path returns the path of the new note. If a note has it already, it returns DUPLICATE_ID and the
// path.
func (in newIn) path(tx *repo.Tx, t *vault.Type, title string) (vault.Path, error) {
	path, err := in.place(t, title)
	if err != nil {
		return "", err
	}
	if tx.Index().Hides(string(path)) {
		return path, repo.Excluded(path)
	}
	if _, taken := tx.Index().Note(string(path)); taken {
		return path, fault.New(fault.DuplicateID, "there is an object %q already", path.ID()).
			With("id", path.ID()).Fix("set fields of that object, or give another title").
			Try("raven_read", fault.Args{"path": path.ID()})
	}
	return path, nil
}

// place returns the path that follows from the argument `path` or, without one, from the title.
//
// The file name that is derived from a title has no characters that file systems do not allow; a
// title without any usable character needs a path. The argument path is not changed that way, only
// checked.
func (in newIn) place(t *vault.Type, title string) (vault.Path, error) {
	id := strings.TrimSuffix(in.Path, ".md")
	if in.Path == "" {
		slug := vault.FileName(title)
		if slug == "" {
			return "", fault.New(fault.MissingRequired,
				"give the argument \"title\"").With("argument", "title")
		}
		id = t.DefaultPath + slug
	}
	return vault.NewPath(id)
}

// frontmatter returns the type, followed by the fields in alphabetical order. The type of a daily
// note is written as date, which every Raven reads.
func (n newNote) frontmatter(t *vault.Type) []markdown.Field {
	typ := t.Name
	if typ == vault.Daily {
		typ = "date"
	}
	return append([]markdown.Field{{Key: "type", Value: typ}}, mutation.SortedFields(n.fields)...)
}

// body returns the text after the frontmatter: the content of the call, else the template, else a
// heading with the title.
func (in newIn) body(
	ctx context.Context, tx *repo.Tx, t *vault.Type, n newNote,
) (string, error) {
	switch {
	case in.Content != "":
		return in.Content, nil
	case in.Template != "" || t.DefaultTemplate != "" || t.Template != "":
		return in.template(ctx, tx, t, n)
	case n.title == "":
		return "", nil
	}
	return "# " + strings.Join(strings.Fields(n.title), " ") + "\n", nil
}

// created fills the output of a call that created a note.
func (m *objectOut) created(tx *repo.Tx, path vault.Path) error {
	n, ok := tx.Index().Note(string(path))
	if !ok {
		return notFound("no object %q", path.ID())
	}
	o := objectAt(tx.Index(), index.Object{Note: n})
	m.Action, m.ID, m.Type, m.File, m.Object = "created", n.ID, n.Type, n.Path, &o
	return nil
}

// template returns the body of a new note from a template, with the variables replaced (raven.md
// §1.20): title, slug, type, date, datetime, year, month, day, weekday, field.NAME.
//
// The template is a file of the vault in the state of the draft. Only its body is used; the
// frontmatter of the new note follows from the call and the type. A variable that is unknown stays
// as it is.
func (in newIn) template(
	ctx context.Context, tx *repo.Tx, t *vault.Type, n newNote,
) (string, error) {
	file, err := in.templateFile(tx, t)
	if err != nil {
		return "", err
	}
	text, ok, err := tx.Text(ctx, file)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", fault.New(fault.NotFound, "the template %s does not exist", file).
			At(string(file), 0)
	}
	body := string(text[markdown.Parse(text).Body:])
	if n.at.IsZero() {
		n.at = state.Local(state.Clock(tx.Index(), tx.Now()))
	}
	return fill(body, t, n), nil
}

// fill returns the body with the variables of a template replaced by the values of a new note.
func fill(body string, t *vault.Type, n newNote) string {
	return strings.NewReplacer(variables(n, t)...).Replace(body)
}

// templateFile returns the path of the template: the one of the call, else the type's own. The id
// is looked up among the templates of the schema. A template in the definition of the type is a
// path.
func (in newIn) templateFile(tx *repo.Tx, t *vault.Type) (vault.Path, error) {
	s := tx.Index().Schema()
	id := cmp.Or(in.Template, t.DefaultTemplate)
	if id == "" {
		return vault.ParsePath(strings.TrimSuffix(t.Template, ".md") + ".md")
	}
	if known, ok := s.Template(id); ok {
		return vault.ParsePath(known.File)
	}
	ids := []string{}
	for _, known := range s.Templates {
		ids = append(ids, known.ID)
	}
	return "", fault.New(fault.InvalidValue, "there is no template with that id").
		With("argument", "template").With("allowed", ids)
}

// variables returns the variables of a template, each followed by its value. Values of fields are
// as the call gave them; a field without a value is empty.
func variables(n newNote, t *vault.Type) []string {
	at := n.at
	pairs := []string{
		"{{title}}", n.title, "{{slug}}", vault.FileName(n.title), "{{type}}", t.Name,
		"{{date}}", at.Format("2006-01-02"), "{{datetime}}", at.Format("2006-01-02T15:04"),
		"{{year}}", at.Format("2006"), "{{month}}", at.Format("01"), "{{day}}", at.Format("02"),
		"{{weekday}}", at.Format("Monday"),
	}
	for name, v := range n.fields {
		value := ""
		if v != nil {
			value = fmt.Sprint(unresolvedValue(v))
		}
		pairs = append(pairs, "{{field."+name+"}}", value)
	}
	return pairs
}
