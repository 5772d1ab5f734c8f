package memory

import (
	"slices"
	"strings"
	"unicode"
)

// MaxCompared is the maximum number of memories that FailedBefore compares with an intended action.
const MaxCompared = 20

// minSimilarity is the similarity above which two texts count as similar. longWord is the minimum length,
// in letters, of the words that are compared.
const (
	minSimilarity = 0.3
	longWord      = 4
)

// A Conflict is a memory of a failed attempt that is similar to an intended action.
//
// It warns an agent before it repeats an approach that failed.
type Conflict struct {
	*Card
	Similarity float64 // above alike; 1: one text contains the other
}

// FailedBefore returns the failure that is most similar to an intended action, among the first
// MaxCompared memories of newest; false if none is similar (reference/memory.md §A6).
//
// Callers pass the memories of the file that the action changes; see NewestFirst.
func FailedBefore(newest []*Card, action string) (Conflict, bool) {
	var best Conflict
	for _, c := range newest[:min(len(newest), MaxCompared)] {
		if s := similarity(c.Goal, action); c.failed() && s > minSimilarity && s > best.Similarity {
			best = Conflict{c, s}
		}
	}
	return best, best.Card != nil
}

// similarity returns the similarity of two texts, from 0 to 1: the share of common words, or 1 if
// one text contains the other. Case is ignored.
//
// The share is that of the text with more long words, so that a short text is not similar to a long
// one because of a single word.
func similarity(a, b string) float64 {
	a, b = strings.ToLower(strings.TrimSpace(a)), strings.ToLower(strings.TrimSpace(b))
	if a == "" || b == "" {
		return 0
	}
	if strings.Contains(a, b) || strings.Contains(b, a) {
		return 1
	}
	one, other := longWords(a), longWords(b)
	most := max(len(one), len(other))
	if most == 0 {
		return 0
	}
	shared := 0
	for _, w := range one {
		if slices.Contains(other, w) {
			shared++
		}
	}
	return float64(shared) / float64(most)
}

// longWords returns the words of a text that have at least longWord characters, without
// duplicates.
func longWords(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return distinct(slices.DeleteFunc(words, func(w string) bool { return len([]rune(w)) < longWord }))
}

// NewestFirst returns the memories of some matches without duplicates, the newest first.
func NewestFirst(found []FileMatch) []*Card {
	var all []*Card
	seen := map[string]bool{}
	for _, f := range found {
		if !seen[f.ID] {
			seen[f.ID] = true
			all = append(all, f.Card)
		}
	}
	slices.SortFunc(all, func(a, b *Card) int { return ByAge(b, a) })
	return all
}
