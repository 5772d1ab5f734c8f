package search

import "time"

// A Profile defines how the documents of an index are divided, weighted and ranked. Each document
// has a head with three fields and one or more passages with two fields; their meaning depends on
// the profile. Use Notes or Memories; the zero value is not valid.
type Profile struct {
	number uint32 // identifies the profile in images

	k1   float64 // k1 of BM25
	head [fields]weighting
	unit [2]weighting

	// secondShare is the share of the score of the second best passage that is added to that of
	// the best.
	secondShare float64

	fit, recordFit fit // for all documents, and for memories that are records

	// thread is the ranking by threads; the zero value: none.
	thread threading
}

// A weighting is the weight of an occurrence in a field, relative to one in the text, and the b
// of BM25 (slope): how much the length of the field reduces the weight, from 0 to 1.
type weighting struct{ weight, b float64 }

// A threading defines how the documents of a thread contribute to each other's scores.
type threading struct {
	gap              time.Duration // a longer pause ends a thread
	previous, others float64       // share of occurrences in the document before, in others
	share            float64       // share of the best score of the thread
	person           float64       // factor for documents of the one person that a query names
	candidates       int           // number of documents scored in full, without their neighbours
}

// Notes returns the profile of notes. The fields of a head are the title, the path and the
// keywords (Note.Keywords). The passages are sections or parts of long ones, with a body and a
// heading.
func Notes() Profile {
	return Profile{
		number: 1, k1: .9,
		head:        [fields]weighting{{12, .5}, {8, 0}, {3, .5}},
		unit:        [2]weighting{{1, .7}, {3, .5}},
		secondShare: .2, fit: noteFit,
	}
}

// Memories returns the profile of memories and of turns of conversations (reference/retrieval.md
// §1). The fields of a head are the author, the keywords (Note.Keywords) and the words of the date.
// Each memory has one passage, with its text and its facts.
func Memories() Profile {
	return Profile{
		number: 2, k1: .9,
		head:   [fields]weighting{{1, 0}, {1, 0}, {1, 0}},
		unit:   [2]weighting{{1, .4}, {1, .4}},
		thread: threading{gap: 4 * time.Hour, previous: .4, others: .1, share: .2, person: 1.25, candidates: 200},
		fit:    turnFit, recordFit: recordFit,
	}
}

// profiles returns the profiles that an image can have.
func profiles() []Profile { return []Profile{Notes(), Memories()} }

// profileOf returns the profile with a number; false if there is none.
func profileOf(number uint32) (Profile, bool) {
	for _, p := range profiles() {
		if p.number == number {
			return p, true
		}
	}
	return Profile{}, false
}

// isThreaded reports whether each document is one passage and can have neighbours in a thread.
func (p *Profile) isThreaded() bool { return p.thread.candidates > 0 }

// A Feature is a part of the ranking of a threaded profile that can be switched off.
type Feature string

// The features.
const (
	FeatureFields     Feature = "fields of their own for author, tags and date"
	FeatureNeighbours Feature = "neighbours of the thread"
	FeatureThread     Feature = "share of the best of the thread"
	FeaturePerson     Feature = "the one person named"
)

// Features returns the features of a profile; nil if it is not threaded.
func (p Profile) Features() []Feature {
	if !p.isThreaded() {
		return nil
	}
	return []Feature{FeatureFields, FeatureNeighbours, FeatureThread, FeaturePerson}
}

// Without returns the profile with a feature switched off, to measure its effect.
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
