package raven

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/merge"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// maxDiff is the maximum size in bytes of the diff of one revision.
//
// A page has many revisions, and a note that was replaced completely would fill the answer.
const maxDiff = 16 << 10

// erased is the diff of a revision whose text, or whose previous text, was erased.
const erased = "\\ the text was erased\n"

// showDiff sets the diff of a revision of the subject. before is the previous revision; nil if r is
// the first.
//
// For a section or trait the diff contains only the hunks that touch its lines; their line numbers
// remain those of the file. Erased text cannot be compared, and an empty diff would claim that
// nothing changed, so a note in the diff says so.
func (item *revision) showDiff(s subject, r, before *repo.Revision) {
	if r.Erased || before != nil && before.Erased {
		item.Diff = erased
		return
	}
	hunks := merge.Hunks(textOf(before), textOf(r))
	if s.trait || s.slug != "" {
		hunks = touching(hunks, s.linesIn(before), s.linesIn(r))
	}
	item.Diff, item.DiffCut = unified(hunks)
}

// textOf returns the text of a revision, or "" for nil.
func textOf(r *repo.Revision) string {
	if r == nil {
		return ""
	}
	return string(r.Text)
}

// A span is a range of lines of a text, counted from 1, with both ends included. The zero span is
// empty.
type span struct{ from, to int }

// has reports whether the span contains a line.
func (s span) has(line int) bool { return s.from <= line && line <= s.to }

// touching returns the hunks that change a line in the span `was` of the old text, or in the span
// `is` of the new one. It reuses the slice.
//
// A hunk is kept as a whole, with its context, if one of its removed lines is in `was` or one of
// its added lines in `is`.
func touching(hunks []merge.Hunk, was, is span) []merge.Hunk {
	return slices.DeleteFunc(hunks, func(h merge.Hunk) bool {
		old, now := h.Old.First(), h.New.First()
		for _, line := range h.Lines {
			switch {
			case line[0] == '-' && was.has(old), line[0] == '+' && is.has(now):
				return false
			}
			if line[0] != '+' {
				old++
			}
			if line[0] != '-' {
				now++
			}
		}
		return true
	})
}

// linesIn returns the lines of the subject in a revision of its file, or the zero span.
//
// A section's lines are those of its whole subtree, to the end of the text for the last section.
func (s subject) linesIn(r *repo.Revision) span {
	if r == nil || r.Deleted {
		return span{}
	}
	if s.trait {
		return lineOfTrait(r, s.id)
	}
	doc := markdown.Parse(r.Text)
	h, ok := doc.Section(s.slug)
	if !ok {
		return span{}
	}
	return span{h.Line, cmp.Or(h.SubtreeLineEnd, doc.LineCount)}
}

// lineOfTrait returns the line of the trait with an id in a revision of its file, or the zero span.
//
// It parses the revision as an index of one note, with the ids that the log stores for its traits.
func lineOfTrait(r *repo.Revision, id string) span {
	x := index.Empty().With(index.Commit{Changes: []index.Change{
		{Path: r.Path, Text: r.Text, TraitIDs: r.Traits},
	}})
	if n, ok := x.Note(r.Path); ok {
		for _, t := range n.EachAnnotation {
			if t.ID == id {
				return span{t.Line(), t.Line()}
			}
		}
	}
	return span{}
}

// unified returns the hunks in the unified format, and reports whether it omitted lines because
// there are more than maxDiff bytes.
func unified(hunks []merge.Hunk) (diff string, cut bool) {
	var b strings.Builder
	left := 0
	for _, h := range hunks {
		for line := range strings.Lines(h.String()) {
			if left == 0 && b.Len()+len(line) <= maxDiff {
				b.WriteString(line)
			} else {
				left++
			}
		}
	}
	if left == 0 {
		return b.String(), false
	}
	fmt.Fprintf(&b, "\\ %d more %s\n", left, mutation.Plural(left, "line", "lines"))
	return b.String(), true
}
