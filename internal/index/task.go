package index

import (
	"slices"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// TaskType is the type of the traits for checkboxes: a list item that begins with a checkbox has a
// trait of this type, without an annotation. If the schema of the vault defines a trait with this
// name, checkboxes are not traits.
const TaskType = "task"

// The values of a task, from TaskValue.
const (
	TaskTodo       = "todo"
	TaskDone       = "done"
	TaskInProgress = "in-progress"
	TaskCancelled  = "cancelled"
)

// TaskValues returns the values that a task can have, in the order of its progress.
func TaskValues() []string { return []string{TaskTodo, TaskInProgress, TaskDone, TaskCancelled} }

// TaskValue returns the value of a task with this mark in its checkbox. An unknown mark means todo.
func TaskValue(mark string) string {
	switch {
	case markdown.IsDone(mark):
		return TaskDone
	case mark == "/":
		return TaskInProgress
	case mark == "-":
		return TaskCancelled
	}
	return TaskTodo
}

// TaskMark returns the mark of a checkbox for a value of TaskValues; false for any other value.
func TaskMark(value string) (mark string, ok bool) {
	switch value {
	case TaskTodo:
		return " ", true
	case TaskDone:
		return "x", true
	case TaskInProgress:
		return "/", true
	case TaskCancelled:
		return "-", true
	}
	return "", false
}

// withTasks returns the annotations and the checkboxes of a text, in text order. Both lists must be
// sorted by line. A checkbox becomes a trait without a name, after the annotations on its line;
// readTraits gives it the type TaskType.
func withTasks(traits []markdown.Trait, tasks []markdown.Task) []markdown.Trait {
	if len(tasks) == 0 {
		return traits
	}
	all := make([]markdown.Trait, 0, len(traits)+len(tasks))
	for _, task := range tasks {
		for len(traits) > 0 && traits[0].Line <= task.Line {
			all, traits = append(all, traits[0]), traits[1:]
		}
		all = append(all, markdown.Trait{
			Raw: TaskValue(task.Mark), Pin: task.Pin, Content: task.Content, ContentText: task.ContentText,
			Scope: task.Scope, Line: task.Line, Span: markdown.Span{Start: task.End, End: task.End},
		})
	}
	return append(all, traits...)
}

// taskEntry returns the name of the entries of tasks with a value. No annotation has such a name.
func taskEntry(value string) string { return valueName("["+TaskType+"]", value) }

// Tasks returns the checkboxes with a value; for the empty value, all. It is empty if the schema of
// the vault defines a trait called task.
func (x *Index) Tasks(value string) TraitSet {
	values := TaskValues()
	if value != "" {
		values = []string{value}
	}
	s := TraitSet{x: x, typ: TaskType}
	if _, declared := x.schema.Trait(TaskType); declared {
		return s
	}
	var names []string
	for _, v := range values {
		names = append(names, taskEntry(v))
	}
	s.names = newNameSet(names)
	return s
}

// eventTraits yields the traits that have events of their own, in reading order. A checkbox on the
// line of another trait has none, because the event of that trait covers it.
func (n *Note) eventTraits(yield func(*Trait) bool) {
	for t := range n.Traits() {
		if t.Task && len(t.Siblings()) > 0 {
			continue
		}
		if !yield(t) {
			return
		}
	}
}

// Done reports whether the line of a trait is done. Its checkbox says so, or a trait on the line:
// `@done` with the value true or, if its type is not bool, with any value except false; `@status`
// with the value done or, if its enum does not have that, with the last value of the enum.
func (x *Index) Done(t *Trait) bool {
	done, _ := x.DoneKnown(t)
	return done
}

// DoneKnown returns the same as Done, and whether anything on the line of the trait says if it is
// done.
func (x *Index) DoneKnown(t *Trait) (done, known bool) {
	done, known = markdown.IsDone(t.Checkbox()), t.Checkbox() != ""
	line := t.OnLine()
	for i := range line {
		s := &line[i]
		if s.Task || !s.Defined || s.Type != "status" && s.Type != "done" {
			continue
		}
		says, ok := x.saysDone(s.TraitValue)
		done, known = done || says, known || ok
	}
	return done, known
}

// saysDone reports whether a trait called status or done says that its line is done. It returns
// known false if the schema does not define the trait.
func (x *Index) saysDone(s *TraitValue) (done, known bool) {
	def, ok := x.schema.Trait(s.Type)
	if !ok {
		return false, false
	}
	value, _ := x.ValueOf(s)
	switch {
	case s.Type == "done" && def.Type == "bool":
		return value == true, true
	case s.Type == "done":
		return value != nil && value != false, true
	case def.Type == "enum" && !slices.Contains(def.Values, TaskDone) && len(def.Values) > 0:
		return value == any(def.Values[len(def.Values)-1]), true
	}
	return value == any(TaskDone), true
}

// TaskFields returns the dates on the line of a trait in the notation of the plugins Tasks and
// Dataview; see markdown.TaskFields. It returns none for a line without a checkbox.
func (p *Place) TaskFields() markdown.TaskFields {
	if p.Checkbox() == "" {
		return markdown.TaskFields{}
	}
	return markdown.ReadTaskFields(p.Content)
}
