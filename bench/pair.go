package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// BareRate and WholeRate are how many operations succeeded in a second: the median of the rounds.
func (p pair) BareRate() float64  { return median(p.Bare, sample.Rate) }
func (p pair) WholeRate() float64 { return median(p.Whole, sample.Rate) }

// BareP50 and WholeP50 are what an operation took half of the time: the median of the rounds.
func (p pair) BareP50() time.Duration  { return time.Duration(median(p.Bare, waited50)) }
func (p pair) WholeP50() time.Duration { return time.Duration(median(p.Whole, waited50)) }

func waited50(s sample) float64 { return float64(s.P(50)) }

// Ratio is the rate with everything, of that with nothing in between: the median of the rounds.
func (p pair) Ratio() float64 {
	ratios := make([]float64, len(p.Bare))
	for i := range ratios {
		ratios[i] = p.Whole[i].Rate() / p.Bare[i].Rate()
	}
	return middle(ratios)
}

// median is the middle of what is told of the samples.
func median(list []sample, tell func(sample) float64) float64 {
	values := make([]float64, len(list))
	for i, s := range list {
		values[i] = tell(s)
	}
	return middle(values)
}

// middle is the value in the middle; of two, the mean.
func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// Beyond is what a call costs beyond the same with nothing in between, at a percentile, and BeyondMean in
// the mean.
func (h *hosting) Beyond(l link, percent int) time.Duration {
	return l.P(percent) - h.Chain[0].P(percent)
}

func (h *hosting) BeyondMean(l link) time.Duration { return l.Mean - h.Chain[0].Mean }

// Goals are those of the hosted server.
func (h *hosting) Goals() []goal {
	var all []goal
	for _, l := range h.Chain {
		if l.What == linkAPI || l.What == linkJWT {
			all = append(all, goal{
				What: "what stands in between, of a call with " + l.What + ", p50", Want: 50,
				Got: float64(h.Beyond(l, 50)) / float64(time.Microsecond), Unit: "µs",
			})
		}
	}
	for _, c := range h.Sizes {
		for _, p := range c.Loads {
			all = append(all, goal{
				What: fmt.Sprintf("%s, %s notes, clients: %d: the rate, of that with nothing in between",
					p.Name, showCount(c.Notes), p.Clients),
				Want: 90, Got: 100 * p.Ratio(), Unit: "%", MoreIsGood: true,
			})
		}
	}
	return all
}

// Commit is the commit that was measured; empty: it is not known.
func (h *hosting) Commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
