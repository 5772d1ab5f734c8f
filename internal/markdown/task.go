package markdown

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Task is a list item that begins with a checkbox, such as `- [ ] Call Freya`. The mark between
// the brackets is any one character. An item without text after the checkbox is not a Task.
type Task struct {
	Mark string // of the checkbox: " ", "x" or another
	Pin  string // the id of the `@id(…)` on the line; empty if there is none

	Content     string // the line, without the markers of lists and quotes
	ContentText string // the visible line, without annotations, with blanks collapsed

	Scope int  // the index of the heading of its section, -1 for the note itself
	Line  int  // of the file
	Span  Span // of the mark, without its brackets
	End   int  // the offset of the end of the line, before its line break
}

// Done reports whether the mark means that the task is done.
func (t Task) Done() bool { return IsDone(t.Mark) }

// IsDone reports whether the mark of a checkbox means that its task is done: x or X.
func IsDone(mark string) bool { return mark == "x" || mark == "X" }

// checkbox returns the length in bytes of the checkbox at the beginning of a line, including
// brackets; 0 if there is none, or no text after it. The mark is any one character except a
// bracket, and a blank must follow the closing bracket.
func checkbox(line []byte) int {
	if len(line) < 4 || line[0] != '[' {
		return 0
	}
	_, n := utf8.DecodeRune(line[1:])
	end := 1 + n
	switch {
	case end+1 >= len(line) || line[end] != ']' || !isBlank(line[end+1]):
		return 0
	case line[1] == '[' || line[1] == ']' || len(bytes.TrimSpace(line[end+1:])) == 0:
		return 0
	}
	return end + 1
}

// task adds the task whose checkbox begins the first line of a list item, if there is one.
func (b *bodyReader) task(n ast.Node) {
	item := n.Parent()
	if item == nil || item.Kind() != ast.KindListItem || item.FirstChild() != n || n.Kind() == ast.KindHeading {
		return
	}
	l := b.lines[0]
	line := b.prose.src[l.Start:l.End]
	size := checkbox(line)
	if size == 0 {
		return
	}
	t := Task{
		Mark: valid(line[1 : size-1]), Content: valid(bytes.TrimSpace(line)),
		Scope: b.scope(), Line: l.number,
		Span: Span{l.Start + l.shift + 1, l.Start + l.shift + size - 1}, End: l.End + l.shift,
	}
	b.prose.render(&b.rendered, l.Span)
	b.found = b.prose.annotations(&b.rendered, b.found[:0])
	for _, a := range b.found {
		if a.name == pinName && t.Pin == "" {
			t.Pin = b.pinned(a)
		}
	}
	t.ContentText = b.rendered.without(b.found)
	b.doc.Tasks = append(b.doc.Tasks, t)
}

// A TaskFields is the data of a task in the notation of the Obsidian plugins Tasks and Dataview: `📅
// 2026-12-01`, or `[due:: 2026-12-01]`. A missing date is empty.
type TaskFields struct {
	Due, Scheduled, Start, DoneOn string // YYYY-MM-DD
	Recurs                        bool   // a plugin creates the next task when this one is done
}

// The dates of a task in the notations of the plugins. A variation selector (U+FE0F) can follow an
// emoji.
var (
	emojiDate = regexp.MustCompile("(📅|📆|🗓|⏳|⌛|🛫|✅)\ufe0f?[ \t]*([0-9]{4}-[0-9]{2}-[0-9]{2})")
	fieldDate = regexp.MustCompile(
		`[\[(](due|scheduled|start|completion)::[ \t]*([0-9]{4}-[0-9]{2}-[0-9]{2})[ \t]*[\])]`)
	recurring = regexp.MustCompile(`🔁|[\[(]repeat::[ \t]*[^\])]`)
)

// doneNotes matches completion dates with the blanks before them.
var doneNotes = regexp.MustCompile("[ \t]*(?:✅\ufe0f?[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}|" +
	`[\[(]completion::[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ \t]*[\])])`)

// ReadTaskFields returns the fields in the text of a task. If a date occurs twice, the last one
// counts, as in the plugin Tasks. Invalid dates are ignored.
//
// Most tasks have neither, so a text of ASCII without a colon is not searched.
func ReadTaskFields(text string) TaskFields {
	var f TaskFields
	if !strings.ContainsRune(text, ':') && isASCIIText(text) {
		return f
	}
	for _, notation := range []*regexp.Regexp{emojiDate, fieldDate} {
		for _, m := range notation.FindAllStringSubmatch(text, -1) {
			if _, err := time.Parse(time.DateOnly, m[2]); err == nil {
				*f.date(m[1]) = m[2]
			}
		}
	}
	f.Recurs = recurring.MatchString(text)
	return f
}

// date returns the field of an emoji or a name.
func (f *TaskFields) date(sign string) *string {
	switch sign {
	case "📅", "📆", "🗓", "due":
		return &f.Due
	case "⏳", "⌛", "scheduled":
		return &f.Scheduled
	case "🛫", "start":
		return &f.Start
	}
	return &f.DoneOn
}

// isASCIIText reports whether a text has only ASCII characters, and therefore no emoji.
func isASCIIText(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// TaskText returns the text of a task without its checkbox and its completion date, which is the
// part that stays the same when the task is done.
func TaskText(text string) string {
	if n := checkbox([]byte(text)); n > 0 {
		text = text[n:]
	}
	return strings.TrimSpace(doneNotes.ReplaceAllString(text, ""))
}

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
