package vault

import (
	"strconv"
	"strings"
	"time"
)

// isoDate is the format of a Date.
const isoDate = "2006-01-02"

// A Date is a calendar day, `2026-03-02`. A Date is valid or "". Dates from 0000-01-01 to
// 9999-12-31 compare as strings.
type Date string

// ParseDate returns the day that a text of the form YYYY-MM-DD names. It returns "" and false for
// any other text, and for a day that does not exist, such as 2026-02-30.
func ParseDate(s string) (Date, bool) {
	if len(s) != len(isoDate) || s[4] != '-' || s[7] != '-' {
		return "", false
	}
	if _, err := time.Parse(isoDate, s); err != nil {
		return "", false
	}
	return Date(s), true
}

// DateOf returns the day of t in its own zone.
func DateOf(t time.Time) Date { return Date(t.Format(isoDate)) }

// Weekday returns the day of the week.
func (d Date) Weekday() time.Weekday { return d.noon().Weekday() }

// Add returns the date a number of days later, or earlier if it is negative. A day is a calendar
// day, whatever the clock changes of a zone.
func (d Date) Add(days int) Date { return DateOf(d.noon().AddDate(0, 0, days)) }

// noon returns 12:00 UTC of the day, for calculations. It also works for 10000-01-01, which Add can
// return.
func (d Date) noon() time.Time {
	year, month, day := d.parts()
	return time.Date(year, time.Month(month), day, 12, 0, 0, 0, time.UTC)
}

// parts returns the year, month and day. The year may have more than four digits.
func (d Date) parts() (year, month, day int) {
	numbers, rest := [3]int{}, string(d)
	for i := range numbers {
		var part string
		part, rest, _ = strings.Cut(rest, "-")
		numbers[i], _ = strconv.Atoi(part) // a Date is valid
	}
	return numbers[0], numbers[1], numbers[2]
}

// Start returns the first instant of the day in the zone. That is midnight, except when a clock
// change skips midnight: then it is the first instant after the gap. If midnight occurs twice, it
// is the first one.
func (d Date) Start(zone *time.Location) time.Time {
	day := d.noon()
	t := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
	if zone == time.UTC {
		return t
	}
	begin, end := t.ZoneBounds()
	switch {
	case DateOf(t) != d:
		return end // midnight is in a gap, and time.Date chose a time before it
	case t.Hour() != 0 || t.Minute() != 0:
		return begin // midnight is in a gap, and time.Date chose a time after it
	case begin.IsZero():
		return t
	}
	_, now := t.Zone()
	_, before := begin.Add(-1).Zone()
	if first := t.Add(time.Duration(now-before) * time.Second); first.Before(begin) && before > now {
		return first
	}
	return t
}

// A Clock is a current time with a zone and a week start. It resolves relative dates such as
// `today`. A nil Zone is UTC. It does not advance: all answers of one Clock are of the same moment.
type Clock struct {
	Now       time.Time
	Zone      *time.Location
	WeekStart time.Weekday
}

// Today returns the current date in the clock's zone.
func (c Clock) Today() Date { return DateOf(c.Now.In(c.zone())) }

// zone returns the zone, UTC if it is nil.
func (c Clock) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

// DayWords returns the words that Day accepts.
func DayWords() []string { return []string{"today", "tomorrow", "yesterday"} }

// Day returns the date that a text denotes: `2026-03-02` or one of DayWords. It returns false for
// any other text.
func (c Clock) Day(s string) (Date, bool) {
	switch s {
	case "today":
		return c.Today(), true
	case "tomorrow":
		return c.Today().Add(1), true
	case "yesterday":
		return c.Today().Add(-1), true
	}
	return ParseDate(s)
}

// Root denotes the root folder of the vault in a Config.
const Root = "."

// DailyPath returns the path of the daily note of a date: daily/2026-03-02.md if the configuration
// does not name another folder.
func (c Config) DailyPath(d Date) Path {
	return Path(c.dailyPrefix() + string(d) + ".md")
}

// DailyText returns the text of a new daily note: its frontmatter and title (reference/raven.md
// §6.5). All versions of Raven read it.
func DailyText(d Date) string {
	return "---\ntype: date\n---\n\n# " + DailyTitle(d) + "\n"
}

// DailyTitle returns the title of a daily note: Monday, March 2, 2026.
func DailyTitle(d Date) string { return d.noon().Format("Monday, January 2, 2006") }

// IsDaily reports whether p is the path of a daily note, and returns its date. The case of the
// folder is ignored.
func (c Config) IsDaily(p Path) (Date, bool) {
	prefix, id := c.dailyPrefix(), p.ID()
	if len(id) < len(prefix) || p.Kind() != KindNote || !strings.EqualFold(id[:len(prefix)], prefix) {
		return "", false
	}
	return ParseDate(id[len(prefix):])
}

// DailyID returns the id of the daily note for another form of it: `2026-03-02`, or
// `daily/2026-03-02` if daily notes are in another folder. It returns false if id is not a date in
// one of these forms.
func (c Config) DailyID(id string) (string, bool) {
	d, ok := ParseDate(strings.TrimPrefix(id, "daily/"))
	return c.dailyPrefix() + string(d), ok
}

// dailyPrefix returns the part of a daily note's id before the date: the folder with a slash at its
// end, or "" if daily notes are in the root.
func (c Config) dailyPrefix() string {
	switch c.DailyDirectory {
	case "":
		return DefaultDaily + "/"
	case Root:
		return ""
	}
	return c.DailyDirectory + "/"
}
