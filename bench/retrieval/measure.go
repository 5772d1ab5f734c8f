package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/search"
)

// deepest is how many results of a question are looked at, and judged how many of them have their confidence judged.
const (
	deepest = 20
	judged  = 10
)

// A measured is how questions were answered.
type measured struct {
	ranks []int // of the first evidence, from 1; 0: it was not found
	pairs []pair
}

// A pair is a result of a question, judged.
type pair struct {
	features [features]float64
	said     float64 // the confidence
	right    bool
	fitted   bool // it is of the half of the questions to which a confidence is fitted; the other half measures it
}

// together is how many questions that follow each other are of one half: those of a session of the made-up team.
const together = 5

// measure asks questions.
func (s *set) measure(x *search.Index, questions []question) measured {
	var m measured
	for n, q := range questions {
		o := search.Options{Limit: deepest, Explain: true}
		if s.exact != nil {
			o.Exact = s.exact(q.text)
		}
		r, err := x.Search(s.query(q.text), o)
		if err != nil {
			panic(err) // there are no texts to read
		}
		rank := 0
		for i, h := range r.Items {
			right := slices.Contains(q.evidence, h.Doc)
			if right && rank == 0 {
				rank = i + 1
			}
			if i < judged {
				m.pairs = append(m.pairs, pair{featuresOf(r.Items, i), h.Why.Confidence, right, n/together%2 == 0})
			}
		}
		m.ranks = append(m.ranks, rank)
	}
	return m
}

// recall is the share of questions with evidence among the first k results.
func (m *measured) recall(k int) float64 {
	n := 0
	for _, rank := range m.ranks {
		if rank > 0 && rank <= k {
			n++
		}
	}
	return float64(n) / float64(max(len(m.ranks), 1))
}

func (m *measured) mrr() float64 {
	sum := 0.
	for _, rank := range m.ranks {
		if rank > 0 {
			sum += 1 / float64(rank)
		}
	}
	return sum / float64(max(len(m.ranks), 1))
}

// calibration is the expected calibration error of what was said, in ten bins.
func (m *measured) calibration() float64 {
	return calibration(m.pairs, func(p *pair) float64 { return p.said })
}

func calibration(pairs []pair, confidence func(*pair) float64) float64 {
	var n, said, right [10]float64
	for i := range pairs {
		c := confidence(&pairs[i])
		bin := min(int(c*10), 9)
		n[bin]++
		said[bin] += c
		if pairs[i].right {
			right[bin]++
		}
	}
	sum := 0.
	for bin := range n {
		sum += math.Abs(said[bin] - right[bin])
	}
	return sum / float64(max(len(pairs), 1))
}

// byChance returns the calibration error that 95 of 100 confidences stay below which are exactly
// right: the results of as many pairs are drawn, each right as often as its confidence says. A
// larger error is one of the confidence, a smaller one can come from the number of pairs alone.
func byChance(pairs []pair) float64 {
	const draws = 1000
	r := rand.New(rand.NewPCG(1, 2))
	drawn, errors := slices.Clone(pairs), make([]float64, draws)
	for n := range draws {
		for i := range drawn {
			drawn[i].right = r.Float64() < drawn[i].said
		}
		errors[n] = calibration(drawn, func(p *pair) float64 { return p.said })
	}
	slices.Sort(errors)
	return errors[draws*95/100]
}

// features are by what a confidence is reckoned: 1, the coverage, the share of the best score, and the lead.
const features = 4

func featuresOf(hits []search.Hit, i int) [features]float64 {
	next := 0.
	if i+1 < len(hits) {
		next = hits[i+1].Score
	}
	first := max(hits[0].Score, 1e-9)
	return [features]float64{1, hits[i].Why.Coverage, hits[i].Score / first, (hits[i].Score - next) / first}
}

// A fit are the weights of the features in a logistic regression.
type fit [features]float64

func (f *fit) of(p *pair) float64 {
	x := 0.
	for i, w := range f {
		x += w * p.features[i]
	}
	return 1 / (1 + math.Exp(-x))
}

func (f fit) String() string {
	return fmt.Sprintf("%.2f %+.2f·coverage %+.2f·s/s₁ %+.2f·(s−next)/s₁", f[0], f[1], f[2], f[3])
}

func (f fit) error(pairs []pair) float64 { return calibration(pairs, f.of) }

// halves are the pairs to fit a confidence to, and those to measure it on.
func halves(pairs []pair) (fitted, held []pair) {
	for _, p := range pairs {
		if p.fitted {
			fitted = append(fitted, p)
		} else {
			held = append(held, p)
		}
	}
	return fitted, held
}

// refit is the fit that makes pairs most likely, but for a little that keeps weights small.
func refit(pairs []pair) fit {
	const steps, rate, ridge = 20000, 2, 1e-7
	var f fit
	for range steps {
		var gradient fit
		for i := range pairs {
			miss := f.of(&pairs[i])
			if pairs[i].right {
				miss--
			}
			for k := range gradient {
				gradient[k] += miss * pairs[i].features[k]
			}
		}
		for k := range f {
			f[k] -= rate * (gradient[k]/float64(max(len(pairs), 1)) + ridge*f[k])
		}
	}
	return f
}

// kinds are the kinds of questions, in their order.
func kinds(questions []question) []string {
	var all []string
	for _, q := range questions {
		if !slices.Contains(all, q.kind) {
			all = append(all, q.kind)
		}
	}
	return all
}

func ofKind(questions []question, kind string) []question {
	return slices.DeleteFunc(slices.Clone(questions), func(q question) bool { return q.kind != kind })
}

// withTypos are the questions that have a word of four letters, with one typo each.
func withTypos(questions []question) []question {
	r := rand.New(rand.NewPCG(1, 1))
	all := slices.Clone(questions)
	for i := range all {
		words := strings.Fields(all[i].text)
		var long []int
		for k, w := range words {
			if utf8.RuneCountInString(w) >= 4 {
				long = append(long, k)
			}
		}
		if len(long) > 0 {
			k := long[r.IntN(len(long))]
			words[k] = slip(r, words[k])
			all[i].text = strings.Join(words, " ")
		}
	}
	return all
}

// slip exchanges two letters of a word.
func slip(r *rand.Rand, word string) string {
	letters := []rune(word)
	i := 1 + r.IntN(len(letters)-1)
	letters[i-1], letters[i] = letters[i], letters[i-1]
	return string(letters)
}
