package vault

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
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

// An Interval is the range of time that an expression denotes: all instants t with From <= t < To.
// A zero bound is open. If both bounds are equal, it is a single instant (reference/raven.md
// §6.10). The zero Interval contains all times.
type Interval struct{ From, To time.Time }

// TimeForms returns the forms that ParseTime accepts, for messages.
func TimeForms() []string {
	return []string{
		"today", "tomorrow", "yesterday", "this-week", "next-week", "past", "future", "YYYY-MM-DD",
		"YYYY-MM-DDTHH:MM", "RFC 3339", "N minutes ago", "N hours ago", "N days ago", "N weeks ago",
	}
}

// ParseTime parses a time in one of the forms of TimeForms, in the zone of the clock. Words and
// dates denote ranges of whole days, and other forms an instant. Surrounding space is ignored. It
// returns INVALID_VALUE for any other text.
func ParseTime(s string, c Clock) (Interval, error) {
	s = strings.TrimSpace(s)
	if i, ok := parseWords(s, c); ok {
		return i, nil
	}
	if d, ok := c.Day(s); ok {
		return c.days(d, 1), nil
	}
	if t, ok := c.ago(s); ok {
		return Interval{t, t}, nil
	}
	if t, ok := parseDateTime(s, c.zone()); ok {
		return Interval{t, t}, nil
	}
	return Interval{}, fault.New(fault.InvalidValue, "a time is one of: %s",
		strings.Join(TimeForms(), ", ")).With("allowed", TimeForms())
}

// parseWords parses the words for ranges other than a day. A week has 7 days and begins with the
// clock's WeekStart. past is everything before today, and future everything after it.
func parseWords(s string, c Clock) (Interval, bool) {
	today := c.Today()
	since := (int(today.Weekday()) - int(c.WeekStart) + 7) % 7
	week := today.Add(-since)
	switch s {
	case "this-week":
		return c.days(week, 7), true
	case "next-week":
		return c.days(week.Add(7), 7), true
	case "past":
		return Interval{To: today.Start(c.zone())}, true
	case "future":
		return Interval{From: today.Add(1).Start(c.zone())}, true
	}
	return Interval{}, false
}

// days returns the interval of n whole days that begins with a date.
func (c Clock) days(from Date, n int) Interval {
	return Interval{from.Start(c.zone()), from.Add(n).Start(c.zone())}
}

// The forms of relative times. A day is always 24 hours and a week 7 days.
var (
	agoForm = regexp.MustCompile(`^(\d+) (minute|hour|day|week)s? ago$`)

	units = map[string]time.Duration{
		"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
	}
)

// ago parses a relative time such as `3 days ago`. A day is 24 hours, whatever the clock changes of
// the zone. It returns false for a number that is too large for a duration.
func (c Clock) ago(s string) (time.Time, bool) {
	m := agoForm.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if unit := units[m[2]]; err == nil && n <= math.MaxInt64/int64(unit) {
		return c.Now.Add(-time.Duration(n) * unit), true
	}
	return time.Time{}, false
}

// parseDateTime parses a date with a time of day: RFC 3339, or YYYY-MM-DDTHH:MM with or without
// seconds. Without an offset it is in the given zone. Fractions of seconds and a blank in place of
// the T are not accepted without an offset.
func parseDateTime(s string, zone *time.Location) (time.Time, bool) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, true
	}
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(form, s, zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// Instant reports whether the interval is a single instant.
func (i Interval) Instant() bool { return !i.From.IsZero() && i.From.Equal(i.To) }

// Contains reports whether t is in the interval. The end is not in it, unless the interval is an
// instant, which contains itself.
func (i Interval) Contains(t time.Time) bool {
	return i.Since(t) && (i.To.IsZero() || t.Before(i.To) || i.Instant() && t.Equal(i.To))
}

// After reports whether t is after the whole interval.
func (i Interval) After(t time.Time) bool {
	if i.Instant() {
		return t.After(i.To)
	}
	return !i.To.IsZero() && !t.Before(i.To)
}

// Before reports whether t is before the whole interval.
func (i Interval) Before(t time.Time) bool { return !i.From.IsZero() && t.Before(i.From) }

// Since reports whether t is at or after the beginning of the interval.
func (i Interval) Since(t time.Time) bool { return !t.Before(i.From) }

// Covers reports whether the beginning of the day is in the interval or, for an instant, whether
// the instant is in the day. It compares a field with a date only, which has no time of day, with
// an expression.
func (i Interval) Covers(d Date, zone *time.Location) bool {
	if i.Instant() {
		return DateOf(i.From.In(zone)) == d
	}
	return i.Contains(d.Start(zone))
}
