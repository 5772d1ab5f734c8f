package search

import "math"

// An evidence contains the inputs of the confidence in a result.
type evidence struct {
	coverage                float64 // see Why.Coverage
	score, first, next      float64 // of this, the best and the next result; 0: none
	aboutPerson, aboutOther bool    // of the one person that the query names; of another person
	record                  bool    // a record, not a turn of a conversation
}

// A fit contains the coefficients of a logistic regression from evidence to the probability that
// a result is right. They were fitted to judged pairs of a question and a result.
type fit struct {
	name                                                 string
	base, coverage, share, lead, aboutPerson, aboutOther float64
}

// turnFit is the fit for turns of conversations (reference/retrieval.md §1). It is kept because a
// refit on other conversations was no better (reference/memory-build.md §0).
var turnFit = fit{"turns-1", -6.78, 1.06, 4.47, 5.21, .21, -2.14}

// recordFit is the fit for memories that are records. It was fitted to half of the questions of
// bench/retrieval about records; TestConfidence of that package evaluates it on the other half.
var recordFit = fit{name: "records-1", base: -10.29, coverage: 2.03, share: 8.09, lead: 5.63}

// noteFit is the fit for notes, fitted to half of the questions of bench/retrieval about notes.
var noteFit = fit{name: "notes-2", base: -14.93, coverage: 3.41, share: 13.23, lead: 3.61}

// The bounds of a confidence: a match of words never makes a result certain.
const (
	minConfidence = .01
	maxConfidence = .95
)

// confidence returns the probability, from minConfidence to maxConfidence, that a result is the one that
// was meant, and the name of the fit that computed it.
func (p *Profile) confidence(e evidence) (float64, string) {
	f := &p.fit
	if e.record {
		f = &p.recordFit
	}
	return f.confidence(e), f.name
}

// confidence returns the confidence by a fit, rounded to four decimal places.
//
//	x = base + coverage*e.coverage + share*e.score/e.first + lead*(e.score-e.next)/e.first
//	    + aboutPerson, if e.aboutPerson + aboutOther, if e.aboutOther
//	confidence = 1 / (1 + exp(-x)), between minConfidence and maxConfidence
func (f *fit) confidence(e evidence) float64 {
	x := f.base + float64(f.coverage*e.coverage)
	if e.first > 0 {
		x += float64(f.share*e.score/e.first) + float64(f.lead*(e.score-e.next)/e.first)
	}
	if e.aboutPerson {
		x += f.aboutPerson
	}
	if e.aboutOther {
		x += f.aboutOther
	}
	p := 1 / (1 + math.Exp(-x))
	return math.Round(min(max(p, minConfidence), maxConfidence)*1e4) / 1e4
}
