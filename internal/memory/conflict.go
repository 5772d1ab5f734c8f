package memory

import (
	"slices"
	"strings"
	"unicode"
)

// MostAlike is how many memories of a file are compared with an action that is intended.
const MostAlike = 20

// alike is from which share of words on two texts are taken to mean the same, and longWord how many letters a
// word has that counts.
const (
	alike    = 0.3
	longWord = 4
)

// A Conflict is a memory of a failure that is similar to an intended action.
type Conflict struct {
	*Card
	Similarity float64 // 1: one text holds the other
}

// FailedBefore is the failure that is most like an action, of the newest memories of a file; false: none is
// (reference/memory.md §A6).
func FailedBefore(newest []*Card, action string) (Conflict, bool) {
	var best Conflict
	for _, c := range newest[:min(len(newest), MostAlike)] {
		if s := similarity(c.Goal, action); c.failed() && s > alike && s > best.Similarity {
			best = Conflict{c, s}
		}
	}
	return best, best.Card != nil
}

// similarity is how much two texts have in common, from 0 to 1.
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

// longWords are the words of a text that count, each once.
func longWords(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return distinct(slices.DeleteFunc(words, func(w string) bool { return len([]rune(w)) < longWord }))
}

// NewestFirst returns the memories of a file, each once, the newest first.
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
