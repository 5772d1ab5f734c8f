package index

import (
	"slices"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// TaskType is the type of the traits that checkboxes are: a list item that begins with one is a trait of this
// type, without an annotation. In a vault whose schema has a trait of the name, checkboxes are none.
const TaskType = "task"

// The values of a task.
const (
	TaskTodo       = "todo"
	TaskDone       = "done"
	TaskInProgress = "in-progress"
	TaskCancelled  = "cancelled"
)

// TaskValues are the values that a task can have.
func TaskValues() []string { return []string{TaskTodo, TaskInProgress, TaskDone, TaskCancelled} }

// TaskValue returns the value of a task whose checkbox has a mark.
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

// TaskMark returns the mark of a checkbox for a value of TaskValues.
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

// withTasks returns traits together with the checkboxes of a text, in text order: a checkbox is a trait without a
// name behind those of its line.
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

// markPlaces gives the places of the lines that begin with checkboxes their marks. Both lists are by line.
func markPlaces(places []*Place, tasks []markdown.Task) {
	for _, p := range places {
		for len(tasks) > 0 && tasks[0].Line < p.Line {
			tasks = tasks[1:]
		}
		if len(tasks) > 0 && tasks[0].Line == p.Line {
			p.Checkbox = tasks[0].Mark
		}
	}
}

// taskEntry is the name of the entries of tasks with a value. No annotation has such a name.
func taskEntry(value string) string { return valueName("["+TaskType+"]", value) }

// Tasks are the checkboxes of a value; of the empty value, all. In a vault whose schema has a trait called task
// there are none.
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

// told yields the traits whose changes are told of by themselves: a checkbox on the line of another trait is told
// of with that.
func (n *Note) told(yield func(*Trait) bool) {
	for t := range n.Traits() {
		if t.Task && len(t.Siblings()) > 0 {
			continue
		}
		if !yield(t) {
			return
		}
	}
}

// Done reports whether the line of a trait is done: its checkbox says so, or a trait on the line, `@done` by the
// value true, or `@status` by the value done, or by the last value of an enum without that.
func (x *Index) Done(t *Trait) bool {
	done, _ := x.DoneKnown(t)
	return done
}

// DoneKnown is Done, and reports whether anything on the line of the trait says whether it is done.
func (x *Index) DoneKnown(t *Trait) (done, known bool) {
	done, known = markdown.IsDone(t.Checkbox), t.Checkbox != ""
	for _, s := range t.OnLine() {
		if s.Task || !s.Defined || s.Type != "status" && s.Type != "done" {
			continue
		}
		says, ok := x.saysDone(s.TraitValue)
		done, known = done || says, known || ok
	}
	return done, known
}

// saysDone reports whether a trait called status or done says that its line is done, and whether it is of a kind
// that can.
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

// TaskFields are the dates that the line of a trait says in the notation of the plugins Tasks and Dataview; see
// markdown.TaskFields. A line without a checkbox says none.
func (p *Place) TaskFields() markdown.TaskFields {
	if p.Checkbox == "" {
		return markdown.TaskFields{}
	}
	return markdown.ReadTaskFields(p.Content)
}
