package markdown

import (
	"regexp"
	"strings"
	"time"
)

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
