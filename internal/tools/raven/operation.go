package raven

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// The entities of operations.
const (
	anObject = "object"
	aTrait   = "trait"
)

// A step is one operation of a batch, checked as far as possible without the vault.
//
// A step can be drafted several times: run reads only the parsed arguments and builds a new answer
// each time.
type step struct {
	index      int
	op, entity string
	tool       string // the tool that makes the same change
	data       json.RawMessage

	targets targetFiles
	// run drafts the step and returns its unsettled answer.
	run    func(context.Context, *repo.Tx) (answer, error)
	normal func(*repo.Tx) (any, error) // returns the normalized change; nil: not supported
}

// An operation defines one kind of steps: the tool whose arguments it has, and the way to read
// them.
//
// The tool is used for the descriptions and names of its arguments; its handler is not called,
// because it would open the vault and commit by itself.
type operation struct {
	entities []string // allowed entities; the first is the default
	required bool     // a step must name its entity
	tool     *tool.Tool
	// read parses the data of an operation.
	read func(t *tool.Tool, data json.RawMessage) (step, error)
}

// An input is the input of a tool that makes one change.
//
// Every such input can be an operation of a batch. It can also have a method legal, to check
// arguments without the vault, and normal, for raven_validate.
type input[P answer] interface {
	run(ctx context.Context, tx *repo.Tx, out P) error
}

// stepReader returns a function that reads the arguments of a tool as a step.
//
// Arguments that belong to a whole call are not accepted; see notInSteps. The static types tie the
// input to the output of the same tool, so that no type assertion is needed later.
func stepReader[In input[P], Out any, P answerOf[Out]](
	about func(In) targetFiles,
) func(t *tool.Tool, data json.RawMessage) (step, error) {
	return func(t *tool.Tool, data json.RawMessage) (step, error) {
		var in In
		if err := t.ReadArgs(data, notInSteps, &in); err != nil {
			return step{}, err
		}
		if l, ok := any(in).(interface{ validate() error }); ok {
			if err := l.validate(); err != nil {
				return step{}, err
			}
		}
		s := step{
			data: data, targets: about(in),
			run: func(ctx context.Context, tx *repo.Tx) (answer, error) {
				out := P(new(Out))
				return out, in.run(ctx, tx, out)
			},
		}
		if n, ok := any(in).(interface {
			normal(*repo.Tx) (any, error)
		}); ok {
			s.normal = n.normal
		}
		return s, nil
	}
}

// notInSteps reports whether an argument applies to a whole call, so that an operation cannot have
// it.
func notInSteps(a tool.Arg) bool {
	switch a.Means {
	case tool.MeansVersion, tool.MeansKey, tool.MeansDry:
		return true
	}
	return slices.Contains([]string{
		"vault", "query", "filter", "plan_token", "confirm", "erase", tool.SlimArg,
	}, a.Name)
}

// operations returns the kinds of operations, by op and entity, such as "create object".
//
// Operations with required false imply their entity.
func (f tools) operations() map[string]operation {
	object, trait := []string{anObject}, []string{aTrait}
	return map[string]operation{
		"create object": {object, true, f.create(),
			stepReader[newIn, objectOut](func(in newIn) targetFiles { return in.targets })},
		"update object": {object, true, f.set(),
			stepReader[setIn, objectOut](func(in setIn) targetFiles { return noteTarget(in.ID) })},
		"delete object": {object, true, f.remove(),
			stepReader[deleteIn, objectOut](func(in deleteIn) targetFiles { return noteTarget(in.ID) })},
		"create trait": {trait, true, f.traitCreate(),
			stepReader[traitCreateIn, traitOut](func(in traitCreateIn) targetFiles { return in.targets })},
		"update trait": {trait, true, f.traitUpdate(),
			stepReader[traitUpdateIn, traitOut](func(in traitUpdateIn) targetFiles { return noteTarget(in.ID) })},
		"delete trait": {trait, true, f.traitDelete(),
			stepReader[traitDeleteIn, traitOut](func(in traitDeleteIn) targetFiles { return noteTarget(in.ID) })},
		"add object": {object, false, f.add(),
			stepReader[addIn, objectOut](func(in addIn) targetFiles { return in.targets })},
		"edit object": {object, false, f.edit(),
			stepReader[editIn, editOut](func(in editIn) targetFiles { return noteTarget(in.ID) })},
		"upsert object": {object, false, f.upsert(),
			stepReader[upsertIn, upsertOut](func(in upsertIn) targetFiles { return in.targets })},
		"unset object": {object, false, f.unset(),
			stepReader[unsetIn, objectOut](func(in unsetIn) targetFiles { return noteTarget(in.ID) })},
		"move object": {object, false, f.move(),
			stepReader[moveIn, moveOut](func(in moveIn) targetFiles { return noteTarget(in.Source) })},
		"reclassify object": {object, false, f.reclassify(),
			stepReader[reclassifyIn, reclassifyOut](func(in reclassifyIn) targetFiles { return noteTarget(in.ID) })},
	}
}

// An operationIn is one operation in the arguments of a batch.
type operationIn struct {
	// create, update or delete an object or a trait; or add, edit, upsert, unset, move, reclassify
	Op string `json:"op"`
	// object or trait
	Entity string `json:"entity,omitempty"`
	// an object: the arguments of the operation's own tool, such as raven_new for create object
	Data tool.JSON `json:"data"`
}

// step returns the parsed operation. If the data is invalid, it returns an error and a step that
// has only its names.
func (in operationIn) step(kinds map[string]operation) (step, error) {
	kind, err := in.kind(kinds)
	if err != nil {
		return in.named(kinds), err
	}
	s, err := step{}, error(nil)
	if text := strings.TrimSpace(string(in.Data)); !strings.HasPrefix(text, "{") {
		err = fault.New(fault.InvalidValue, "data must be an object: the arguments of %s", kind.tool.Name).
			With("argument", "data")
	} else {
		s, err = kind.read(kind.tool, json.RawMessage(in.Data))
	}
	s.op, s.entity, s.tool = in.Op, in.Entity, kind.tool.Name
	return s, err
}

// named returns a step with those of the names that exist: an answer does not repeat invalid ones.
func (in operationIn) named(kinds map[string]operation) (s step) {
	for name := range kinds {
		op, entity, _ := strings.Cut(name, " ")
		if op == in.Op {
			s.op = op
		}
		if entity == in.Entity {
			s.entity = entity
		}
	}
	return s
}

// entity returns the entity of the operation, also if it is implied.
func (in operationIn) entity(kinds map[string]operation) string {
	if kind, err := in.kind(kinds); err == nil {
		return kind.entities[0]
	}
	return in.Entity
}

// kind returns the kind of the operation, or a fault with the allowed names.
//
// The lists of allowed names are derived from kinds. An absent entity is filled in only for
// operations that imply it; for the others it is MISSING_REQUIRED.
func (in operationIn) kind(kinds map[string]operation) (operation, error) {
	ops := map[string]bool{}
	var entities []string
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		op, entity, _ := strings.Cut(name, " ")
		ops[op] = true
		if op == in.Op {
			entities = append(entities, entity)
		}
	}
	if len(entities) == 0 {
		allowed := slices.Sorted(maps.Keys(ops))
		return operation{}, fault.New(fault.InvalidValue, "op must be one of %s", strings.Join(allowed, ", ")).
			With("argument", "op").With("allowed", allowed).Suggest(in.Op, allowed)
	}
	entity := in.Entity
	if first := kinds[in.Op+" "+entities[0]]; entity == "" && !first.required {
		entity = entities[0]
	}
	kind, ok := kinds[in.Op+" "+entity]
	if ok {
		return kind, nil
	}
	code := fault.InvalidValue
	if entity == "" {
		code = fault.MissingRequired
	}
	return kind, fault.New(code, "the entity of %s must be %s", in.Op, strings.Join(entities, " or ")).
		With("argument", "entity").With("allowed", vault.Offered(entities))
}

// A targetFiles returns the existing files that the arguments of a mutation name. Their versions
// are compared with if_version before any other check; see mutation.Change.
//
// A targetFiles runs in the transaction before the change is drafted, so it sees the state that the
// version of the caller is compared with. It must find files leniently: arguments that name
// nothing, or several objects, give no files and no error, because run reports such arguments
// afterwards with a better message than a version conflict. Files that the change touches without
// being named, such as notes with references to a moved note, are not among them; the transaction
// compares these when they are staged.
type targetFiles func(context.Context, *repo.Tx) ([]vault.Path, error)

// noteTarget returns a targetFiles for an argument that names an object, a section or a trait: the file
// of its note.
func noteTarget(ref string) targetFiles {
	return func(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
		return notesOf(tx, ref), nil
	}
}

// notesOf returns the path of the note that ref names, or whose section or trait ref names. It
// returns nil if there is no such note, or if ref is ambiguous. The three readings are tried in
// this order: the id of a trait, the id or name of an object, and for a text with # the part before
// it.
func notesOf(tx *repo.Tx, ref string) []vault.Path {
	idx := tx.Index()
	if t, _, err := findTrait(idx, ref); err == nil {
		return []vault.Path{vault.Path(t.Note.Path)}
	}
	o, err := locate(idx, ref, state.Clock(idx, tx.Now()))
	// The section may have been deleted. Its note is then compared with if_version.
	if note, _, inside := strings.Cut(ref, "#"); err != nil && inside {
		o, err = locate(idx, note, state.Clock(idx, tx.Now()))
	}
	if err != nil {
		return nil
	}
	return []vault.Path{vault.Path(o.Note.Path)}
}

// targets returns the path of the note that the text is added to.
//
// It repeats the choice that spot makes, without reading a text. The note of a day may not exist
// yet; its path is then still returned, so that a caller who has seen another note there gets a
// conflict.
func (in addIn) targets(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
	in.To = in.destination(tx)
	if day, ok := in.day(tx); ok {
		return []vault.Path{tx.Index().Config().DailyPath(day)}, nil
	}
	return notesOf(tx, in.To), nil
}

// targets returns the path of the note that gets the new trait. For a trait that goes into a daily
// note that must be created first there is nothing to compare.
func (in traitCreateIn) targets(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
	h, err := in.parent(tx)
	switch {
	case h.day != "":
		return nil, nil // the note does not exist yet
	case err != nil:
		return notesOf(tx, in.ParentID), nil
	}
	return []vault.Path{vault.Path(h.object.Note.Path)}, nil
}

// targets returns the path that the new note would have, where a note may already exist.
//
// A path is compared although the note should not exist, because the caller may have seen a version
// of the vault in which it did not. The title can come from the field that names objects of the
// type, so the fields are read first; their problems are ignored here and reported by run.
func (in newIn) targets(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
	t, ok := tx.Index().Schema().Type(in.Type)
	title := in.Title
	switch {
	case !ok && in.Path == "":
		return nil, nil
	case ok:
		checked := t.Check(mutation.TypedFields(in.Fields), state.Clock(tx.Index(), tx.Now()))
		title = in.title(checked.Fields[t.NameField()])
	}
	path, err := in.place(t, title)
	if err != nil { // run reports the error
		return nil, nil
	}
	return []vault.Path{path}, nil
}
