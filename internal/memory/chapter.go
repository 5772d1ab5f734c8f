package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// shownInSummary is the maximum number of goals, outcomes or summaries in a summary.
const shownInSummary = 3

// MaxTopics is the maximum number of topics of a chapter that come from the tags of its
// memories.
const MaxTopics = 5

// NewChapter returns a chapter of at least one memory; it panics if there is none. The learnings
// are in the order of cards; the memories of the chapter are sorted by age (reference/memory.md
// §A5).
// It leaves Agent, Principal, Created, Origin, Cluster and Digest empty.
//
// Tags are the given ones, followed by those of the memories, the most frequent first. Topics are
// the given ones, followed by at most MaxTopics of the tags of the memories. Neither has
// duplicates.
func NewChapter(cards []*Card, title string, tags, topics []string) Chapter {
	cards = once(cards)
	sorted := slices.SortedFunc(slices.Values(cards), ByAge)
	c := Chapter{
		V: Format, Title: title, Summary: chapterSummary(sorted), Learnings: []string{},
		Start: sorted[0].Created, End: sorted[len(sorted)-1].Created,
	}
	for _, m := range sorted {
		c.Memories = append(c.Memories, m.ID)
	}
	for _, m := range cards {
		c.Learnings = append(c.Learnings, m.Outcome.Learnings...)
	}
	c.Learnings = distinct(c.Learnings)
	derived := frequentTags(cards)
	c.Tags = distinct(slices.Concat(tags, derived))
	c.Topics = distinct(slices.Concat(topics, derived[:min(len(derived), MaxTopics)]))
	return c
}

// once returns cards without duplicates.
func once(cards []*Card) []*Card {
	var all []*Card
	seen := map[string]bool{}
	for _, c := range cards {
		if !seen[c.ID] {
			seen[c.ID] = true
			all = append(all, c)
		}
	}
	return all
}

// distinct returns texts without duplicates, in the order of their first occurrence. The result
// is never nil.
func distinct(texts []string) []string {
	all := []string{}
	seen := map[string]bool{}
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	}
	return all
}

// chapterSummary returns a summary of the first goals and outcomes of some memories.
//
// It has at most shownInSummary of each, and a fixed text if there are none.
func chapterSummary(cards []*Card) string {
	var goals, outcomes []string
	for _, c := range cards {
		if c.Goal != "" && len(goals) < shownInSummary {
			goals = append(goals, c.Goal)
		}
		if c.Outcome.Summary != "" && len(outcomes) < shownInSummary {
			outcomes = append(outcomes, c.Outcome.Summary)
		}
	}
	var parts []string
	if len(goals) > 0 {
		parts = append(parts, "Goals: "+strings.Join(goals, "; "))
	}
	if len(outcomes) > 0 {
		parts = append(parts, "Outcomes: "+strings.Join(outcomes, "; "))
	}
	return cmp.Or(strings.Join(parts, ". "), "Chapter synthesized from related memories.")
}

// frequentTags returns the tags of some memories, the most frequent first. Equally frequent tags
// are in the order of their first occurrence.
func frequentTags(cards []*Card) []string {
	counts := map[string]int{}
	var tags []string
	for _, c := range cards {
		for _, tag := range distinct(c.Tags) {
			if counts[tag] == 0 {
				tags = append(tags, tag)
			}
			counts[tag]++
		}
	}
	slices.SortStableFunc(tags, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return tags
}

// A Cluster is a set of memories with a common tag or, for memories without tags, a common kind
// of work.
type Cluster struct {
	Key   string // the tag, or "task:" and the kind of work, such as task:bug_fix
	Cards []*Card
}

// Clusters returns the clusters of cards that have at least least members. A memory is in a
// cluster for each of its tags. The clusters are in the order in which their keys first occur in
// cards, which callers pass with the newest memory first.
//
// The key of a cluster of memories without tags is "task:" and the kind of work.
func Clusters(cards []*Card, least int) []Cluster {
	var keys []string
	of := map[string][]*Card{}
	join := func(key string, c *Card) {
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], c)
	}
	for _, c := range cards {
		for _, tag := range distinct(c.Tags) {
			join(tag, c)
		}
		// A memory without tags is grouped by its kind of work instead.
		if len(c.Tags) == 0 {
			join("task:"+string(c.TaskType), c)
		}
	}
	var all []Cluster
	for _, key := range keys {
		if len(of[key]) >= least {
			all = append(all, Cluster{key, of[key]})
		}
	}
	return all
}

// Digest returns a digest of the ids of the memories, in hexadecimal. It does not depend on their
// order.
//
// Two clusters with the same memories have the same digest.
func (c Cluster) Digest() string {
	h := sha256.New()
	var ids []string
	for _, m := range c.Cards {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		h.Write([]byte(id))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// ChapterOf returns the chapter that was made of the same cluster with the same memories; false if
// there is none.
//
// It reads all chapters.
func (x *Index) ChapterOf(c Cluster) (*Item[Chapter], bool) {
	digest := c.Digest()
	for k := range x.Chapters() {
		// A chapter of the same key with other memories is a different one.
		if k.Value.Cluster == c.Key && k.Value.Digest == digest {
			return k, true
		}
	}
	return nil, false
}

// CountExisting returns the number of memories of a chapter that still exist.
//
// The others were deleted after the chapter was made.
func (x *Index) CountExisting(c *Chapter) int {
	n := 0
	for _, id := range c.Memories {
		if _, there := x.cards.Get(id); there {
			n++
		}
	}
	return n
}

// advice matches texts that recommend something or warn of something.
var advice = regexp.MustCompile(`(?i)\b(should|avoid|prefer|best|never|do not|don't|always|must)\b`)

// NewWisdom returns the wisdom of at least one chapter (reference/memory.md §A5); it panics if
// there is none. It leaves Agent, Principal and Created empty.
//
// Insights are the learnings of all chapters without duplicates, and BestPractices those that match
// advice. Patterns are the topics that at least two chapters share.
func NewWisdom(chapters []*Item[Chapter]) Wisdom {
	sorted := slices.SortedFunc(slices.Values(chapters), func(a, b *Item[Chapter]) int {
		return cmp.Or(cmp.Compare(a.Value.Start, b.Value.Start), cmp.Compare(a.ID, b.ID))
	})
	w := Wisdom{
		V: Format, Patterns: sharedTopics(sorted), BestPractices: []string{}, Start: sorted[0].Value.Start,
		End: sorted[0].Value.End,
	}
	var insights, summaries []string
	for _, c := range sorted {
		w.Chapters = append(w.Chapters, c.ID)
		w.Start, w.End = min(w.Start, c.Value.Start), max(w.End, c.Value.End)
		insights = append(insights, c.Value.Learnings...)
		if len(summaries) < shownInSummary {
			summaries = append(summaries, c.Value.Summary)
		}
	}
	w.Insights, w.Tags = distinct(insights), w.Patterns
	for _, text := range w.Insights {
		if advice.MatchString(text) {
			w.BestPractices = append(w.BestPractices, text)
		}
	}
	w.Summary = fmt.Sprintf("Synthesis across %d chapters: %s", len(sorted), strings.Join(summaries, " | "))
	return w
}

// sharedTopics returns the tags and topics that at least two chapters have, the most frequent
// first. The result is never nil.
func sharedTopics(chapters []*Item[Chapter]) []string {
	counts := map[string]int{}
	var all []string
	for _, c := range chapters {
		for _, topic := range distinct(slices.Concat(c.Value.Tags, c.Value.Topics)) {
			if counts[topic]++; counts[topic] == 1 {
				all = append(all, topic)
			}
		}
	}
	// all is in the order of the first occurrence, which the stable sort keeps for equal counts.
	all = slices.DeleteFunc(all, func(topic string) bool { return counts[topic] < 2 })
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return append([]string{}, all...)
}

// HasTags reports whether have contains all tags of want.
func HasTags(have, want []string) bool {
	for _, tag := range want {
		if !slices.Contains(have, tag) {
			return false
		}
	}
	return true
}

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
