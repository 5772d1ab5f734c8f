package markdown

import (
	"regexp"
	"slices"
	"unicode/utf8"

	"rookery/internal/fault"
)

// blockTail is the id of a block at the end of a line, with the blanks before it and behind it.
var blockTail = regexp.MustCompile(`[ \t]+\^[A-Za-z0-9-]+[ \t]*$|[ \t]+$`)

// SetTask sets the mark of a task that Parse found in this text. Where the line has dates of the plugins Tasks or
// Dataview, a task that becomes done gets today as the date of completion in the same notation, and one that is no
// longer done loses that date. Nothing else changes.
//
// A task that the text does not have is NOT_FOUND. A mark that is not one character, and a recurring task that
// would be done, are INVALID_VALUE: the next task is made by the plugin.
func SetTask(text []byte, t Task, mark, today string) ([]byte, error) {
	d := Parse(text)
	i := slices.IndexFunc(d.Tasks, func(o Task) bool { return o.Span == t.Span })
	switch {
	case i < 0:
		return nil, fault.New(fault.NotFound, "the note has no task there")
	case utf8.RuneCountInString(mark) != 1 || checkbox([]byte("["+mark+"] x")) == 0:
		return nil, fault.New(fault.InvalidValue, "the mark of a checkbox is one character")
	}
	t = d.Tasks[i]
	if t.Mark == mark || t.Done() && IsDone(mark) {
		return text, nil
	}
	line := string(text[t.Span.End+1 : t.End])
	fields := ReadTaskFields(line)
	if IsDone(mark) && fields.Recurs {
		return nil, fault.New(fault.InvalidValue, "the task recurs: the plugin that makes the next one must "+
			"mark it as done").With("recurring", true).With("line", t.Line).
			Fix("mark the task as done in Obsidian")
	}
	patches := []patch{{t.Span, []byte(mark)}}
	if rest := dated(line, fields, IsDone(mark), today); rest != line {
		patches = append(patches, patch{Span{t.Span.End + 1, t.End}, []byte(rest)})
	}
	out := apply(text, patches)
	after := Parse(out)
	if len(after.Tasks) != len(d.Tasks) || after.Tasks[i].Mark != mark || len(after.Traits) != len(d.Traits) {
		return nil, fault.New(fault.InvalidValue, "the checkbox cannot be set to this mark").With("line", t.Line)
	}
	return out, nil
}

// dated returns the text of a task with the date of completion that it should have: today, or none.
func dated(line string, f TaskFields, done bool, today string) string {
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

// AnnotateTask writes an annotation directly behind the checkbox of a task that Parse found in this text and whose
// line has none yet. Names and values are refused as in AppendTrait.
func AnnotateTask(text []byte, t Task, f Field) ([]byte, error) {
	at := t.Span.End + 1
	annotation, err := annotate(f, opens(text[at:t.End]))
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
