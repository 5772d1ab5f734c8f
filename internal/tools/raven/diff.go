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

// maxDiff is how many bytes of a change a revision shows at most.
const maxDiff = 16 << 10

// erased stands for a text of which nothing is known any more.
const erased = "\\ the text was erased\n"

// showDiff adds to a revision how the text of the subject changed. before is the revision before it, nil if
// it is the first.
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

// textOf is the text of a revision, empty where there is no file.
func textOf(r *repo.Revision) string {
	if r == nil {
		return ""
	}
	return string(r.Text)
}

// span is some lines of a text, counted from 1; the zero span is none.
type span struct{ from, to int }

func (s span) has(line int) bool { return s.from <= line && line <= s.to }

// touching are the hunks that change some lines of the text before, or of the text after.
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

// linesIn are the lines of a revision of the file that the subject is in.
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

// lineOfTrait is the line of a trait in a revision of its file.
func lineOfTrait(r *repo.Revision, id string) span {
	x := index.Empty().With(index.Commit{Changes: []index.Change{
		{Path: r.Path, Text: r.Text, TraitIDs: r.Traits},
	}})
	if n, ok := x.Note(r.Path); ok {
		for _, t := range n.Annotations {
			if t.ID == id {
				return span{t.Line, t.Line}
			}
		}
	}
	return span{}
}

// unified are hunks in the unified format, up to maxDiff bytes of whole lines, and whether lines are left
// out.
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
