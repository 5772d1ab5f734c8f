package vault

import (
	"strconv"
	"strings"
	"time"
)

// isoDate is how dates are written.
const isoDate = "2006-01-02"

// A Date is a day of the calendar, `2026-03-02`. One that is not empty is valid.
type Date string

// ParseDate reads `YYYY-MM-DD`.
func ParseDate(s string) (Date, bool) {
	if len(s) != len(isoDate) || s[4] != '-' || s[7] != '-' {
		return Date(s), false
	}
	_, err := time.Parse(isoDate, s)
	return Date(s), err == nil
}

// DateOf is the day on which t is in its own zone.
func DateOf(t time.Time) Date { return Date(t.Format(isoDate)) }

// Weekday is the day of the week.
func (d Date) Weekday() time.Weekday { return d.noon().Weekday() }

// Add is the date so many days later.
func (d Date) Add(days int) Date { return DateOf(d.noon().AddDate(0, 0, days)) }

// noon is a time of the day, for reckoning with it. The day after 9999-12-31 has one too.
func (d Date) noon() time.Time {
	year, month, day := d.parts()
	return time.Date(year, time.Month(month), day, 12, 0, 0, 0, time.UTC)
}

// parts are the numbers that the date is written with. A year may have more than four digits.
func (d Date) parts() (year, month, day int) {
	parts := strings.SplitN(string(d), "-", 3)
	numbers := [3]int{}
	for i, part := range parts {
		numbers[i], _ = strconv.Atoi(part) // a Date is valid
	}
	return numbers[0], numbers[1], numbers[2]
}

// Start is the first instant of the day in the zone: midnight, or where the clocks are set forward
// over it, what comes next; the first of two midnights.
func (d Date) Start(zone *time.Location) time.Time {
	day := d.noon()
	t := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
	if zone == time.UTC {
		return t
	}
	begin, end := t.ZoneBounds()
	switch {
	case DateOf(t) != d:
		return end // there is no midnight, and Date went back over the gap
	case t.Hour() != 0 || t.Minute() != 0:
		return begin // there is no midnight, and Date went on over the gap
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

// A Clock says what time it is where: it gives words such as `today` their meaning. The zero Zone is
// UTC.
type Clock struct {
	Now       time.Time
	Zone      *time.Location
	WeekStart time.Weekday
}

// Today is the date of the clock.
func (c Clock) Today() Date { return DateOf(c.Now.In(c.zone())) }

func (c Clock) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

// DayWords are the words that name one day.
func DayWords() []string { return []string{"today", "tomorrow", "yesterday"} }

// Day is the date that a text names: `2026-03-02`, or one of DayWords.
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
