package main

import (
	"fmt"
	"slices"
	"time"
)

// goalSize is the number of notes for which the goals are set.
const goalSize = 10_000

// A goal is a promised number with the measured one.
type goal struct {
	What       string
	Want, Got  float64
	Unit       string
	MoreIsGood bool
}

// goalsOf returns the goals for a vault, except those that were not measured.
func goalsOf(r result) []goal {
	var all []goal
	wait := func(what, load string, clients, percent int, want time.Duration) {
		if s, ok := r.load(load, clients); ok {
			all = append(all, goal{what, millis(want), millis(s.P(percent)), "ms", false})
		}
	}
	if s, ok := r.load(setField, 64); ok {
		all = append(all, goal{"commits a second at 64 clients", 500, s.Rate(), "commits/s", true})
	}
	wait("set, p50 at one client", setField, 1, 50, 15*time.Millisecond)
	wait("set, p95 at 64 clients", setField, 64, 95, 250*time.Millisecond)
	wait("read, p50", readNote, 1, 50, 3*time.Millisecond)
	wait("get, p50", getObject, 1, 50, 3*time.Millisecond)
	return slices.Concat(all, r.Index.goals(), r.Kept.goals(), askedGoals(r.Asked), r.Erased.goals(),
		r.Served.goals())
}

// goals returns the goals of a served folder, or nil if it was not measured.
func (s *served) goals() []goal {
	if s == nil {
		return nil
	}
	all := []goal{
		{"sweep of an unchanged folder, p50", 100, millis(s.Sweeps.P(50)), "ms", false},
	}
	for _, e := range s.Edits {
		all = append(all, goal{e.What + ", until a search finds it after its batch closed, p90", 1000,
			millis(e.ClosedP(90)), "ms", false})
	}
	if s.Idle.Known {
		all = append(all, goal{"server of a folder, idle", 0.5, s.Idle.Share(), "% of a core", false})
	}
	return all
}

// goals returns the goals of the indexes that were measured.
func (i indexed) goals() []goal {
	var all []goal
	for _, b := range i.Builds {
		if b.What == bothIndexes {
			all = append(all,
				goal{"both indexes, from the texts", 3, b.Took.Seconds(), "s", false},
				goal{"memory while they are built", 256, megabytes(b.Peak), "MB", false},
				goal{"memory that they hold", 150, megabytes(b.Held), "MB", false})
		}
	}
	for _, c := range i.Changes {
		if c.What == usualNote {
			all = append(all,
				goal{"the next index, p50", 1, millis(c.P(50)), "ms", false},
				goal{"the next search index, p50", 1, millis(c.SearchP(50)), "ms", false})
		}
	}
	return all
}

// goals returns the goals of starts that were measured.
func (k kept) goals() []goal {
	var all []goal
	for _, r := range k.Starts {
		if r.What == fromImage {
			all = append(all, goal{"a start from an image and its tail, p50", 300, millis(r.P(50)), "ms",
				false})
		}
	}
	for _, p := range k.Images {
		if p.What == wholeImage {
			all = append(all, goal{"images of both indexes, loaded, p50", 150, millis(p.P(50)), "ms",
				false})
		}
	}
	return all
}

// askedGoals returns the goals of lookups and searches. Each is compared with the slowest kind of
// call.
func askedGoals(list []asked) []goal {
	var all []goal
	wait := func(where string, a aim, want float64, by func(asked) sample) {
		if what, p50 := slowest(list, a, by); what != "" {
			name := fmt.Sprintf("%s %s, p50; the slowest: %s", a, where, what)
			all = append(all, goal{name, want, millis(p50), "ms", false})
		}
	}
	inside, overHTTP := func(k asked) sample { return k.Inside }, func(k asked) sample { return k.HTTP }
	wait("in process", aimLookup, 1, inside)
	wait("over HTTP", aimLookup, 3, overHTTP)
	wait("over HTTP", aimBacklinks, 5, overHTTP)
	wait("in process", aimSearch, 5, inside)
	wait("over HTTP", aimSearch, 5, overHTTP)
	return all
}

// load returns the sample of a load with this number of clients. ok is false if there is none.
func (r result) load(name string, clients int) (sample, bool) {
	for _, s := range r.Loads {
		if s.Name == name && s.Clients == clients {
			return s, true
		}
	}
	return sample{}, false
}

// Promise returns the goal in words.
func (g goal) Promise() string {
	if g.MoreIsGood {
		return fmt.Sprintf("≥ %g %s", g.Want, g.Unit)
	}
	return fmt.Sprintf("≤ %g %s", g.Want, g.Unit)
}

// Measured returns the measured number, in the unit of the goal.
func (g goal) Measured() string { return showNumber(g.Got) + " " + g.Unit }

// Outcome reports whether the goal is met or, if not, by how much it is missed.
func (g goal) Outcome() string {
	short := g.Got - g.Want
	if g.MoreIsGood {
		short = -short
	}
	if short <= 0 {
		return "met"
	}
	return fmt.Sprintf("missed by %s %s (%.0f %%)", showNumber(short), g.Unit, 100*short/g.Want)
}

// megabytes converts a number of bytes to MB (1e6 bytes).
func megabytes(n int64) float64 { return float64(n) / 1e6 }

// millis converts a duration to milliseconds.
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
