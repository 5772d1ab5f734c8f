package markdown

import (
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
)

// blockTail matches the block id at the end of a line with the blanks around it, or only the
// blanks.
var blockTail = regexp.MustCompile(`[ \t]+\^[A-Za-z0-9-]+[ \t]*$|[ \t]+$`)

// SetTask sets the mark of t, a task that Parse returned for this text, and returns the new note.
// If the line has dates in the notation of the plugins Tasks or Dataview, a task that becomes done
// gets today, a date YYYY-MM-DD, as its completion date in the same notation, and a task that is no
// longer done loses that date. Nothing else changes. If the task has the mark already, or is done
// and stays done, the note is returned unchanged.
//
// It returns NOT_FOUND if the text does not contain t. It returns INVALID_VALUE for a mark that is
// not one character, and for a recurring task that would be done, because the plugin has to create
// the next task.
func SetTask(text []byte, t Task, mark, today string) ([]byte, error) {
	d := Parse(text)
	i := slices.IndexFunc(d.Tasks, func(o Task) bool { return o.Span == t.Span })
	switch {
	case i < 0:
		return nil, fault.New(fault.NotFound, "the note has no task there")
	case utf8.RuneCountInString(mark) != 1 || checkbox([]byte("["+mark+"] x")) == 0:
		return nil, fault.New(fault.InvalidValue, "the mark of a checkbox must be one character")
	}
	t = d.Tasks[i]
	if t.Mark == mark || t.Done() && IsDone(mark) {
		return text, nil
	}
	line := string(text[t.Span.End+1 : t.End])
	fields := ReadTaskFields(line)
	if IsDone(mark) && fields.Recurs {
		return nil, fault.New(fault.InvalidValue, "the task recurs: the plugin that creates the next one must "+
			"mark it as done").With("recurring", true).With("line", t.Line).
			Fix("mark the task as done in Obsidian")
	}
	patches := []patch{{t.Span, []byte(mark)}}
	if rest := withDoneDate(line, fields, IsDone(mark), today); rest != line {
		patches = append(patches, patch{Span{t.Span.End + 1, t.End}, []byte(rest)})
	}
	out := apply(text, patches)
	after := Parse(out)
	if len(after.Tasks) != len(d.Tasks) || after.Tasks[i].Mark != mark || len(after.Traits) != len(d.Traits) {
		return nil, fault.New(fault.InvalidValue, "the checkbox cannot be set to this mark").With("line", t.Line)
	}
	return out, nil
}

// withDoneDate returns the text of a task with the completion date that it must have: today, or none. line
// is the text after the checkbox, and f are its fields. A task without any date or recurrence gets
// none, because its user does not use a plugin for dates. A new date is written before a block id,
// which must be last.
func withDoneDate(line string, f TaskFields, done bool, today string) string {
	switch {
	case !done && f.DoneOn != "":
		return doneNotes.ReplaceAllString(line, "")
	case !done || f.DoneOn != "" || f == (TaskFields{}):
		return line
	}
	note := " ✅ " + today
	if !emojiDate.MatchString(line) {
		note = " [completion:: " + today + "]"
	}
	end := len(line)
	if at := blockTail.FindStringIndex(line); at != nil {
		end = at[0]
	}
	return line[:end] + note + line[end:]
}

// AnnotateTask writes an annotation directly after the checkbox of t, a task that Parse returned
// for this text and whose line has no such annotation. It returns INVALID_VALUE if the new note
// would have other traits or tasks than expected. Invalid names and values are errors as for
// AppendTrait.
func AnnotateTask(text []byte, t Task, f Field) ([]byte, error) {
	at := t.Span.End + 1
	annotation, err := annotate(f, opensParen(text[at:t.End]))
	if err != nil {
		return nil, err
	}
	before := Parse(text)
	out := splice(text, Span{at, at}, []byte(" "+annotation))
	after := Parse(out)
	i := slices.IndexFunc(after.Traits, func(o Trait) bool { return o.Span.Start == at+1 })
	if i < 0 || after.Traits[i].Name != f.Key || after.Traits[i].Raw != rawOf(annotation) ||
		len(after.Traits) != len(before.Traits)+1 || len(after.Tasks) != len(before.Tasks) {
		return nil, cannotAnnotate(f.Key)
	}
	return out, nil
}
