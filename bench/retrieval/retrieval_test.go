package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQuestions: there are as many as promised, and the parts of the ranking are worth what they cost.
func TestQuestions(t *testing.T) {
	all, skipped, err := sets("../../internal/localapp/demo", "")
	require.NoError(t, err)
	require.Len(t, skipped, 1)
	questions := 0
	for _, s := range all {
		questions += len(s.questions)
		m := s.measure(s.index(s.profile), s.questions)
		if s.exact == nil {
			require.GreaterOrEqual(t, len(m.pairs), 300, s.name)
		}
		require.Greater(t, m.recall(10), .75, s.name)
		for _, part := range s.profile.Features() {
			without := s.measure(s.index(s.profile.Without(part)), s.questions)
			require.GreaterOrEqual(t, m.recall(10)+.02, without.recall(10), "%s without %s", s.name, part)
		}
	}
	require.GreaterOrEqual(t, questions, 150)
}

// TestConfidence: what is said of records is as often right as it says, on the half of the questions to which it was not
// fitted.
func TestConfidence(t *testing.T) {
	s := team()
	m := s.measure(s.index(s.profile), s.questions)
	_, held := halves(m.pairs)
	require.Less(t, calibration(held, func(p *pair) float64 { return p.said }), .02)
}

// TestErrorByChance holds that few pairs have an error by chance, that many have less, and that it is told of a
// confidence that is never right.
func TestErrorByChance(t *testing.T) {
	pairs := func(n int) []pair {
		all := make([]pair, n)
		for i := range all {
			all[i].said = float64(i) / float64(n)
		}
		return all
	}
	few, many := byChance(pairs(80)), byChance(pairs(8000))
	require.Greater(t, few, 5*many)
	require.Less(t, many, .02)
	require.Greater(t, calibration(pairs(80), func(p *pair) float64 { return p.said }), few)
}

func TestAPageIsWritten(t *testing.T) {
	all, skipped, err := sets("../../internal/localapp/demo", "")
	require.NoError(t, err)
	var text strings.Builder
	p := page{w: &text}
	require.NoError(t, p.write(all[:1], skipped))
	require.Contains(t, text.String(), "Left out: the questions of a vault in a folder: no -vault was given.")
	require.Contains(t, text.String(), "| all, with a typo |")
}

func TestSpeedIsWritten(t *testing.T) {
	all, err := speeds(400)
	require.NoError(t, err)
	require.NotEmpty(t, all[0].ranked)
	require.Len(t, all[0].opened, opens)
	var text strings.Builder
	p := page{w: &text}
	p.speed(all)
	require.NoError(t, p.err)
	require.Contains(t, text.String(), "| 400 | ranking | ≤ 0.5 ms |")
}
