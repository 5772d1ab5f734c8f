package raven

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An answer is the output of a tool that makes one change. It reports the change or, in a dry run,
// the planned change (CONTRACT §1 and §3, raven.md §6.7 and §6.11).
//
// An output is used once: finish and toOperation change it in place and must be called at most
// once.
type answer interface {
	// finish completes the answer after the draft is complete: it records the changed files or, in
	// a dry run, converts the answer into a plan.
	finish(ctx context.Context, tx *repo.Tx) error

	// toOperation completes the answer of an operation of a batch. It keeps only the flat members,
	// or in a dry run the plan, and does not list files, because the batch lists them.
	toOperation(dry bool)

	// result returns the beginning of the answer.
	result() *answerHead
}

// An answerHead is the beginning of every answer. In a dry run, and in the answer of a bulk call's
// plan, Action is empty.
type answerHead struct {
	tool.Aside `json:"-"`
	// created, updated, deleted or unchanged
	Action string `json:"action,omitempty"`
	ID     string `json:"id,omitempty"`
}

// result implements answer.
func (d *answerHead) result() *answerHead { return d }

// An assigned reports the fields or traits that a call set or removed.
type assigned struct {
	UpdatedFields []string       `json:"updated_fields,omitzero"`
	NewValues     map[string]any `json:"new_values,omitzero"`
	// fields of unset that did not exist
	MissingFields []string `json:"missing_fields,omitempty"`
}

// A plan is the answer of a dry run. C describes an object or trait that would be created.
//
// At most one of WouldCreate, WouldUpdate and WouldDelete is set. The zero value, which every
// answer of a real call contains, adds nothing to the JSON.
type plan[C any] struct {
	DryRun      bool                  `json:"dry_run,omitempty"`
	WouldCreate *C                    `json:"would_create,omitempty"`
	WouldUpdate *wouldUpdate          `json:"would_update,omitempty"`
	WouldDelete *wouldDelete          `json:"would_delete,omitempty"`
	WouldModify []mutation.FileChange `json:"would_modify_files,omitempty"`
	SideEffects []string              `json:"side_effects,omitzero"`
}

// finishAnswer implements answer.settle. turn converts the answer into a plan. It lists the files
// before turn, which may clear the answer.
func finishAnswer[C any](ctx context.Context, tx *repo.Tx, a *tool.Aside, p *plan[C], turn func()) error {
	if !tx.DryRun() {
		return mutation.NoteFiles(ctx, tx, a)
	}
	files, err := mutation.FileChanges(ctx, tx)
	if err != nil {
		return err
	}
	turn()
	p.WouldModify = files
	return nil
}

// An objectOut is the output of the tools that change one object.
//
// All members are optional, because one struct serves creation, update, deletion and erasure.
// Object is the object after the change; a deletion shows it as it was before.
type objectOut struct {
	answerHead
	Type string `json:"type,omitempty"`
	File string `json:"file,omitempty"`
	assigned
	TrashPath string       `json:"trash_path,omitempty"`
	Line      int          `json:"line,omitempty"`
	Content   string       `json:"content,omitempty"`
	Object    *object      `json:"object,omitempty"`
	Erased    *erasedParts `json:"erased,omitempty"`
	// the job that erases; the only member until something is erased
	Job *job.Brief `json:"job,omitempty"`
	plan[wouldCreate]

	was *object // the object before an update
}

var _ answer = (*objectOut)(nil)

// Shorten removes the object, so that only the flat members remain.
func (m *objectOut) Shorten() { m.Object = nil }

// A wouldCreate is an object that a dry run would create.
type wouldCreate struct {
	ID     string         `json:"id"`
	Type   string         `json:"type"`
	File   string         `json:"file"`
	Fields map[string]any `json:"fields"`
}

// A wouldUpdate is an object or trait that a dry run would change, with the changes by field.
type wouldUpdate struct {
	ID      string            `json:"id"`
	Changes map[string]oldNew `json:"changes"`
}

// An oldNew is the change of one field.
type oldNew struct {
	Old any `json:"old"`
	New any `json:"new"`
}

// A wouldDelete is an object or trait that a dry run would delete.
type wouldDelete struct {
	ID string `json:"id"`
}

// finish implements answer.
func (m *objectOut) finish(ctx context.Context, tx *repo.Tx) error {
	return finishAnswer(ctx, tx, &m.Aside, &m.plan, m.toPlan)
}

// toOperation implements answer.
func (m *objectOut) toOperation(dry bool) {
	if dry {
		m.toPlan()
	}
	m.Shorten()
}

// toPlan converts the answer into the plan of the same call. Only the warnings, the meta and the
// plan remain.
func (m *objectOut) toPlan() {
	p := plan[wouldCreate]{DryRun: true, SideEffects: m.effects()}
	switch m.Action {
	case "created":
		p.WouldCreate = &wouldCreate{m.ID, m.Type, m.File, m.Object.Fields}
	case "deleted":
		p.WouldDelete = &wouldDelete{m.ID}
	default:
		p.WouldUpdate = &wouldUpdate{m.ID, m.changes()}
	}
	*m = objectOut{answerHead: answerHead{Aside: m.Aside}, plan: p}
}

// effects returns sentences about the side effects of the call.
func (m *objectOut) effects() []string {
	effects := append([]string{}, m.SideEffects...)
	if m.TrashPath != "" {
		effects = append(effects, m.ID+" goes to "+m.TrashPath)
	}
	return effects
}

// changes returns the old and new values of the fields that the call sets. The old value is null if
// it was a default of the schema.
//
// The values are those of the answer, in which references are full ids.
func (m *objectOut) changes() map[string]oldNew {
	all := map[string]oldNew{}
	for name, now := range m.NewValues {
		var old any
		if m.was != nil && !slices.Contains(m.was.FromDefault, name) {
			old = m.was.Fields[name]
		}
		all[name] = oldNew{old, now}
	}
	return all
}

// A traitOut is the output of the tools that change one trait.
//
// TraitFacts is set only for a new trait. Trait is the state after the change, or before a
// deletion.
type traitOut struct {
	answerHead
	*TraitFacts
	assigned
	// the current state, or the last one of a deleted object
	Trait *trait `json:"trait,omitempty"`
	plan[wouldCreateTrait]

	was *trait // the trait before an update
}

var _ answer = (*traitOut)(nil)

// Shorten removes the trait, so that only the flat members remain.
func (m *traitOut) Shorten() { m.Trait = nil }

// TraitFacts contains the flat members about a new trait.
type TraitFacts struct {
	TraitType string `json:"trait_type"`
	Value     any    `json:"value"`
	// the text, without annotations
	Content string   `json:"content"`
	Parent  *typedID `json:"parent"`
}

// A typedID is the id of an object, with its type.
type typedID struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// A wouldCreateTrait is a trait that a dry run would create.
type wouldCreateTrait struct {
	ID string `json:"id"`
	*TraitFacts
}

// factsOf returns the flat members about a new trait.
func factsOf(t trait) *TraitFacts {
	return &TraitFacts{t.TraitType, t.Value, t.ContentText, &typedID{t.Parent.ID, t.Parent.Type}}
}

// finish implements answer.
func (m *traitOut) finish(ctx context.Context, tx *repo.Tx) error {
	return finishAnswer(ctx, tx, &m.Aside, &m.plan, m.toPlan)
}

// toOperation implements answer.
func (m *traitOut) toOperation(dry bool) {
	if dry {
		m.toPlan()
	}
	m.Shorten()
}

// toPlan converts the answer into the plan of the same call.
func (m *traitOut) toPlan() {
	p := plan[wouldCreateTrait]{DryRun: true, SideEffects: append([]string{}, m.SideEffects...)}
	switch m.Action {
	case "created":
		p.WouldCreate = &wouldCreateTrait{m.ID, m.TraitFacts}
	case "deleted":
		p.WouldDelete = &wouldDelete{m.ID}
	default:
		p.WouldUpdate = &wouldUpdate{m.ID, m.changes()}
	}
	*m = traitOut{answerHead: answerHead{Aside: m.Aside}, plan: p}
}

// changes returns the old and new values of the traits that the call sets.
//
// The name value stands for the trait itself, as in the arguments.
func (m *traitOut) changes() map[string]oldNew {
	all := map[string]oldNew{}
	for name, now := range m.NewValues {
		all[name] = oldNew{m.was.valueOf(name), now}
	}
	return all
}

// valueOf returns the value that a name means in a change: that of the trait itself, or that of
// another trait on its line. It returns nil if the line has no such trait.
func (t *trait) valueOf(name string) any {
	if t.isOwn(name) {
		return t.Value
	}
	return t.Siblings[name]
}

// isOwn reports whether a name means the trait itself in a change.
func (t *trait) isOwn(name string) bool { return slices.Contains([]string{"value", t.TraitType}, name) }

// warnQuarantine adds a warning if the note is quarantined.
func warnQuarantine(a *tool.Aside, n *index.Note) {
	if q := n.Quarantine(); q != nil {
		a.Warn("NOTE_QUARANTINED", n.Path+" does not parse; it is kept as text",
			map[string]any{"path": n.Path, "line": q.Line})
	}
}

// A plan token is planMark followed by base64url of three values: the version on which the plan is
// based (8 bytes), a digest of the call, and the SHA-256 of the staged files. A token grants no
// rights; it only states the expected result.
const (
	planMark   = "q1."
	callDigest = 16 // bytes
)

// A planned is the expected result of a call with a plan token. The zero value expects nothing.
//
// Every call of a tool with plan tokens has one: in a dry run it issues a token, in a call with a
// token it checks it, and otherwise it does nothing.
type planned struct {
	// call is a digest of the tool and its arguments.
	call [callDigest]byte
	// token is the plan token of the call; empty: none.
	token string
}

// planOf returns the expected result of a call. arguments must be all arguments that influence the
// result. A malformed token, or one of another call, is INVALID_VALUE.
//
// The digest covers the JSON of the tool's name and the arguments. Arguments that only shape the
// answer need not be among them.
func planOf(token, tool string, arguments ...any) (planned, error) {
	data, err := json.Marshal(append([]any{tool}, arguments...))
	if err != nil {
		return planned{}, err
	}
	sum := sha256.Sum256(data)
	p := planned{token: token}
	copy(p.call[:], sum[:])
	if token == "" {
		return p, nil
	}
	_, call, _, ok := readPlanToken(token)
	switch {
	case !ok:
		return p, fault.New(fault.InvalidValue, "plan_token is not from a dry run").
			With("argument", "plan_token").Fix("call with dry_run, and use data.plan_token of the answer")
	case !bytes.Equal(call, p.call[:]):
		return p, fault.New(fault.InvalidValue,
			"plan_token is from another call: of another tool, or with other arguments").
			With("argument", "plan_token").Fix("repeat the planned call, with plan_token in place of dry_run")
	}
	return p, nil
}

// readPlanToken returns the three values in a token, or false if it is malformed.
func readPlanToken(token string) (version uint64, call, plan []byte, ok bool) {
	text, marked := strings.CutPrefix(token, planMark)
	data, err := base64.RawURLEncoding.DecodeString(text)
	if !marked || err != nil || len(data) != 8+callDigest+sha256.Size {
		return 0, nil, nil, false
	}
	return binary.BigEndian.Uint64(data), data[8 : 8+callDigest], data[8+callDigest:], true
}

// check returns CONFLICT if the draft differs from the expected result. In a dry run it returns a
// token for the draft.
//
// It compares texts and not versions: a commit of someone else that does not change the result is
// no conflict. It must be called when the draft is complete. The fault lists the files that changed
// since the plan was made.
func (p planned) check(ctx context.Context, tx *repo.Tx) (token string, err error) {
	if p.token == "" && !tx.DryRun() {
		return "", nil
	}
	sum, err := planDigest(ctx, tx)
	if err != nil {
		return "", err
	}
	if version, _, plan, ok := readPlanToken(p.token); ok && !bytes.Equal(plan, sum) {
		latest := eventlog.Version(tx.Before().Version())
		return "", fault.New(fault.Conflict, "the result of the call would differ from the plan").
			With("latest_version", latest).With("changed", changedAfter(tx.Before(), version)).
			Fix("call with dry_run again, and check the new plan")
	}
	if !tx.DryRun() {
		return "", nil
	}
	data := binary.BigEndian.AppendUint64(nil, tx.Before().Version())
	data = append(append(data, p.call[:]...), sum...)
	return planMark + base64.RawURLEncoding.EncodeToString(data), nil
}

// planDigest returns the SHA-256 of the staged files: their paths, and the texts before and after.
// It ignores the trash, because paths in it can depend on the version.
//
// The order of staging does not matter. For each file the digest contains the JSON of its path and
// of the two digests, null where there is no text, followed by nothing: JSON arrays delimit
// themselves.
func planDigest(ctx context.Context, tx *repo.Tx) ([]byte, error) {
	staged, err := tx.Staged(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(staged, func(a, b repo.Staged) int { return cmp.Compare(a.Path, b.Path) })
	sum := sha256.New()
	for _, s := range staged {
		if strings.HasPrefix(string(s.Path), vault.Trash) {
			continue
		}
		line, err := json.Marshal([]any{s.Path, digestOf(s.Old), digestOf(s.New)})
		if err != nil {
			return nil, err
		}
		sum.Write(line)
	}
	return sum.Sum(nil), nil
}

// digestOf returns the SHA-256 of a text, or nil for nil.
func digestOf(text []byte) any {
	if text == nil {
		return nil
	}
	return sha256.Sum256(text)
}

// maxPlanChanged is the maximum number of files that a conflict lists.
const maxPlanChanged = 50

// changedAfter returns the first files that changed after a version, without hidden ones.
func changedAfter(idx *index.Index, version uint64) []string {
	paths := []string{}
	for f := range idx.Files() {
		if f.Version > version && f.Path[0] != '.' {
			if paths = append(paths, f.Path); len(paths) == maxPlanChanged {
				break
			}
		}
	}
	return paths
}

// A priorObject is an object that a call changes, in its state before the change.
//
// Both values are kept: the object with its position, to find it again in the index after the
// change, and its rendered form, to compare fields with it.
type priorObject struct {
	index.Object
	// shown is the object as an answer shows it. It is built before the change, because the draft
	// changes the index.
	shown object
}

// priorOf returns the past of an object in idx.
func priorOf(idx *index.Index, o index.Object) priorObject { return priorObject{o, objectAt(idx, o)} }

// find returns the same object in a later state. A section is identified by its line, because an edit
// may rename it. If the section no longer exists, in returns the note. It returns false if the note
// does not exist.
//
// The line of a section's heading is stable under all edits that these tools make within a section;
// the slug is not, because it follows the text of the heading.
func (p priorObject) find(idx *index.Index) (index.Object, bool) {
	n, ok := idx.Note(p.Note.Path)
	if !ok || p.Section == nil {
		return index.Object{Note: n}, ok
	}
	for i := range n.Sections {
		if n.Sections[i].Line() == p.Section.Line() {
			return n.Object(i), true
		}
	}
	return index.Object{Note: n}, true
}

// updated fills the output of a call that changed an object, or that did not have to change it.
//
// The action is unchanged if the call, or this operation of a batch, has staged nothing. If the
// change made the frontmatter invalid, the answer has a warning instead of an error: the caller
// asked for exactly this text.
func (m *objectOut) updated(tx *repo.Tx, was priorObject) error {
	o, ok := was.find(tx.Index())
	if !ok {
		return notFound("no object %q", was.ID())
	}
	shown := objectAt(tx.Index(), o)
	m.ID, m.Type, m.File, m.Object = shown.ID, shown.Type, o.Note.Path, &shown
	m.Action = "updated"
	if !tx.Touched() {
		m.Action = "unchanged"
	}
	warnQuarantine(&m.Aside, o.Note)
	m.was = &was.shown
	return nil
}
