package vault_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

// instant parses a time; "" is the open end of an interval.
func instant(t *testing.T, s string) time.Time {
	t.Helper()
	if s == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, s)
	require.NoError(t, err)
	return at
}

func TestParseTime(t *testing.T) {
	// A Monday; in Auckland it is Tuesday already, in Honolulu still Sunday.
	now := time.Date(2026, 3, 2, 11, 30, 0, 0, time.UTC)
	rows := []struct {
		zone      string
		weekStart time.Weekday
		text      string
		from, to  string
	}{
		{"UTC", 1, "today", "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"},
		{"UTC", 1, "yesterday", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"UTC", 1, " tomorrow ", "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z"},
		{"UTC", 1, "2024-02-29", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"},
		{"UTC", 1, "9999-12-31", "9999-12-31T00:00:00Z", "9999-12-31T23:59:59Z"},
		{"UTC", 1, "this-week", "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"},
		{"UTC", 0, "this-week", "2026-03-01T00:00:00Z", "2026-03-08T00:00:00Z"},
		{"UTC", 2, "this-week", "2026-02-24T00:00:00Z", "2026-03-03T00:00:00Z"},
		{"UTC", 1, "next-week", "2026-03-09T00:00:00Z", "2026-03-16T00:00:00Z"},
		{"UTC", 1, "past", "", "2026-03-02T00:00:00Z"},
		{"UTC", 1, "future", "2026-03-03T00:00:00Z", ""},
		{"UTC", 1, "1 minute ago", "2026-03-02T11:29:00Z", "2026-03-02T11:29:00Z"},
		{"UTC", 1, "24 hours ago", "2026-03-01T11:30:00Z", "2026-03-01T11:30:00Z"},
		{"UTC", 1, "2 days ago", "2026-02-28T11:30:00Z", "2026-02-28T11:30:00Z"},
		{"UTC", 1, "1 week ago", "2026-02-23T11:30:00Z", "2026-02-23T11:30:00Z"},
		{"UTC", 1, "2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00Z", "2026-03-01T08:00:00Z"},
		{"UTC", 1, "2026-03-01T10:00", "2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"},
		{"Pacific/Auckland", 1, "today", "2026-03-03T00:00:00+13:00", "2026-03-04T00:00:00+13:00"},
		{"Pacific/Honolulu", 1, "today", "2026-03-02T00:00:00-10:00", "2026-03-03T00:00:00-10:00"},
		{"Pacific/Honolulu", 1, "2026-03-01T10:00", "2026-03-01T20:00:00Z", "2026-03-01T20:00:00Z"},
		// A day of 23 hours, one of 25, and the weeks that hold them.
		{"Europe/Vienna", 1, "2026-03-29", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"Europe/Vienna", 1, "2026-10-25", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		// Clocks set forward at midnight: the day begins at one. In Cairo and in Gaza too.
		{"America/Sao_Paulo", 1, "2018-11-04", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"},
		{"America/Sao_Paulo", 1, "2018-11-03", "2018-11-03T00:00:00-03:00", "2018-11-04T01:00:00-02:00"},
		{"Africa/Cairo", 1, "2024-04-26", "2024-04-26T01:00:00+03:00", "2024-04-27T00:00:00+03:00"},
		// Clocks set back at one: the day has two midnights, and begins with the first.
		{"America/Havana", 1, "2025-11-02", "2025-11-02T00:00:00-04:00", "2025-11-03T00:00:00-05:00"},
		// A day that Samoa left out ends where it would begin.
		{"Pacific/Apia", 1, "2011-12-29", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
	}
	for _, r := range rows {
		c := vault.Clock{Now: now, Zone: zone(t, r.zone), WeekStart: r.weekStart}
		got, err := vault.ParseTime(r.text, c)
		require.NoError(t, err, "%s in %s", r.text, r.zone)
		require.True(t, instant(t, r.from).Equal(got.From), "%s in %s from %s", r.text, r.zone, got.From)
		if r.text == "9999-12-31" {
			require.True(t, got.To.After(instant(t, r.to)))
			continue
		}
		require.True(t, instant(t, r.to).Equal(got.To), "%s in %s to %s", r.text, r.zone, got.To)
	}
}

func TestParseTimeRefuses(t *testing.T) {
	for _, s := range []string{
		"", "now", "Today", "last-week", "2026-02-30", "2026-3-1", "3 days", "-3 days ago",
		"3 years ago", "99999999999 weeks ago", "99999999999999999999 days ago", "days ago",
		"2026-03-01 10:00", "2026-03-01T25:00", "today or tomorrow", "3.5 days ago",
	} {
		_, err := vault.ParseTime(s, clock)
		require.True(t, fault.Is(err, fault.InvalidValue), "%q", s)
		require.Equal(t, vault.TimeForms(), fault.Of(err).Details["allowed"])
	}
}

func TestIntervals(t *testing.T) {
	read := func(s string) vault.Interval {
		i, err := vault.ParseTime(s, clock)
		require.NoError(t, err)
		return i
	}
	day, point := read("2026-03-02"), read("2026-03-02T12:00")
	past, future := read("past"), read("future")
	rows := []struct {
		i                              vault.Interval
		at                             string
		contains, since, before, after bool
	}{
		{day, "2026-03-01T23:59:59Z", false, false, true, false},
		{day, "2026-03-02T00:00:00Z", true, true, false, false},
		{day, "2026-03-02T23:59:59Z", true, true, false, false},
		{day, "2026-03-03T00:00:00Z", false, true, false, true},
		{point, "2026-03-02T11:59:59Z", false, false, true, false},
		{point, "2026-03-02T12:00:00Z", true, true, false, false},
		{point, "2026-03-02T12:00:01Z", false, true, false, true},
		{past, "2020-01-01T00:00:00Z", true, true, false, false},
		{past, "2026-03-02T00:00:00Z", false, true, false, true},
		{future, "2026-03-02T23:59:59Z", false, false, true, false},
		{future, "2030-01-01T00:00:00Z", true, true, false, false},
	}
	for _, r := range rows {
		at := instant(t, r.at)
		require.Equal(t, r.contains, r.i.Contains(at), "contains %s", r.at)
		require.Equal(t, r.since, r.i.Since(at), "since %s", r.at)
		require.Equal(t, r.before, r.i.Before(at), "before %s", r.at)
		require.Equal(t, r.after, r.i.After(at), "after %s", r.at)
	}
	require.True(t, point.Instant())
	require.False(t, day.Instant())
	require.False(t, past.Instant())
	require.True(t, point.Covers("2026-03-02", time.UTC))
	require.False(t, point.Covers("2026-03-03", time.UTC))
	require.True(t, read("this-week").Covers("2026-03-08", time.UTC))
	require.False(t, read("this-week").Covers("2026-03-09", time.UTC))
}

func TestDates(t *testing.T) {
	for _, s := range []string{"2026-03-02", "2024-02-29", "0001-01-01", "9999-12-31"} {
		d, ok := vault.ParseDate(s)
		require.True(t, ok, s)
		require.Equal(t, s, string(d))
	}
	for _, s := range []string{"", "2026-02-29", "2026-13-01", "26-03-02", "2026-03-02 ", "２026-03-02"} {
		_, ok := vault.ParseDate(s)
		require.False(t, ok, s)
	}
	require.Equal(t, vault.Date("2026-03-01"), vault.Date("2026-02-28").Add(1))
	require.Equal(t, time.Monday, vault.Date("2026-03-02").Weekday())
	require.Equal(t, vault.Date("2026-03-02"), vault.Clock{Now: clock.Now}.Today())
}

// TestDaysBegin checks all days of time zones with unusual clock changes: just before a day begins
// it is the day before, and days follow each other without gaps.
func TestDaysBegin(t *testing.T) {
	for _, name := range []string{
		"UTC", "Europe/Vienna", "America/Sao_Paulo", "America/Havana", "Africa/Cairo", "Asia/Beirut",
		"Asia/Gaza", "Pacific/Apia", "Australia/Lord_Howe", "America/Asuncion", "Asia/Tehran",
		"Atlantic/Azores", "America/Scoresbysund", "Antarctica/Troll",
	} {
		z := zone(t, name)
		for d := vault.Date("1975-01-01"); d < "2037-01-01"; d = d.Add(1) {
			begin := d.Start(z)
			before := vault.DateOf(begin.Add(-time.Nanosecond).In(z))
			if before >= d || vault.DateOf(begin.In(z)) < d {
				t.Fatalf("%s begins %s in %s, when it was %s just before", d, begin, name, before)
			}
		}
	}
}
