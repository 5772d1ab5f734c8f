package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// BareRate and WholeRate return the successful operations per second without and with middleware:
// the median of the rounds.
func (p pair) BareRate() float64  { return median(p.Bare, sample.Rate) }
func (p pair) WholeRate() float64 { return median(p.Whole, sample.Rate) }

// BareP50 and WholeP50 return the p50 of an operation without and with middleware: the median of
// the rounds.
func (p pair) BareP50() time.Duration  { return time.Duration(median(p.Bare, waited50)) }
func (p pair) WholeP50() time.Duration { return time.Duration(median(p.Whole, waited50)) }

// waited50 returns the p50 of a sample in nanoseconds.
func waited50(s sample) float64 { return float64(s.P(50)) }

// Ratio returns the rate with middleware divided by the rate without it: the median of the rounds.
func (p pair) Ratio() float64 {
	ratios := make([]float64, len(p.Bare))
	for i := range ratios {
		ratios[i] = p.Whole[i].Rate() / p.Bare[i].Rate()
	}
	return middle(ratios)
}

// median returns the median of a property of the samples.
func median(list []sample, tell func(sample) float64) float64 {
	values := make([]float64, len(list))
	for i, s := range list {
		values[i] = tell(s)
	}
	return middle(values)
}

// middle returns the median of the values, and sorts them. Of an even number of values it is the
// mean of the two in the middle.
func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// Beyond returns the additional time of a call over the same call without middleware, at a
// percentile. BeyondMean returns the additional mean time.
func (h *hosting) Beyond(l link, percent int) time.Duration {
	return l.P(percent) - h.Chain[0].P(percent)
}

func (h *hosting) BeyondMean(l link) time.Duration { return l.Mean - h.Chain[0].Mean }

// Goals returns the goals of the hosted server.
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

// Commit returns the short hash of the measured commit, or "" if it is not known.
func (h *hosting) Commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
