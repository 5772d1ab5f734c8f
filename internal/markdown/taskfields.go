package markdown

import (
	"regexp"
	"strings"
	"time"
)

// TaskFields are what the text of a task says in the notation of the plugins Tasks and Dataview of Obsidian:
// `📅 2026-12-01`, or `[due:: 2026-12-01]`. A date is empty where there is none.
type TaskFields struct {
	Due, Scheduled, Start, DoneOn string // YYYY-MM-DD
	Recurs                        bool   // a plugin makes the next task when this one is done
}

// The dates of a task, as the plugins write them. Behind an emoji can be the sign that asks for its coloured form.
var (
	emojiDate = regexp.MustCompile("(📅|📆|🗓|⏳|⌛|🛫|✅)\ufe0f?[ \t]*([0-9]{4}-[0-9]{2}-[0-9]{2})")
	fieldDate = regexp.MustCompile(`[\[(](due|scheduled|start|completion)::[ \t]*([0-9]{4}-[0-9]{2}-[0-9]{2})[ \t]*[\])]`)
	recurring = regexp.MustCompile(`🔁|[\[(]repeat::[ \t]*[^\])]`)
)

// doneNotes are the dates of completion with the blanks before them.
var doneNotes = regexp.MustCompile("[ \t]*(?:✅\ufe0f?[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}|" +
	`[\[(]completion::[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ \t]*[\])])`)

// ReadTaskFields reads the text of a task. Of a date that is there twice the last one counts, as in Tasks.
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

// date returns the date that a sign or a name stands for.
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

func isASCIIText(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// TaskText returns the text of a task without its checkbox and its date of completion: what stays when the task
// is done.
func TaskText(text string) string {
	if n := checkbox([]byte(text)); n > 0 {
		text = text[n:]
	}
	return strings.TrimSpace(doneNotes.ReplaceAllString(text, ""))
}
