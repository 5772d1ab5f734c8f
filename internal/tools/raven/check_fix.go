package raven

import (
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/relink"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A checkFixIn is the input of raven_check_fix. Without an id it covers the whole vault.
//
// A plan token is optional, unlike in a bulk call: each fix is unambiguous, and the call reports
// all of them.
type checkFixIn struct {
	tool.Vault
	checkFilter
	// from a dry run of the same call: CONFLICT if the result would differ
	PlanToken string `json:"plan_token,omitempty" max:"200" digest:"-" rare:"true"`
	tool.Mutation
}

// A checkFixOut is the output of raven_check_fix: the fixes, and the number of issues that remain.
// The counters are those of a second check in the same transaction, after the fixes.
type checkFixOut struct {
	tool.Aside `json:"-"`
	// updated or unchanged
	Action string `json:"action,omitempty"`
	// the first 200
	Fixed      []fixedIssue `json:"fixed"`
	FixedTotal int          `json:"fixed_total"`
	// issues with a fix that this call cannot make, the first 200
	Skipped []fixedIssue `json:"skipped"`
	// of a check after the fixes, with the same filter
	Errors int `json:"error_count"`
	// likewise
	Warnings    int                   `json:"warning_count"`
	DryRun      bool                  `json:"dry_run,omitempty"`
	WouldModify []mutation.FileChange `json:"would_modify_files,omitempty"`
	// send it with the same call to make these changes; CONFLICT if the result would differ
	PlanToken string `json:"plan_token,omitempty"`
}

// A fixedIssue is an issue that was fixed or, with a Reason, skipped.
//
// Old and New are the value or reference before and after, shortened for the answer; for a move
// they are the ids of the note.
type fixedIssue struct {
	File  string     `json:"file_path"`
	Line  int        `json:"line,omitempty"`
	Code  fault.Code `json:"code"`
	Raven string     `json:"raven_code"`
	Old   string     `json:"old"`
	New   string     `json:"new"`
	// why it is skipped
	Reason string `json:"reason,omitempty"`
}

// checkFix returns the tool raven_check_fix, which fixes the issues that have an unambiguous fix.
func (f tools) checkFix() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_check_fix", Family: Family, Title: "Fix what a check finds",
		Role: auth.Editor, Kind: tool.Destroy, Idempotent: true, List: "fixed",
		Route:    tool.Route{Method: "POST", Path: "/check/fix"},
		Commands: []tool.Command{{Words: "check fix", Args: []string{"id?"}}},
	}, func(ctx context.Context, c auth.Caller, in checkFixIn) (checkFixOut, error) {
		plan, err := planOf(in.PlanToken, "raven_check_fix", in.checkFilter)
		if err != nil {
			return checkFixOut{}, err
		}
		w := request{c, in.Vault.Vault, &in.Mutation, false, optionalTarget(in.noteID())}
		return draft(ctx, f, w, func(ctx context.Context, tx *repo.Tx, out *checkFixOut) error {
			if err := in.run(ctx, tx, out); err != nil {
				return err
			}
			return out.end(ctx, tx, plan)
		})
	})
}

// noteID returns the id that the filter names, or "" if it names none or a folder.
func (in checkFilter) noteID() string {
	if strings.HasSuffix(strings.TrimSpace(in.ID), "/") {
		return ""
	}
	return in.ID
}

// run drafts the fixes and counts the issues that remain.
//
// The steps are: check the vault and collect the findings that have a fix; fix the texts; move
// notes that are in the wrong folder, which updates the references to them; and check again to
// count what remains. Texts come before moves, because findings are located by the path that the
// note had during the check. It runs in a transaction, so another writer's commit in between
// repeats all of it.
func (in checkFixIn) run(ctx context.Context, tx *repo.Tx, out *checkFixOut) error {
	out.Fixed, out.Skipped = []fixedIssue{}, []fixedIssue{}
	clock := state.Clock(tx.Index(), tx.Now())
	check, err := newVaultCheck(ctx, tx.Index(), clock, in.checkFilter)
	if err != nil {
		return err
	}
	check.keeps = func(f finding) bool {
		return f.fix != nil && (!f.warning || !in.ErrorsOnly || in.Strict)
	}
	if !check.run(ctx) {
		return ctx.Err()
	}
	x := &fixer{tx: tx, checked: tx.Index(), out: out, notes: map[string][]finding{}}
	for _, f := range check.kept {
		x.add(f)
	}
	if len(x.paths) > maxBulkNotes {
		return fault.New(fault.BatchTooLarge, "%d notes have issues to fix; one call changes at most %d",
			len(x.paths), maxBulkNotes).
			With("notes", len(x.paths)).Fix("fix one folder at a time")
	}
	for paths := range slices.Chunk(x.paths, relinkedAtOnce) {
		if err := x.fix(ctx, paths); err != nil {
			return err
		}
	}
	if err := x.move(ctx); err != nil {
		return err
	}
	after, err := newVaultCheck(ctx, tx.Index(), clock, in.filterAfter(ctx, tx))
	if err != nil {
		return err
	}
	after.keeps = func(finding) bool { return false } // the second check only counts
	if !after.run(ctx) {
		return ctx.Err()
	}
	out.Errors, out.Warnings = in.levels(after.errors, after.warnings)
	return nil
}

// filterAfter returns the filter for the check after the fixes. It drops an id that is no longer
// valid, because the note may have moved.
func (in checkFixIn) filterAfter(ctx context.Context, tx *repo.Tx) checkFilter {
	after := in.checkFilter
	if _, err := after.picker(ctx, tx.Index(), state.Clock(tx.Index(), tx.Now())); err != nil {
		after.ID = ""
	}
	return after
}

// end completes the output, and checks or issues the plan token.
//
// In a dry run the answer has no action; the other members are the same as those of the call that
// makes the changes.
func (o *checkFixOut) end(ctx context.Context, tx *repo.Tx, plan planned) (err error) {
	if o.Action = "updated"; o.FixedTotal == 0 {
		o.Action = "unchanged"
	}
	o.Fixed, o.Skipped = firstOf(o.Fixed, maxProblems), firstOf(o.Skipped, maxProblems)
	if o.WouldModify, err = finishBulk(ctx, tx, &o.Aside); tx.DryRun() {
		o.DryRun, o.Action = true, ""
	}
	if err == nil {
		o.PlanToken, err = plan.check(ctx, tx)
	}
	return err
}

// A fixer drafts the fixes of a check, note by note, and records them in the output.
//
// A fixer is used for one run of the draft and by one goroutine.
type fixer struct {
	tx      *repo.Tx
	checked *index.Index // the index that was checked, without the fixes
	out     *checkFixOut
	// paths contains the keys of notes, in the order in which they were added.
	paths []string
	notes map[string][]finding // findings that are fixed in the text, by path
	// moves are the findings that are fixed by moving the note.
	moves []finding
}

// add adds a finding that has a fix.
func (x *fixer) add(f finding) {
	path := f.fault.Location.File
	if f.fix.to != "" {
		x.moves = append(x.moves, f)
		return
	}
	if _, ok := x.notes[path]; !ok {
		x.paths = append(x.paths, path)
	}
	x.notes[path] = append(x.notes[path], f)
}

// record records a finding as skipped for a reason or, if reason is empty, as fixed.
func (x *fixer) record(f finding, reason string) {
	at := locationOf(f.fault)
	one := fixedIssue{at.File, at.Line, f.fault.Code, f.code, f.fix.old, f.fix.now, reason}
	if reason != "" {
		x.out.Skipped = append(x.out.Skipped, one)
		return
	}
	x.out.FixedTotal++
	x.out.Fixed = append(x.out.Fixed, one)
}

// A fixedNote is a note whose findings are being fixed in its text.
type fixedNote struct {
	path      string
	was, text []byte
	parsed    *index.Parsed // of text, if it is known
	findings  []finding
	failed    map[int]bool // indexes of the findings whose edits failed
}

// fix fixes the findings in the texts of some notes: in each note first traits, from the last to
// the first, because they are found by position; then references, in all notes at once; then
// fields. A protected note is skipped.
//
// All edits are made on the texts in memory, and each note is staged once. An edit that fails
// leaves the text as it was, and its finding is reported as skipped. If the vault's settings or the
// caller's token do not allow a change of a note, all its findings are reported as skipped, with
// that reason.
func (x *fixer) fix(ctx context.Context, paths []string) error {
	x.tx.Prefetch(ctx, paths)
	notes := make([]*fixedNote, len(paths))
	for i, path := range paths {
		text, _, err := x.tx.Text(ctx, vault.Path(path))
		if err != nil {
			return err
		}
		notes[i] = &fixedNote{path: path, was: text, text: text, findings: x.notes[path], failed: map[int]bool{}}
		notes[i].edit(true)
	}
	x.expandRefs(notes)
	for _, n := range notes {
		n.edit(false)
		if err := x.put(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// edit makes the edits of the findings in traits or, if inTraits is false, of the others.
func (n *fixedNote) edit(inTraits bool) {
	for i, f := range slices.Backward(n.findings) {
		if f.fix.edit == nil || inTraits != f.inTrait {
			continue
		}
		now, err := f.fix.edit(n.text)
		if err != nil {
			n.failed[i] = true
			continue
		}
		n.text, n.parsed = now, nil
	}
}

// put stages a note, and records its findings.
func (x *fixer) put(ctx context.Context, n *fixedNote) error {
	locked := ""
	if string(n.text) != string(n.was) {
		if err := x.tx.PutParsed(ctx, vault.Path(n.path), n.text, n.parsed, nil); isLocked(err) {
			locked = fault.Of(err).Message
		} else if err != nil {
			return err
		}
	}
	for i, f := range n.findings {
		switch {
		case n.failed[i]:
			x.record(f, "it cannot be changed without changing other text")
		default:
			x.record(f, locked)
		}
	}
	return nil
}

// isLocked reports whether err means that the settings of the vault, or the token of the caller, do
// not allow the note to be changed.
func isLocked(err error) bool {
	return fault.Is(err, fault.ReadOnly) || fault.Is(err, fault.PermissionDenied)
}

// expandRefs replaces references in the texts of notes by full ids, which lead to the same objects
// as when the vault was checked. It sets failed for the findings whose references cannot be
// rewritten.
//
// References are identified by their line and their target as written: the same target twice in one
// line is rewritten twice, which is right, because both have the same problem.
func (x *fixer) expandRefs(notes []*fixedNote) {
	var some []*fixedNote
	var wanted []relink.Wanted
	for _, n := range notes {
		if refs := n.refs(); len(refs) > 0 {
			some = append(some, n)
			wanted = append(wanted, relink.Wanted{
				ID: vault.Path(n.path).ID(), Text: n.text,
				Wants: func(line int, target string) bool { return refs[refPlace{line, target}] },
			})
		}
	}
	for i, res := range relink.WriteInFull(x.checked, wanted) {
		n := some[i]
		n.text, n.parsed = res.Text, res.Parsed
		for j, f := range n.findings {
			if f.fix.ref != "" && slices.Contains(res.Unwritable, f.fault.Location.Line) {
				n.failed[j] = true
			}
		}
	}
}

// A refPlace identifies the references of a note with the same target in one line.
type refPlace struct {
	line   int
	target string
}

// refs returns the references of the note that are replaced by full ids.
func (n *fixedNote) refs() map[refPlace]bool {
	refs := map[refPlace]bool{}
	for _, f := range n.findings {
		if f.fix.ref != "" {
			refs[refPlace{f.fault.Location.Line, f.fix.ref}] = true
		}
	}
	return refs
}

// move moves the notes that are in the wrong folder, and updates the references to them. If one of
// them must not be moved, it moves each note separately and skips that one.
//
// All moves are first tried together, so that a note with references to several of them is
// rewritten once. Of two notes that would get the same path, compared after case folding, the first
// in the order of the check is moved.
func (x *fixer) move(ctx context.Context) error {
	var moves []finding
	ids, taken := map[string]string{}, map[string]bool{}
	for _, f := range x.moves {
		to := f.fix.to.ID()
		// Paths that are equal after case folding would collide.
		if taken[vault.Fold(to)] {
			x.record(f, "another note would get the same path")
			continue
		}
		taken[vault.Fold(to)] = true
		ids[f.fix.old], moves = to, append(moves, f)
	}
	err := x.moveAll(ctx, ids)
	if err != nil && !isLocked(err) {
		return err
	}
	for _, f := range moves {
		reason := ""
		if err != nil {
			switch one := x.moveAll(ctx, map[string]string{f.fix.old: f.fix.to.ID()}); {
			case isLocked(one):
				reason = fault.Of(one).Message
			case one != nil:
				return one
			}
		}
		x.record(f, reason)
	}
	return nil
}

// moveAll drafts the moves of all notes in ids, from old to new id, or of none if one fails.
// References to the notes are rewritten in all notes of the vault.
func (x *fixer) moveAll(ctx context.Context, ids map[string]string) error {
	if len(ids) == 0 {
		return nil
	}
	return x.tx.Try(func() error {
		u := refUpdates{rewrite: true}
		return u.move(ctx, x.tx, ids)
	})
}
