package search

import "time"

// A Profile says how the things of an index are cut, weighed and ranked. Each thing has a head with three fields and
// one or more units with two; what the fields are is the profile's.
type Profile struct {
	number uint32 // in images

	saturation float64
	head       [fields]weighting
	unit       [2]weighting

	// secondShare is what the second best unit of a thing adds to the best.
	secondShare float64

	fit, recordFit fit // of the confidence in its things, and in those that are records

	// thread says how units of a thread help each other; its zero value: they do not.
	thread threading
}

// A weighting says how much an occurrence in a field is worth against one in a text, and how much a longer field takes
// off it.
type weighting struct{ weight, slope float64 }

// A threading is what neighbours in a thread add to each other: a share of their own occurrences.
type threading struct {
	gap              time.Duration // a longer one ends a thread
	previous, others float64       // of the unit before, and of the others near by
	share            float64       // of the best score of the thread
	person           float64       // the factor of units of the one person whom a query names
	candidates       int           // how many units are scored in full, with those near them
}

// Notes is the profile of notes: heads have a title, a path, and what else the note is called; units are sections, and
// have a body and a heading.
func Notes() Profile {
	return Profile{
		number: 1, saturation: .9,
		head:        [fields]weighting{{12, .5}, {8, 0}, {3, .5}},
		unit:        [2]weighting{{1, .7}, {3, .5}},
		secondShare: .2, fit: notes,
	}
}

// Memories is the profile of memories and of turns of conversations (reference/retrieval.md §1): heads have an author,
// by what else the memory is found, and the words of its date; each has one unit, with its text and what was learnt.
func Memories() Profile {
	return Profile{
		number: 2, saturation: .9,
		head:   [fields]weighting{{1, 0}, {1, 0}, {1, 0}},
		unit:   [2]weighting{{1, .4}, {1, .4}},
		thread: threading{gap: 4 * time.Hour, previous: .4, others: .1, share: .2, person: 1.25, candidates: 200},
		fit:    turns, recordFit: recordFit,
	}
}

// profiles are the profiles that an image may be of.
func profiles() []Profile { return []Profile{Notes(), Memories()} }

// profileOf is the profile of a number.
func profileOf(number uint32) (Profile, bool) {
	for _, p := range profiles() {
		if p.number == number {
			return p, true
		}
	}
	return Profile{}, false
}

// isThreaded reports whether things are one unit each, and may have neighbours.
func (p *Profile) isThreaded() bool { return p.thread.candidates > 0 }

// A Feature is a part of the ranking of threaded profiles, which a profile may do without.
type Feature string

// The features.
const (
	FeatureFields     Feature = "fields of their own for author, tags and date"
	FeatureNeighbours Feature = "neighbours of the thread"
	FeatureThread     Feature = "share of the best of the thread"
	FeaturePerson     Feature = "the one person named"
)

// Features are those that a threaded profile has.
func (p Profile) Features() []Feature {
	if !p.isThreaded() {
		return nil
	}
	return []Feature{FeatureFields, FeatureNeighbours, FeatureThread, FeaturePerson}
}

// Without is the profile without a feature, to measure what that is worth.
func (p Profile) Without(f Feature) Profile {
	switch f {
	case FeatureFields:
		p.head = [fields]weighting{}
	case FeatureNeighbours:
		p.thread.previous, p.thread.others = 0, 0
	case FeatureThread:
		p.thread.share = 0
	case FeaturePerson:
		p.thread.person = 1
	}
	return p
}
