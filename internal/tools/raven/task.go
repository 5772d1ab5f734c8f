package raven

import (
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

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
	for _, other := range t.Note.Annotations {
		if other.Task && other.Line == t.Line {
			return other
		}
	}
	return nil
}

// countTasks returns the number of checkboxes in a note.
func countTasks(n *index.Note) int {
	count := 0
	for _, t := range n.Annotations {
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
	if t.Checkbox == "" {
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
	line := w.trait.Line
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
