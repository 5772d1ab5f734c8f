package search

import "math"

// An evidence is by what the confidence in a result is reckoned.
type evidence struct {
	coverage           float64
	score, first, next float64 // of the result, of the best one, and of the one behind it; 0: there is none
	theirs, others     bool    // of the one person whom the query names, or of somebody else
	record             bool    // it is a record, not a turn of a conversation
}

// A fit is the outcome of a logistic regression: how much each kind of evidence says, of judged pairs of a question and
// a result.
type fit struct {
	name                                        string
	base, coverage, share, lead, theirs, others float64
}

// turns is the fit of reference/retrieval.md §1, of turns of conversations. It is not made anew: a refit on others of
// them was no better (reference/memory-build.md §0).
var turns = fit{"turns-1", -6.78, 1.06, 4.47, 5.21, .21, -2.14}

// recordFit is the fit of the memories of bench/retrieval that are records: of half of its questions. TestConfidence of that
// package measures it on the other half.
var recordFit = fit{name: "records-1", base: -10.29, coverage: 2.03, share: 8.09, lead: 5.63}

// notes is the fit of half of the questions about notes of bench/retrieval.
var notes = fit{name: "notes-2", base: -14.93, coverage: 3.41, share: 13.23, lead: 3.61}

// The bounds of a confidence: nothing that was found by words is certain.
const (
	leastSure = .01
	mostSure  = .95
)

// confidence is how likely a result is what was meant, from 0 to 1, and the name of the fit that says so.
func (p *Profile) confidence(e evidence) (float64, string) {
	f := &p.fit
	if e.record {
		f = &p.recordFit
	}
	return f.of(e), f.name
}

// of is the confidence by a fit, with four digits behind the point.
func (f *fit) of(e evidence) float64 {
	x := f.base + float64(f.coverage*e.coverage)
	if e.first > 0 {
		x += float64(f.share*e.score/e.first) + float64(f.lead*(e.score-e.next)/e.first)
	}
	if e.theirs {
		x += f.theirs
	}
	if e.others {
		x += f.others
	}
	p := 1 / (1 + math.Exp(-x))
	return math.Round(min(max(p, leastSure), mostSure)*1e4) / 1e4
}
