package vault

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

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
