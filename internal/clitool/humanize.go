package clitool

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rookeryhq/rookery/internal/tool"
)

// humanize returns data in the form for a person at a terminal: labels from the schema instead of
// names, and times relative to now. Names that are not in the schema, such as those of fields, are
// kept. It does not change v, whose JSON may still be printed. A schema of nil returns v unchanged.
func (p *printer) humanize(v value, s *jsonschema.Schema) value {
	switch s = tool.Deref(p.schema, s); {
	case s == nil:
	case v.kind == textKind && s.Format == dateTime:
		v.text, v.whole = p.ago(v.text), true
	case v.kind == numberKind && s.Format == unixMS:
		if ms, err := strconv.ParseInt(v.text, 10, 64); err == nil {
			v.text, v.whole = p.agoOf(time.UnixMilli(ms)), true
		}
	case v.kind == listKind:
		items := make([]value, len(v.items))
		for i, item := range v.items {
			items[i] = p.humanize(item, s.Items)
		}
		v.items = items
	case v.kind == objectKind:
		members := make([]member, len(v.members))
		for i, m := range v.members {
			if property := s.Properties[m.name]; property != nil {
				m.label, m.value = labelOf(m.name, property), p.humanize(m.value, property)
			}
			members[i] = m
		}
		v.members = members
	}
	return v
}

// dateTime and unixMS are schema formats: a time as text, and milliseconds since 1970.
const (
	dateTime = "date-time"
	unixMS   = "unix-ms"
)

// labelOf returns the label of a member: the title in its schema, or its name in words, without the
// ending _at of a time: created_at is shown as created.
func labelOf(name string, s *jsonschema.Schema) string {
	if s.Title != "" {
		return s.Title
	}
	if s.Format == dateTime || s.Format == unixMS {
		name = strings.TrimSuffix(name, "_at")
	}
	return words(name)
}

// ago formats a time for a person in the zone of the clock: relative if it is less than twelve
// hours away, by the day within a week, otherwise as a date:
//
//	3 minutes ago, in 2 hours
//	yesterday 16:20, Monday 09:00
//	2026-03-02
//
// A text that is not a time is returned unchanged.
func (p *printer) ago(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return p.agoOf(t)
}

// agoOf is ago for a time. A time after tomorrow is a date, because the name of a day would be
// taken for one in the past.
func (p *printer) agoOf(t time.Time) string {
	t = t.In(p.now.Location())
	passed := p.now.Sub(t)
	if distance := passed.Abs(); distance < 12*time.Hour {
		return relative(distance, passed < 0)
	}
	const week = 7
	switch days := daysBetween(t, p.now); {
	case days == 0:
		return "today " + t.Format("15:04")
	case days == 1:
		return "yesterday " + t.Format("15:04")
	case days == -1:
		return "tomorrow " + t.Format("15:04")
	case 0 < days && days < week:
		return t.Format("Monday 15:04")
	}
	return t.Format(time.DateOnly)
}

// relative formats a time difference of less than a day. distance is not negative; future says
// whether the time is after now. Whole units are counted, rounded down.
func relative(distance time.Duration, future bool) string {
	count, unit := int(distance.Hours()), "hour"
	switch {
	case distance < time.Minute && future:
		return "in a moment"
	case distance < time.Minute:
		return "just now"
	case distance < time.Hour:
		count, unit = int(distance.Minutes()), "minute"
	}
	if count != 1 {
		unit += "s"
	}
	if future {
		return fmt.Sprintf("in %d %s", count, unit)
	}
	return fmt.Sprintf("%d %s ago", count, unit)
}

// daysBetween returns the number of midnights from one time to another of the same zone; it is
// negative if to is earlier. It counts days of the calendar, so a day with a clock change counts as
// one.
func daysBetween(from, to time.Time) int {
	day := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	}
	return int(day(to).Sub(day(from)) / (24 * time.Hour))
}
