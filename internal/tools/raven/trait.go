package raven

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A trait is a trait as an answer shows it (raven.md §6.3). At depth 0 only Within is set,
// otherwise only TraitContext.
//
// The id of a trait is stable: it stays the same when its line moves or changes. Its position does
// not.
type trait struct {
	ID        string `json:"id"`
	TraitType string `json:"trait_type"`
	// with the type of the schema; null if it has no value
	Value any `json:"value"`
	*Within
	*TraitContext
}

// TraitContext is the context of a trait from depth 1 on. Siblings and times have two names each,
// because the specification uses both.
type TraitContext struct {
	// the value is the default of the trait
	FromDefault bool `json:"from_default,omitempty"`
	// the mark of the checkbox that the line begins with: a space, x or another
	Checkbox string `json:"checkbox,omitempty"`
	// whether the line is done, if a checkbox, @status or @done says so
	Done *bool `json:"done,omitempty"`
	// dates of the task, as the plugins Tasks and Dataview of Obsidian write them
	Fields *taskFields `json:"fields,omitempty"`
	// the line; of a long one, a part
	Content string `json:"content"`
	// the line without its annotations
	ContentText string    `json:"content_text" title:"text"`
	FilePath    string    `json:"file_path" title:"file"`
	LineNumber  int       `json:"line_number" title:"line"`
	Parent      *ancestor `json:"parent"`
	FileRoot    *ancestor `json:"file_root"`
	// the references on the line; the first 200
	Refs []reference `json:"refs"`
	// the other traits on the line; long values are cut
	Siblings     map[string]any `json:"sibling_traits" title:"other traits"`
	Others       map[string]any `json:"other_traits"`
	FirstSeen    time.Time      `json:"first_seen_at"`
	LastModified time.Time      `json:"last_modified_at" title:"last changed"`
	Created      time.Time      `json:"created_at"`
}

// trait returns a trait as the answer shows it.
//
// The value has the type of the schema, and is the default of the trait if the text has none.
// Siblings and Others are the same map.
func (d renderer) trait(t *index.Trait) trait {
	value, fromDefault := d.idx.TraitValue(t)
	if !d.whole {
		value = cutValue(value, maxListed)
	}
	shown := trait{ID: t.ID, TraitType: t.Type, Value: value}
	parent := t.Parent()
	if d.depth == slim {
		id := parent.ID()
		shown.Within = &Within{&id}
		return shown
	}
	siblings := d.siblings(t)
	shown.TraitContext = &TraitContext{
		FromDefault: fromDefault, Checkbox: t.Checkbox(), Done: d.done(t), Fields: taskFieldsOf(t),
		Content: tool.Beginning(t.Content, maxListed), ContentText: tool.Beginning(t.ContentText(), maxListed),
		FilePath: t.Note.Path, LineNumber: t.Line(),
		Parent: d.parent(parent), FileRoot: d.root(t.Note), Refs: d.references(t.Note, d.refsOfTrait(t)),
		Siblings: siblings, Others: siblings,
		FirstSeen: t.Created, LastModified: t.Modified, Created: t.Created,
	}
	return shown
}

// siblings returns the values of the other traits on the line by type. Of several traits of one
// type it returns the first.
func (d renderer) siblings(t *index.Trait) map[string]any {
	all := map[string]any{}
	for typ, first := range d.lines.load(t).first {
		other := first[0]
		if other == t {
			other = first[1]
		}
		if other != nil {
			all[typ], _ = d.idx.TraitValue(other)
		}
	}
	all, _ = listedFields(all)
	return all
}

// refsOfTrait returns the references on the line of a trait or, for a trait in the frontmatter, in
// its field.
func (d renderer) refsOfTrait(t *index.Trait) []*index.Ref {
	refs := d.lines.load(t).refs
	if !t.Field {
		return refs
	}
	var own []*index.Ref
	for _, r := range refs {
		if r.Field() == t.Type && len(own) < maxRefs {
			own = append(own, r)
		}
	}
	return own
}

// A lineCache caches the traits and references of one line, or of the frontmatter of one note,
// because consecutive traits of a list are often on the same line.
type lineCache struct {
	note *index.Note
	line int // 0: the frontmatter
	// first contains the first two traits of each type, by position, so that the siblings of a
	// trait can leave it out.
	first map[string][2]*index.Trait
	refs  []*index.Ref
}

// load makes l the line of a trait, and returns it.
//
// Two consecutive calls for traits of one line cost one walk over the line. Checkboxes are not
// siblings.
func (l *lineCache) load(t *index.Trait) *lineCache {
	line := t.Line()
	if t.Field {
		line = 0
	}
	if l.note == t.Note && l.line == line {
		return l
	}
	*l = lineCache{note: t.Note, line: line, first: map[string][2]*index.Trait{}}
	for _, other := range append(t.Siblings(), t) {
		if !other.Task {
			l.add(other)
		}
	}
	if t.Field {
		l.refs = refsInFields(t.Note.Object(-1))
		return l
	}
	refs := t.Note.RefsOnLine(t.Line())
	for i := range refs {
		if !refs[i].InField {
			l.refs = append(l.refs, &refs[i])
		}
	}
	return l
}

// add keeps the first two traits of each type, by position.
func (l *lineCache) add(t *index.Trait) {
	two := l.first[t.Type]
	switch {
	case two[0] == nil || t.Position() < two[0].Position():
		two = [2]*index.Trait{t, two[0]}
	case two[1] == nil || t.Position() < two[1].Position():
		two[1] = t
	}
	l.first[t.Type] = two
}

// valueCondition returns the test of traits for a requested value: traits with exactly this value
// or, for dates and times, those whose day is in the requested time (raven.md §6.10). A list
// matches if one of its elements does.
func valueCondition(v view, def *vault.Trait, text string) (query.Condition, error) {
	if def.IsTime() {
		return timeCondition(v, def, text)
	}
	one := elementOf(def)
	want, err := valueText(one, text, v.Clock)
	if err != nil {
		return query.Condition{}, fault.Of(err).With("argument", "value")
	}
	if one.Type == def.Type {
		return inSet(v.Index.TraitsWith(def.Name, want)), nil
	}
	if to := v.Index.Resolve(want); one.IsRef() && to.ID != "" {
		want = to.ID // TraitValue has the ids of targets
	}
	return withElement(v.Index, def, func(e any) bool { return index.ValueText(e) == want }), nil
}

// taskCondition returns the test of checkboxes for a value. A value that no task has is
// INVALID_VALUE.
func taskCondition(idx *index.Index, value string) (query.Condition, error) {
	if _, ok := index.TaskMark(value); !ok {
		return query.Condition{}, noTaskValue()
	}
	return inSet(idx.Tasks(value)), nil
}

// inSet returns the test that a trait is in a set.
func inSet(set index.TraitSet) query.Condition {
	return query.Condition{Says: set.Has, Notes: set.Notes, Most: set.Count(), Count: set.Count}
}

// noTaskValue returns the fault of a value that a task cannot have.
func noTaskValue() *fault.Fault {
	return fault.New(fault.InvalidValue, "the value of a task is one of: %s",
		strings.Join(index.TaskValues(), ", ")).With("argument", "value").With("allowed", index.TaskValues())
}

// elementOf returns the definition of a single value of a trait, without bounds, which do not
// matter for a search.
func elementOf(def *vault.Trait) *vault.Field {
	one := def.Field
	one.Type = strings.TrimSuffix(one.Type, "[]")
	one.Min, one.Max = nil, nil
	return &one
}

// valueText returns a typed value in the form in which the index stores it. A value that the trait
// cannot have is INVALID_VALUE.
func valueText(one *vault.Field, text string, c vault.Clock) (string, error) {
	if one.Type == "string" || one.Type == "url" {
		return text, nil
	}
	read, err := one.Read(vault.Text(text), c)
	return index.ValueText(read), err
}

// withElement returns the test that a trait has a list with an element for which holds returns
// true. It tests equal values only once.
func withElement(idx *index.Index, def *vault.Trait, holds func(any) bool) query.Condition {
	tried := map[*index.TraitValue]bool{}
	return query.Condition{Says: func(s *index.TraitValue) bool {
		if s.Type != def.Name {
			return false
		}
		found, known := tried[s]
		if !known {
			value, _ := idx.ValueOf(s)
			list, _ := value.([]any)
			found = slices.ContainsFunc(list, holds)
			tried[s] = found
		}
		return found
	}}
}

// timeCondition returns the test of dates and times whose day is in a period.
func timeCondition(v view, def *vault.Trait, text string) (query.Condition, error) {
	i, err := vault.ParseTime(text, v.Clock)
	if err != nil {
		return query.Condition{}, fault.Of(err).With("argument", "value")
	}
	zone := state.Local(v.Clock).Location()
	covered := func(value any) bool {
		day, ok := vault.DayOf(value)
		return ok && i.Covers(day, zone)
	}
	if strings.HasSuffix(def.Type, "[]") {
		return withElement(v.Index, def, covered), nil
	}
	from, to := daysOf(i, zone)
	return inSet(v.Index.TraitsBetween(def.Name, from, to, func(value string) bool { return covered(value) })), nil
}

// afterDay, appended to a day, sorts after all times of that day.
const afterDay = "~"

// daysOf returns the first and last values, as texts, whose days are in a period. An empty text
// means no limit.
//
// The texts bound the values in the sorted index of values; the values between them are still
// tested.
func daysOf(i vault.Interval, zone *time.Location) (from, to string) {
	if !i.From.IsZero() {
		from = string(vault.DateOf(i.From.In(zone)))
	}
	switch {
	case i.Instant():
		to = from + afterDay
	case !i.To.IsZero():
		to = string(vault.DateOf(i.To.In(zone).Add(-time.Nanosecond))) + afterDay
	}
	return from, to
}

// A traitReader reads values for traits, and collects the problems.
type traitReader struct {
	idx    *index.Index
	schema *vault.Schema
	clock  vault.Clock
	// problems are the problems of all values that were read so far.
	problems []*fault.Fault
}

// read returns the value for the trait with a name.
func (r *traitReader) read(name string, v any) any {
	def, ok := r.schema.Trait(name)
	if !ok {
		r.problems = append(r.problems, r.schema.NoTrait(name))
		return nil
	}
	return r.readAs(&def.Field, v)
}

// readAs returns the value as the definition reads it. A missing value is allowed if there is a
// default, or if the trait has a meaning without a value.
//
// A reference becomes the full id of its target. The result is meaningless if a problem was
// recorded.
func (r *traitReader) readAs(def *vault.Field, v any) any {
	read, err := def.Read(v, r.clock)
	switch b, isBool := read.(bool); {
	case err != nil:
		r.problems = append(r.problems, fault.Of(err))
	case read == nil && !allowsNoValue(def):
		r.problems = append(r.problems, fault.New(fault.MissingRequired,
			"Trait '%s' needs a value: it has no default", def.Name).With("field", def.Name))
	case isBool && def.Type != "bool":
		return strconv.FormatBool(b) // a value of an enum, which must be written out
	default:
		if f := mutation.WrongTarget(r.idx, def, read); f != nil {
			r.problems = append(r.problems, f)
		}
	}
	return mutation.ByID(r.idx, def, read)
}

// allowsNoValue reports whether a trait has a meaning without a written value.
func allowsNoValue(def *vault.Field) bool { return def.Type == "bool" || def.HasDefault }

// statusTrait is the trait with the progress of a line.
const statusTrait = "status"

// A taskFields contains the dates of a task.
type taskFields struct {
	Due       string `json:"due,omitempty"`
	Scheduled string `json:"scheduled,omitempty"`
	Start     string `json:"start,omitempty"`
	DoneOn    string `json:"done_on,omitempty"`
	// a plugin creates the next task when this one is done
	Recurring bool `json:"recurring,omitempty"`
}

// taskFieldsOf returns the dates on the line of a trait, or nil if there are none.
func taskFieldsOf(t *index.Trait) *taskFields {
	f := t.TaskFields()
	if f == (markdown.TaskFields{}) {
		return nil
	}
	return &taskFields{f.Due, f.Scheduled, f.Start, f.DoneOn, f.Recurs}
}

// done reports whether the line of a trait is done. It returns nil if nothing on the line states
// this.
func (d renderer) done(t *index.Trait) *bool {
	done, known := d.idx.DoneKnown(t)
	if !known {
		return nil
	}
	return &done
}

// checkboxOf returns the checkbox on the line of a trait, which is itself a trait, or nil.
func checkboxOf(t *index.Trait) *index.Trait {
	for _, other := range t.Note.EachAnnotation {
		if other.Task && other.Line() == t.Line() {
			return other
		}
	}
	return nil
}

// countTasks returns the number of checkboxes in a note.
func countTasks(n *index.Note) int {
	count := 0
	for _, t := range n.EachAnnotation {
		if t.Task {
			count++
		}
	}
	return count
}

// tasksIn returns the number of checkboxes in a text.
func tasksIn(text []byte) int { return len(markdown.Parse(text).Tasks) }

// tick removes from fields the values that set the checkbox of the line, and sets the mark of the
// rewrite from them. These are value, task and status for a task, and status for another trait if
// the schema does not have a trait with that name.
//
// A line can have a checkbox and a status annotation. Where both exist and the call sets the
// status, both are updated, so that they do not contradict each other. A word that no mark stands
// for is a problem.
func (c *traitChecker) tick(fields map[string]any) {
	t := c.rewrite.trait
	if t.Checkbox() == "" {
		return
	}
	_, hasStatus := c.schema.Trait(statusTrait)
	names := []string{"value", index.TaskType, statusTrait}
	if !t.Task {
		names = []string{statusTrait}
		if hasStatus {
			return
		}
	}
	for _, name := range names {
		v, given := fields[name]
		if !given {
			continue
		}
		delete(fields, name)
		mark, ok := index.TaskMark(wordOf(v))
		if !ok {
			c.problems = append(c.problems, noTaskValue().With("argument", "set").With("field", name))
			continue
		}
		c.rewrite.mark = mark
		if name == statusTrait && hasStatus && slices.ContainsFunc(t.Siblings(), isStatus) {
			fields[name] = v // also update the annotation on the same line
		}
	}
}

// wordOf returns a value as a word: a text, or done and todo for true and false. It returns "" for
// other types.
func wordOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case vault.Text:
		return string(v)
	case bool:
		if v {
			return index.TaskDone
		}
		return index.TaskTodo
	}
	return ""
}

// isStatus reports whether a trait is a status.
func isStatus(t *index.Trait) bool { return t.Type == statusTrait }

// applyTask sets the checkbox of the line. If the trait is the checkbox, it also changes the
// annotations on the line. The mark is changed first. A task that becomes done can get a date,
// today. The line is parsed again after each step, because the positions in it have changed.
func (w rewrite) applyTask(text []byte) ([]byte, error) {
	line := w.trait.Line()
	if w.mark != "" {
		task, err := taskAt(text, line)
		if err != nil {
			return nil, err
		}
		if text, err = markdown.SetTask(text, task, w.mark, w.today); err != nil {
			return nil, err
		}
	}
	if !w.trait.Task {
		return text, nil
	}
	set := w.set
	for len(set) > 0 {
		// A line without annotations gets its first one from AnnotateTask; SetTrait then adds the
		// others.
		own, ok := annotationIn(text, line)
		if ok {
			var err error
			if text, err = markdown.SetTrait(text, own, set); err != nil {
				return nil, err
			}
			break
		}
		task, err := taskAt(text, line)
		if err != nil {
			return nil, err
		}
		if text, err = markdown.AnnotateTask(text, task, set[0]); err != nil {
			return nil, err
		}
		set = set[1:]
	}
	if len(w.unset) == 0 {
		return text, nil
	}
	return markdown.RemoveTraits(text, line, w.unset)
}

// taskAt returns the task in a line of a text, or NOT_FOUND.
func taskAt(text []byte, line int) (markdown.Task, error) {
	for _, t := range markdown.Parse(text).Tasks {
		if t.Line == line {
			return t, nil
		}
	}
	return markdown.Task{}, fault.New(fault.NotFound, "the line has no checkbox").With("line", line)
}

// annotationIn returns the first annotation in a line of a text, or false.
func annotationIn(text []byte, line int) (markdown.Trait, bool) {
	for _, t := range markdown.Parse(text).Traits {
		if t.Line == line {
			return t, true
		}
	}
	return markdown.Trait{}, false
}
