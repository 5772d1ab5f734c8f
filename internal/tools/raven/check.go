package raven

import (
	"context"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A checkFilter selects the objects and issues of a check.
//
// All conditions must be met. They restrict what is reported and counted; except for ID they do not
// restrict what is examined, because problems such as duplicate names depend on all notes.
//
// ErrorsOnly drops the warnings from the list and from the counters; with Strict there are none to
// drop.
type checkFilter struct {
	// only this note, object or section, or a folder with a slash at its end
	ID string `json:"id,omitempty" complete:"id" size:"id"`
	// only issues of objects of this type
	Type string `json:"type,omitempty" complete:"type"`
	// only issues of this trait
	Trait string `json:"trait,omitempty" complete:"trait"`
	// only issues of these codes: missing_reference, INVALID_REF
	Issues []string `json:"issues,omitempty"`
	// no issues of these codes
	Exclude []string `json:"exclude,omitempty"`
	// leave out warnings
	ErrorsOnly bool `json:"errors_only,omitempty"`
	// warnings are errors
	Strict bool `json:"strict,omitempty"`
}

// A checkIn is the input of raven_check. CreateMissing makes the call a mutation, and excludes
// AsOf.
//
// The tool is a read of the reader's role unless CreateMissing is given; the Spec raises the role
// and the kind for that argument. The members of tool.Mutation have no effect without it.
type checkIn struct {
	tool.Vault
	checkFilter
	// create missing notes that references name, if their type is certain or inferred (needs the
	// editor role)
	CreateMissing bool `json:"create_missing,omitempty"`
	tool.AsOf
	tool.Mutation
}

// A checkOut is the result of a check.
//
// A check that finds errors is a failed call with valid data: the fault lists the errors, and
// Partly makes the projections send the data beside it.
type checkOut struct {
	tool.Aside `json:"-"`
	// notes that were checked
	Files    int `json:"file_count"`
	Errors   int `json:"error_count"`
	Warnings int `json:"warning_count"`
	// the warnings, the first 200; errors are in error.errors
	Issues []checkIssue `json:"issues"`

	// create_missing: the created notes, the first 200
	Created []createdNote `json:"created,omitzero"`
	// create_missing: references whose type is unknown, the first 200
	Unknown     []string              `json:"unknown,omitzero"`
	DryRun      bool                  `json:"dry_run,omitempty"`
	WouldModify []mutation.FileChange `json:"would_modify_files,omitempty"`

	checked bool // the check ran, so the data is valid
}

// Partly reports whether the data is valid although the check found errors. It returns false if
// the check did not run.
func (o *checkOut) Partly() bool { return o.checked }

// A checkIssue is one warning of a check. Errors are in the fault instead. It has the members of a
// fault, and its level, so that clients show both in the same way.
type checkIssue struct {
	Code fault.Code `json:"code"`
	// warning
	Level    string          `json:"level"`
	Message  string          `json:"message"`
	Location *fault.Location `json:"location,omitempty"`
	Details  map[string]any  `json:"details,omitempty"`
	Fixes    []string        `json:"fixes,omitempty"`
}

// checkTool returns the tool raven_check, which reports the problems of a vault. Without
// create_missing it reads one state of the vault, and the text of schema.yaml for line numbers.
// Whether files of the folder are synced is only known for the newest state, so a call with as_of
// does not report that.
func (f tools) checkTool() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_check", Family: Family, Title: "Check a vault",
		Role: auth.Reader, Kind: tool.Read, List: "issues",
		Raises:   map[string]tool.Raise{"create_missing": {Role: auth.Editor, Kind: tool.Write}},
		Route:    tool.Route{Method: "GET", Path: "/check"},
		Commands: []tool.Command{{Words: "check", Args: []string{"id?"}}},
	}, func(ctx context.Context, c auth.Caller, in checkIn) (checkOut, error) {
		if in.CreateMissing {
			return f.createMissing(ctx, c, in)
		}
		v, err := f.viewAt(ctx, c, in.Vault.Vault, in.AsOf)
		if err != nil {
			return checkOut{Issues: []checkIssue{}}, err
		}
		check, err := newVaultCheck(ctx, v.Index, v.Clock, in.checkFilter)
		if err != nil {
			return checkOut{Issues: []checkIssue{}}, err
		}
		if file, ok := v.Index.File(vault.SchemaFile); ok {
			if check.schema, err = v.Vault.Text(ctx, file.Body); err != nil {
				return checkOut{Issues: []checkIssue{}}, err
			}
		}
		if in.AsOf.AsOf == "" {
			check.onDisk(v.Control, v.Control.Freshness(v.Vault.Now()))
		}
		out, err := check.answer(ctx, in)
		out.Note("version", v.Version())
		return out, err
	})
}

// newVaultCheck returns the check that a filter selects.
//
// The check is not yet run. A caller sets keeps before run if it needs the findings themselves and
// not an answer. On an error the returned check must not be used.
func newVaultCheck(
	ctx context.Context, idx *index.Index, c vault.Clock, in checkFilter,
) (*vaultCheck, error) {
	p, err := in.picker(ctx, idx, c)
	return &vaultCheck{idx: idx, clock: c, picks: p}, err
}

// picker returns the parsed filter. An unknown code, type, folder or id is an error. A type that is
// missing from the schema is accepted if an object declares it, because issues of such objects are
// exactly what a caller may look for. The id of a section selects the lines of its subtree, and
// that of a folder ends in a slash.
func (in checkFilter) picker(
	ctx context.Context, idx *index.Index, c vault.Clock,
) (p picker, err error) {
	p = picker{typ: in.Type, trait: in.Trait}
	if p.issues, err = codesIn("issues", in.Issues); err != nil {
		return p, err
	}
	if p.exclude, err = codesIn("exclude", in.Exclude); err != nil {
		return p, err
	}
	if in.Type != "" {
		if t, ok := idx.Schema().Type(in.Type); ok {
			p.typ = t.Name
		} else if idx.SchemaErr() == nil && !declaredAnywhere(ctx, idx, in.Type) {
			if ctx.Err() != nil {
				return p, ctx.Err()
			}
			return p, idx.Schema().NoType(in.Type)
		}
	}
	switch id := strings.TrimSpace(in.ID); {
	case id == "":
	case strings.HasSuffix(id, "/"):
		if idx.FolderSum(strings.TrimSuffix(id, "/")).Notes == 0 {
			return p, fault.New(fault.NotFound, "no folder %q has notes", id).With("argument", "id")
		}
		p.folder = id
	default:
		o, err := locate(idx, id, c)
		if err != nil {
			return p, err
		}
		p.path = o.Note.Path
		if o.Section != nil {
			p.from, p.until = o.Section.Line(), o.Section.SubtreeEnd()
		}
	}
	return p, nil
}

// declaredAnywhere reports whether some object declares the type typ, which may be missing from the
// schema. It returns false if the context has ended.
//
// It reads the declared types in the index, all notes in the worst case; it is called only for a
// type that the schema does not have.
func declaredAnywhere(ctx context.Context, idx *index.Index, typ string) bool {
	going := state.KeepGoing(ctx)
	for n := range idx.Notes("") {
		if !going() {
			return false
		}
		if n.DeclaredType == typ {
			return true
		}
		for i := range n.Sections {
			if n.Sections[i].DeclaredType() == typ {
				return true
			}
		}
	}
	return false
}

// levels returns the numbers of errors and warnings for the answer, given the numbers found: strict
// turns warnings into errors, and errors_only drops warnings.
func (in checkFilter) levels(errors, warnings int) (int, int) {
	switch {
	case in.Strict:
		return errors + warnings, 0
	case in.ErrorsOnly:
		return errors, 0
	}
	return errors, warnings
}

// beforeEnd is the time before the deadline of a call at which a check stops, so that it can still
// answer.
const beforeEnd = time.Second

// answer runs the check and returns its result. If there are errors, it also returns a
// VALIDATION_FAILED fault with the first of them. A check that runs out of time is reported as an
// issue, and its result covers only a part of the vault.
//
// The lists are limited to the first maxProblems errors and as many warnings, by location; the
// counters are not. Details that are expensive to compute, such as similar ids, are added only to
// the listed findings. A deadline of the context less beforeEnd ends the check early.
func (c *vaultCheck) answer(ctx context.Context, in checkIn) (checkOut, error) {
	out := checkOut{Issues: []checkIssue{}}
	if end, ok := ctx.Deadline(); ok {
		c.until = end.Add(-beforeEnd)
	}
	// A check that ran out of time still has a result. Only a call that ended has none.
	if !c.run(ctx) {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		c.incomplete()
	}
	out.checked = true
	out.Files = c.files
	out.Errors, out.Warnings = in.levels(c.errors, c.warnings)
	var errs []*fault.Fault
	for _, f := range c.listed() {
		isError := !f.warning || in.Strict
		if !isError && in.ErrorsOnly || isError && len(errs) == maxProblems {
			continue
		}
		one := f.fault
		if f.more != nil {
			one = f.more(one)
		}
		if isError {
			errs = append(errs, one)
		} else {
			out.Issues = append(out.Issues,
				checkIssue{one.Code, "warning", one.Message, one.Location, one.Details, one.Fixes})
		}
	}
	if out.Errors == 0 {
		return out, nil
	}
	failed := fault.New(fault.ValidationFailed, "the check found %s and %s", mutation.Count(out.Errors, "error"),
		mutation.Count(out.Warnings, "warning"))
	failed.Errors = errs
	failed.Message = failed.Summary()
	return out, failed
}

// A createdNote is a note that create_missing created.
type createdNote struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	File string `json:"file"`
	// certain or inferred
	Confidence string `json:"confidence"`
	// references that resolve to it now
	References int `json:"references"`
}

// createMissing runs a check with the argument create_missing, which is a mutation.
//
// The call names no files, so if_version is compared only with the files that it changes.
func (f tools) createMissing(ctx context.Context, c auth.Caller, in checkIn) (checkOut, error) {
	if in.AsOf.AsOf != "" {
		return checkOut{}, fault.New(fault.InvalidValue, "create_missing cannot be used with as_of").
			With("argument", "as_of")
	}
	return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, false, optionalTarget("")}, in.make)
}

// make drafts the missing notes, checks the vault with them, and fills the output. If that check
// finds errors, they are only counted, so that the notes are still written.
//
// It runs the check twice: first to collect the missing targets of references, and after the
// creation for the answer, which describes the vault with the new notes. Both use the caller's
// filter, so only targets of selected references are created.
func (in checkIn) make(ctx context.Context, tx *repo.Tx, out *checkOut) error {
	if _, err := state.Schema(tx.Index()); err != nil {
		return err
	}
	clock := state.Clock(tx.Index(), tx.Now())
	missing, err := newVaultCheck(ctx, tx.Index(), clock, in.checkFilter)
	if err != nil {
		return err
	}
	missing.keeps = func(f finding) bool { return f.missing != nil }
	if !missing.run(ctx) {
		return ctx.Err()
	}
	created, unknown, err := missing.create(ctx, tx)
	if err != nil {
		return err
	}
	again, err := newVaultCheck(ctx, tx.Index(), clock, in.checkFilter)
	if err != nil {
		return err
	}
	found, failed := again.answer(ctx, in)
	found.Aside = out.Aside
	*out = found
	out.Created, out.Unknown = firstOf(created, maxProblems), firstOf(unknown, maxProblems)
	if failed != nil && !fault.Is(failed, fault.ValidationFailed) {
		return failed
	}
	if !tx.DryRun() {
		return mutation.NoteFiles(ctx, tx, &out.Aside)
	}
	out.DryRun = true
	out.WouldModify, err = finishBulk(ctx, tx, &out.Aside)
	return err
}

// create drafts a note for each kept finding of a missing reference whose type is certain or
// inferred. It returns the created notes, and the references for which no note was created.
//
// Several findings can have the same target; the note is created once, and References counts them.
// A target that could not be created is not tried again. The required fields that have no default
// are written as null: the check then reports them as missing, which reminds a person to fill them
// in.
func (c *vaultCheck) create(ctx context.Context, tx *repo.Tx) (created []createdNote, unknownRefs []string, err error) {
	made, skipped := map[string]int{}, map[string]bool{}
	created, unknownRefs = []createdNote{}, []string{}
	skip := func(ref string) {
		if !skipped[ref] {
			skipped[ref], unknownRefs = true, append(unknownRefs, ref)
		}
	}
	for _, f := range c.kept {
		m := *f.missing
		if i, ok := made[m.id]; ok {
			created[i].References++
			continue
		}
		if m.confidence == unknown || skipped[m.id] {
			skip(m.id)
			continue
		}
		in := m.call()
		in.Fields = tool.Fields{}
		// The required fields are written as null, for a person to fill in.
		for _, missing := range m.typ.Missing(map[string]any{m.typ.NameField(): in.Title}) {
			name, _ := missing.Details["field"].(string)
			in.Fields[name] = nil
		}
		// A note that cannot be created does not prevent the others.
		one := objectOut{}
		if err := tx.Try(func() error { return in.run(ctx, tx, &one) }); err != nil {
			if ctx.Err() != nil {
				return nil, nil, err
			}
			skip(m.id)
			continue
		}
		made[m.id] = len(created)
		created = append(created, createdNote{one.ID, one.Type, one.File, m.confidence, 1})
	}
	return created, unknownRefs, nil
}
