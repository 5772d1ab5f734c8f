package raven

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/parallel"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A vaultCheck finds the problems of a vault: those of its notes, of names and aliases that several
// notes have, of its schema and of its settings. It runs once.
//
// A check examines the notes one by one (noteCheck), then what needs all notes: ids of traits that
// are declared twice, aliases and short names. The schema, the settings and the saved queries come
// last, and only if the check was not cut short. Findings arrive through found, in the order of the
// examination; answers list them by location.
//
// The cost is linear in the notes and references. Unless keeps is set, each level stores at most
// 2*maxProblems findings, however many there are.
type vaultCheck struct {
	idx    *index.Index
	clock  vault.Clock
	schema []byte // the text of schema.yaml, for line numbers; nil: unknown
	// picks selects the findings. Other findings are not even counted.
	picks picker
	until time.Time // when the check must stop, even if it is incomplete; zero: no limit

	// keeps selects the findings to collect in kept. Nil: none are collected, and the first of each
	// level are stored for an answer.
	keeps func(finding) bool
	kept  []finding // by location, with only the code and location of their faults

	files                      int // number of checked notes
	errors, warnings           int
	firstErrors, firstWarnings firstFindings              // the first errors, and the first warnings
	traits                     map[string]*undefinedTrait // by name
}

// An undefinedTrait is a trait that is used but missing from the schema, with its first locations.
type undefinedTrait struct {
	first finding
	count int
	at    []fault.Location
}

// maxLocations is the maximum number of locations of one undefined trait in an answer.
const maxLocations = 5

// found accepts a finding if the filter selects it. Findings of undefined traits are combined by
// trait.
//
// A vault that uses an undeclared trait has it in many lines. The combined finding has the location
// of the first use, the number of uses and at most maxLocations locations; it is counted once, at
// the end of run.
func (c *vaultCheck) found(f finding) {
	if !c.picks.wants(f) {
		return
	}
	if f.code != "undefined_trait" {
		c.record(f)
		return
	}
	u := c.traits[f.trait]
	if u == nil {
		u = &undefinedTrait{first: f}
		c.traits[f.trait] = u
	}
	if u.count++; len(u.at) < maxLocations {
		u.at = append(u.at, *f.fault.Location)
	}
}

// record counts a finding, and stores it for the answer or in kept.
//
// A kept finding loses the parts of its fault that only an answer needs, because a vault can have
// very many of them.
func (c *vaultCheck) record(f finding) {
	level, count := c.levelOf(f)
	*count++
	switch {
	case c.keeps == nil:
		level.add(f)
	case c.keeps(f):
		f.fault, f.more = &fault.Fault{Code: f.fault.Code, Location: f.fault.Location}, nil
		c.kept = append(c.kept, f)
	}
}

// levelOf returns the first findings and the number of findings of the level of f: errors or
// warnings.
func (c *vaultCheck) levelOf(f finding) (first *firstFindings, count *int) {
	if f.warning {
		return &c.firstWarnings, &c.warnings
	}
	return &c.firstErrors, &c.errors
}

// passed reports whether the fault of a finding need not be built: the filter does not select the
// finding, or the answer has no room for it. In the second case passed also counts it.
//
// It must agree with found: a finding for which it returns true is not reported to found at all.
func (c *vaultCheck) passed(f finding, code fault.Code, file string, line int) bool {
	if !c.picks.wantsAt(f, code, file, line) {
		return true
	}
	level, count := c.levelOf(f)
	// keeps needs the complete finding, and so does the answer if it has room for it.
	if c.keeps != nil || !level.full(file, line) {
		return false
	}
	*count++
	return true
}

// listed returns the first findings of both levels, sorted by location.
func (c *vaultCheck) listed() []finding {
	return sortByLocation(append(c.firstErrors.first(), c.firstWarnings.first()...))
}

// A firstFindings collects findings and keeps the first maxProblems of them by location.
//
// Sorting is put off until 2*maxProblems findings are collected, so that adding one takes amortized
// logarithmic time. The zero value is empty and ready for use.
type firstFindings struct {
	all    []finding // at most 2*maxProblems; the first `sorted` of them are sorted
	sorted int
}

// full reports whether a new finding at a location would come after the first maxProblems. While
// fewer than maxProblems findings have been sorted, it returns false.
func (l *firstFindings) full(file string, line int) bool {
	return l.sorted == maxProblems &&
		compareLocations(fault.Location{File: file, Line: line}, locationOf(l.all[l.sorted-1].fault)) >= 0
}

// add adds a finding, unless full reports true for its location.
func (l *firstFindings) add(f finding) {
	if at := locationOf(f.fault); l.full(at.File, at.Line) {
		return
	}
	if l.all = append(l.all, f); len(l.all) >= 2*maxProblems {
		l.first()
	}
}

// first returns at most maxProblems findings, sorted by location.
func (l *firstFindings) first() []finding {
	l.all = firstOf(sortByLocation(l.all), maxProblems)
	l.sorted = len(l.all)
	return l.all
}

// sortByLocation sorts findings by location in place and returns them. The order within a line is
// kept.
func sortByLocation(all []finding) []finding {
	slices.SortStableFunc(all, func(a, b finding) int { return compareByLocation(a.fault, b.fault) })
	return all
}

// report reports a finding in a line of a file, or without a location if file is empty.
func (c *vaultCheck) report(f finding, file string, line int) {
	if f.fault = f.fault.With(codeKey, f.code); file != "" {
		f.fault = f.fault.At(file, line)
	}
	c.found(f)
}

// run checks everything that the filter selects. It returns false if the call ended or ran out of
// time first; the findings are then incomplete.
//
// Even an incomplete check reports the undefined traits that it has seen and sorts kept. It must be
// called once.
func (c *vaultCheck) run(ctx context.Context) bool {
	c.traits = map[string]*undefinedTrait{}
	going := c.keepGoing(ctx)
	whole := c.notes(ctx) && c.pins(going) && c.names(going)
	if whole {
		c.definitions()
		c.settings()
	}
	for _, name := range slices.Sorted(maps.Keys(c.traits)) {
		u := c.traits[name]
		u.first.fault = u.first.fault.With("count", u.count).With("locations", u.at)
		c.record(u.first)
	}
	c.kept = sortByLocation(c.kept)
	return whole
}

// keepGoing returns a function that a loop calls at each step, and that reports whether to
// continue: the call has not ended, and until has not passed.
//
// The clock is read at every 256th step only. The function is for one goroutine.
func (c *vaultCheck) keepGoing(ctx context.Context) func() bool {
	going, step := state.KeepGoing(ctx), 0
	return func() bool {
		step++
		return going() && (c.until.IsZero() || step%256 != 0 || time.Now().Before(c.until))
	}
}

// pins reports ids that are declared by several traits. It returns false if the check must stop.
func (c *vaultCheck) pins(going func() bool) bool {
	for t := range c.idx.Duplicates {
		if !going() {
			return false
		}
		c.report(finding{fault: fault.New(fault.DuplicateID,
			"the id %q is declared twice; this declaration is ignored", t.Pin()).With("id", t.Pin()),
			code: "duplicate_trait_id", trait: t.Type}, t.Note.Path, t.Line())
	}
	return true
}

// compareByLocation compares two faults by location.
func compareByLocation(a, b *fault.Fault) int { return compareLocations(locationOf(a), locationOf(b)) }

// compareLocations compares two locations by path, then by line.
func compareLocations(x, y fault.Location) int {
	if d := strings.Compare(x.File, y.File); d != 0 {
		return d
	}
	return x.Line - y.Line
}

// locationOf returns the location of a fault, or the zero Location if it has none.
func locationOf(f *fault.Fault) fault.Location {
	if f.Location == nil {
		return fault.Location{}
	}
	return *f.Location
}

// partNotes is the smallest number of notes that notes gives to a goroutine, and maxParts the largest
// number of goroutines: each of them stores findings.
const (
	partNotes = 100
	maxParts  = 8
)

// notes checks each selected note on its own, many of them on several goroutines. It returns false
// if the check must stop.
func (c *vaultCheck) notes(ctx context.Context) bool {
	all := slices.Collect(c.picks.notes(c.idx))
	n := min(runtime.GOMAXPROCS(0), maxParts, len(all)/partNotes)
	if n < 2 {
		return c.checkNotes(ctx, all)
	}
	var parts []*checkPart
	for some := range slices.Chunk(all, (len(all)+n-1)/n) {
		parts = append(parts, &checkPart{notes: some, check: &vaultCheck{
			idx: c.idx, clock: c.clock, picks: c.picks, until: c.until, keeps: c.keeps,
			traits: map[string]*undefinedTrait{},
		}})
	}
	_ = parallel.ForEach(n, parts, func(p *checkPart) error {
		p.whole = p.check.checkNotes(ctx, p.notes)
		return nil
	})
	whole := true
	for _, p := range parts {
		c.merge(p.check)
		whole = whole && p.whole
	}
	return whole
}

// A checkPart is a part of the notes of a check, and the check of these notes.
type checkPart struct {
	notes []*index.Note
	check *vaultCheck
	whole bool // the check was not stopped
}

// merge adds the findings of the check of some notes, whose paths are after those of the notes that
// were merged before.
func (c *vaultCheck) merge(part *vaultCheck) {
	c.files += part.files
	c.errors += part.errors
	c.warnings += part.warnings
	c.kept = append(c.kept, part.kept...)
	for _, f := range part.firstErrors.first() {
		c.firstErrors.add(f)
	}
	for _, f := range part.firstWarnings.first() {
		c.firstWarnings.add(f)
	}
	for name, u := range part.traits {
		if had := c.traits[name]; had != nil {
			had.count += u.count
			had.at = firstOf(append(had.at, u.at...), maxLocations)
		} else {
			c.traits[name] = u
		}
	}
}

// checkNotes checks notes one after the other. It returns false if the check must stop. The deadline
// is compared before each note, which costs little beside the check of a note; within a note only
// the context is. It also reports a note in the wrong folder, and a conflict copy.
func (c *vaultCheck) checkNotes(ctx context.Context, all []*index.Note) bool {
	refs, going, skip := c.idx.Resolver(), state.KeepGoing(ctx), c.picks.unwanted()
	for _, n := range all {
		if ctx.Err() != nil || !c.until.IsZero() && time.Now().After(c.until) {
			return false
		}
		c.files++
		noteCheck{idx: c.idx, refs: refs, note: n, clock: c.clock, found: c.found, going: going, skip: skip,
			passed: func(f finding, code fault.Code, line int) bool { return c.passed(f, code, n.Path, line) }}.run()
		c.folder(n)
		if vault.Path(n.Path).IsConflictCopy() {
			c.report(finding{fault: fault.New(fault.FileError,
				"the note is a conflict copy: its text could not be merged into the original"),
				code: "conflict_copy", warning: true, typ: n.Type}, n.Path, 1)
		}
	}
	return ctx.Err() == nil
}

// folder reports a note that is outside the folder that the settings prescribe for it, or in the
// folder of another type. Only a note outside its folder has a fix.
//
// Without the settings directories.type and directories.page every place is allowed. Templates,
// daily notes and notes with invalid frontmatter are exempt: the first two have prescribed places
// of their own, and the type of the last is unknown. There is no fix if another note has the path
// already.
func (c *vaultCheck) folder(n *index.Note) {
	config := c.idx.Config()
	dirs := config.Directories
	if dirs.Type == "" && dirs.Page == "" || n.Quarantine() != nil || config.IsTemplate(vault.Path(n.Path)) ||
		n.Type == vault.Daily {
		return
	}
	root, typ := dirs.Type, n.Type
	if n.Type == vault.Page {
		root = dirs.Page
	}
	if root == "" {
		return
	}
	about := finding{typ: typ}
	if !strings.HasPrefix(n.Path, root) {
		about.fault = fault.New(fault.InvalidValue, "the note is not below %s", root).With("expected", root)
		about.code = "non_canonical_path"
		if to, err := vault.NewPath(root + trimFolder(n.ID, root)); err == nil {
			if other, taken := c.idx.Folded(string(to)); !taken || other == n.Path {
				about.fix = &noteFix{old: n.ID, now: to.ID(), to: to}
			}
		}
		c.report(about, n.Path, 1)
		return
	}
	if t := typeOfFolder(c.idx.Schema(), n.ID); t != nil && t.Name != typ && t.Name != vault.Daily &&
		len(t.DefaultPath) > len(root) {
		about.fault = fault.New(fault.InvalidValue, "the note is a %s, but in the folder of the type %s", typ, t.Name).
			With("expected", t.Name)
		about.code = "directory_type_mismatch"
		c.report(about, n.Path, 1)
	}
}

// trimFolder returns an id without the given folder at its beginning. Letter case is ignored.
func trimFolder(id, folder string) string {
	if len(id) > len(folder) && strings.EqualFold(id[:len(folder)], folder) {
		return id[len(folder):]
	}
	return id
}

// names reports aliases and short names that several notes have, unless the filter selects neither.
// It returns false if the check must stop.
//
// It walks over all notes, whatever the filter selects, because a selected note can collide with
// one that is not selected. Names are compared after case folding, as references are.
func (c *vaultCheck) names(going func() bool) bool {
	if !c.picks.wantsSome(nameCodes) {
		return true
	}
	short, aliases := map[string][]*index.Note{}, map[string][]*index.Note{}
	shown := map[string]string{}
	for n := range c.idx.Notes("") {
		if !going() {
			return false
		}
		key := vault.Fold(n.ID[strings.LastIndexByte(n.ID, '/')+1:])
		short[key] = append(short[key], n)
		for _, a := range aliasesOf(n) {
			key := vault.Fold(a)
			if in := aliases[key]; len(in) == 0 || in[len(in)-1] != n {
				aliases[key] = append(in, n)
			}
			shown[key] = a
		}
	}
	for _, key := range slices.Sorted(maps.Keys(aliases)) {
		if !going() {
			return false
		}
		c.alias(shown[key], aliases[key], short[key])
	}
	return c.shortNames(short, going)
}

// aliasesOf returns the aliases in the frontmatter of a note. Raven knows the fields alias and
// aliases; both can have a text or a list of texts. Other values are ignored.
func aliasesOf(n *index.Note) []string {
	var all []string
	for _, name := range []string{"alias", "aliases"} {
		f, ok := n.Field(name)
		if !ok {
			continue
		}
		values, isList := f.Value.([]any)
		if !isList {
			values = []any{f.Value}
		}
		for _, v := range values {
			if s, ok := v.(string); ok && strings.TrimSpace(s) != "" {
				all = append(all, strings.TrimSpace(s))
			}
		}
	}
	return all
}

// alias reports an alias that several notes have, or that is also the short name of another note.
// in are the notes with the alias, and called the notes with that short name.
//
// Each note with the alias has its own finding, at the line of the field.
func (c *vaultCheck) alias(alias string, in, called []*index.Note) {
	for _, n := range in {
		line := 1
		for _, name := range []string{"alias", "aliases"} {
			if f, ok := n.Field(name); ok {
				line = f.Line
			}
		}
		if len(in) > 1 {
			c.report(finding{fault: fault.New(fault.DuplicateID,
				"the alias %q is one of %d notes", firstRunes(alias), len(in)).
				With("alias", firstRunes(alias)).With("ids", noteIDs(in)),
				code: "duplicate_alias", typ: n.Type}, n.Path, line)
		}
		if others := without(called, n); len(others) > 0 {
			c.report(finding{fault: fault.New(fault.DuplicateID,
				"the alias %q is the name of another note", firstRunes(alias)).
				With("alias", firstRunes(alias)).With("ids", noteIDs(others)),
				code: "alias_collision", typ: n.Type}, n.Path, line)
		}
	}
}

// without returns the first notes of a list except n. There are enough of them for noteIDs.
func without(list []*index.Note, n *index.Note) []*index.Note {
	some := slices.Clone(firstOf(list, maxMatches+1))
	return slices.DeleteFunc(some, func(o *index.Note) bool { return o == n })
}

// noteIDs returns the ids of the first maxMatches notes.
func noteIDs(notes []*index.Note) []string {
	var ids []string
	for _, n := range firstOf(notes, maxMatches) {
		ids = append(ids, n.ID)
	}
	return ids
}

// shortNames reports each ambiguous short name that a reference uses, at the first such reference.
// It returns false if the check must stop.
//
// A name that several notes share is harmless until a reference uses it without a folder; so names
// that no reference uses are not reported.
//
// Each name is looked up once, as it is written and then after case folding.
func (c *vaultCheck) shortNames(short map[string][]*index.Note, going func() bool) bool {
	seen, told := map[string]bool{}, map[string]bool{}
	for n := range c.idx.Notes("") {
		for i := range n.Refs {
			if !going() {
				return false
			}
			base, _, _ := strings.Cut(n.Refs[i].Target, "#")
			if base == "" || seen[base] || strings.Contains(base, "/") {
				continue
			}
			seen[base] = true
			key := vault.Fold(strings.TrimSuffix(strings.TrimSpace(base), ".md"))
			if key == "" || told[key] || len(short[key]) < 2 {
				continue
			}
			told[key] = true
			c.report(finding{fault: fault.New(fault.DuplicateID,
				"the name %q is one of %d notes", firstRunes(base), len(short[key])).
				With("ref", firstRunes(n.Refs[i].Target)).With("ids", noteIDs(short[key])),
				code: "id_collision", warning: true, typ: n.Type}, n.Path, n.Refs[i].Line())
		}
	}
	return true
}

// onDisk reports files that are not synced with the checked version, according to the control item
// of the vault.
//
// These findings are about files, not about notes: they have no type, and a filter by type or trait
// excludes them.
func (c *vaultCheck) onDisk(control repo.Control, fresh repo.Freshness) {
	// A nil Sweep means that the files were never compared, or that there are none.
	if control.Sweep != nil && fresh != repo.Fresh {
		c.report(finding{fault: fault.New(fault.IndexError,
			"the files have not been compared with the checked version yet: %s", fresh).
			Try("raven_reindex", nil), code: "stale_index", warning: true}, "", 0)
	}
	if control.Left == nil {
		return
	}
	for _, f := range control.Left.Files {
		c.report(finding{fault: fault.New(fault.FileError, "the file is not synced: %s", f.Problem()).
			With("reason", f.Why), code: "left_file", warning: true}, f.Path, 0)
	}
}

// incomplete reports that the call ran out of time.
func (c *vaultCheck) incomplete() {
	c.report(finding{fault: fault.New(fault.IndexError, "the call ran out of time before all notes were checked").
		Fix("check a folder: %s", "id with a slash at its end"), code: "check_incomplete", warning: true}, "", 0)
}
