package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// shownInSummary is how many goals, outcomes or summaries a summary names.
const shownInSummary = 3

// MostTopics is how many topics a chapter takes from the tags of its memories.
const MostTopics = 5

// NewChapter makes a chapter of memories, which are not none. The order of what is given is that of its
// memories' learnings; its memories are sorted by age (reference/memory.md §A5).
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
	c.Topics = distinct(slices.Concat(topics, derived[:min(len(derived), MostTopics)]))
	return c
}

// once are cards without those that are there already.
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

// distinct are texts without repetitions, in the order in which they come first. It is never nil.
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

// chapterSummary is a summary of memories.
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

// frequentTags are the tags of memories, those of the most memories first, and of as many the one that came
// first.
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

// A Cluster is memories that belong together by a tag that they share or, where they have none, by their kind of
// work.
type Cluster struct {
	Key   string // the tag, or task:bug_fix
	Cards []*Card
}

// Clusters are the clusters of at least so many of some memories, which come with the newest first: in the order in
// which their keys do.
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
		if len(c.Tags) == 0 {
			join("task:"+c.TaskType, c)
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

// Digest tells clusters of other memories apart.
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

// Made is the chapter that was made of a cluster already.
func (x *Index) Made(c Cluster) (*Kept[Chapter], bool) {
	digest := c.Digest()
	for k := range x.Chapters() {
		if k.Value.Cluster == c.Key && k.Value.Digest == digest {
			return k, true
		}
	}
	return nil, false
}

// Live is how many of the memories of a chapter are there.
func (x *Index) Live(c *Chapter) int {
	n := 0
	for _, id := range c.Memories {
		if _, there := x.cards.Get(id); there {
			n++
		}
	}
	return n
}

// advice finds what tells what to do, or not to.
var advice = regexp.MustCompile(`(?i)\b(should|avoid|prefer|best|never|do not|don't|always|must)\b`)

// NewWisdom is what chapters have in common, which are not none (reference/memory.md §A5).
func NewWisdom(chapters []*Kept[Chapter]) Wisdom {
	sorted := slices.SortedFunc(slices.Values(chapters), func(a, b *Kept[Chapter]) int {
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

// sharedTopics are the tags and topics of two chapters or more, those of the most first.
func sharedTopics(chapters []*Kept[Chapter]) []string {
	counts := map[string]int{}
	var all []string
	for _, c := range chapters {
		for _, topic := range distinct(slices.Concat(c.Value.Tags, c.Value.Topics)) {
			if counts[topic]++; counts[topic] == 1 {
				all = append(all, topic)
			}
		}
	}
	all = slices.DeleteFunc(all, func(topic string) bool { return counts[topic] < 2 })
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return append([]string{}, all...)
}

// HasTags reports whether some tags have all of others.
func HasTags(have, want []string) bool {
	for _, tag := range want {
		if !slices.Contains(have, tag) {
			return false
		}
	}
	return true
}
