package merge_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/merge"
)

// The laws of a merge. Lines that are blank are left out of those that speak of lines: blank ones at
// the edges of what both inserted at one place may go.

// three are three texts, as lines.
type three struct{ base, ours, theirs []string }

func (x three) merge() merge.Result {
	return merge.Texts(join(x.base), join(x.ours), join(x.theirs))
}

func join(lines []string) []byte { return []byte(strings.Join(lines, "")) }

// A pen draws lines that somebody writes.
type pen func(who string) *rapid.Generator[string]

// edits are what people do to a text.
var edits = []string{"insert", "remove", "change", "move"}

// drawThree makes a base, and two texts from it by the edits.
func drawThree(t *rapid.T, line pen, edits []string) three {
	base := rapid.SliceOfN(line("base"), 0, 14).Draw(t, "base")
	side := func(who string) []string {
		text := slices.Clone(base)
		for range rapid.IntRange(0, 4).Draw(t, who) {
			text = edit(t, text, line(who), rapid.SampledFrom(edits).Draw(t, "edit"))
		}
		return text
	}
	return three{base, side("ours"), side("theirs")}
}

// common are lines that stand in many places of a note, and those that mean something to a merge.
var common = []string{"\n", "\n", "- a\n", "- b\n", "## H\n", "```\n", "---\n", "x: 1\n", "text\n", "  more\n"}

// drawLine makes a common line, or one that stands nowhere else but by chance.
func drawLine(who string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "common") {
			return rapid.SampledFrom(common).Draw(t, "line")
		}
		return fmt.Sprintf("%s %d\n", who, rapid.IntRange(0, 1<<30).Draw(t, "line"))
	})
}

// edit inserts lines, or removes, changes or moves some.
func edit(t *rapid.T, text []string, line *rapid.Generator[string], kind string) []string {
	from := rapid.IntRange(0, len(text)).Draw(t, "from")
	to := min(len(text), from+rapid.IntRange(0, 3).Draw(t, "length"))
	switch kind {
	case "insert":
		return slices.Insert(text, from, rapid.SliceOfN(line, 0, 3).Draw(t, "added")...)
	case "remove":
		return slices.Delete(text, from, to)
	case "change":
		return slices.Replace(text, from, to, rapid.SliceOfN(line, 0, 3).Draw(t, "added")...)
	}
	block := slices.Clone(text[from:to])
	text = slices.Delete(text, from, to)
	return slices.Insert(text, rapid.IntRange(0, len(text)).Draw(t, "at"), block...)
}

func count(text []byte) map[string]int {
	n := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) != "" {
			n[strings.TrimSuffix(line, "\n")+"\n"]++
		}
	}
	return n
}

// full are the lines that are not blank.
func full(text []byte) []string {
	var all []string
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) != "" {
			all = append(all, strings.TrimSuffix(line, "\n"))
		}
	}
	return all
}

func TestOneSideOrBothAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOf(rapid.Byte()).Draw(t, "a")
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		for _, m := range []merge.Result{merge.Texts(a, a, b), merge.Texts(a, b, a), merge.Texts(a, b, b)} {
			require.True(t, bytes.Equal(b, m.Text))
			require.False(t, m.Overlaps)
		}
	})
}

// TestNothingIsLost: what ours has is there, unless theirs removed it; what theirs added is there, or
// theirs is kept whole.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawThree(t, drawLine, edits)
		m := x.merge()
		base, ours, theirs, got := count(join(x.base)), count(join(x.ours)), count(join(x.theirs)), count(m.Text)
		for line, n := range ours {
			removed := max(0, base[line]-theirs[line])
			require.GreaterOrEqual(t, got[line], n-removed, "ours: %q in\n%s", line, m.Text)
		}
		for line := range theirs {
			if base[line] == 0 && !m.Overlaps {
				require.NotZero(t, got[line], "theirs: %q in\n%s", line, m.Text)
			}
		}
		for line := range got {
			require.NotZero(t, ours[line]+theirs[line], "nobody's: %q in\n%s", line, m.Text)
		}
	})
}

// TestRemovalsHold: a line that one side left alone or moved, and the other removed, is gone, or it is
// an overlap.
func TestRemovalsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawThree(t, drawLine, edits)
		m := x.merge()
		base, ours, theirs, got := count(join(x.base)), count(join(x.ours)), count(join(x.theirs)), count(m.Text)
		for line, n := range base {
			if n == 1 && ours[line]+theirs[line] == 1 && !m.Overlaps {
				require.Zero(t, got[line], "%q in\n%s", line, m.Text)
			}
		}
	})
}

// TestNothingIsDoubled: a line of the base that nobody doubled is not doubled. A line that is new in
// both texts may stand in two places, for then two people wrote it in two places.
func TestNothingIsDoubled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawThree(t, drawLine, edits)
		base, ours, theirs := count(join(x.base)), count(join(x.ours)), count(join(x.theirs))
		m := x.merge()
		for line, n := range count(m.Text) {
			if base[line] == 1 && ours[line] <= 1 && theirs[line] <= 1 {
				require.Equal(t, 1, n, "%q in\n%s", line, m.Text)
			}
			require.LessOrEqual(t, n, ours[line]+theirs[line], "%q in\n%s", line, m.Text)
		}
	})
}

// TestAgainChangesNothing: the same text found again, after the merge became ours, is no news. That
// is so where lines can be told apart: of equal ones, nobody can say which went.
func TestAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawThree(t, drawApart, edits[:3])
		for _, lines := range [][]string{x.base, x.ours, x.theirs} {
			for _, n := range count(join(lines)) {
				if n > 1 {
					t.Skip("two equal lines")
				}
			}
		}
		m := x.merge()
		if m.Overlaps {
			return
		}
		again := merge.Texts(join(x.base), m.Text, join(x.theirs))
		require.Equal(t, full(m.Text), full(again.Text))
	})
}

// TestApart: edits of parts that stand apart merge, whoever of the two made which.
func TestApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts [5][]string
		for i := range parts {
			part := fmt.Sprint("part ", i)
			parts[i] = rapid.SliceOfN(drawUnique(part), 1, 5).Draw(t, part)
		}
		first := rapid.SliceOfN(drawUnique("first"), 0, 5).Draw(t, "first")
		second := rapid.SliceOfN(drawUnique("second"), 0, 5).Draw(t, "second")
		text := func(first, second []string) []byte {
			return join(slices.Concat(parts[0], first, parts[2], second, parts[4]))
		}
		base, a := text(parts[1], parts[3]), text(first, parts[3])
		b, want := text(parts[1], second), text(first, second)
		for _, m := range []merge.Result{merge.Texts(base, a, b), merge.Texts(base, b, a)} {
			require.Equal(t, string(want), string(m.Text))
			require.False(t, m.Overlaps)
		}
	})
}

// drawApart makes a line that stands nowhere else, or a blank one.
func drawApart(who string) *rapid.Generator[string] {
	item := rapid.Map(drawUnique(who), func(line string) string { return "- " + line })
	return rapid.OneOf(rapid.Just("\n"), item, drawUnique(who))
}

func drawUnique(who string) *rapid.Generator[string] {
	return rapid.Map(rapid.Uint64(), func(n uint64) string { return fmt.Sprintf("%s %d\n", who, n) })
}

// TestFormsMerge: line breaks, the byte order mark and the end of the text merge apart from the lines.
func TestFormsMerge(t *testing.T) {
	type form struct {
		mark, crlf, open bool
	}
	write := func(f form, lines string) []byte {
		if f.open {
			lines = strings.TrimSuffix(lines, "\n")
		}
		if f.crlf {
			lines = strings.ReplaceAll(lines, "\n", "\r\n")
		}
		if f.mark {
			lines = "\ufeff" + lines
		}
		return []byte(lines)
	}
	draw := rapid.Custom(func(t *rapid.T) form {
		return form{rapid.Bool().Draw(t, "mark"), rapid.Bool().Draw(t, "crlf"), rapid.Bool().Draw(t, "open")}
	})
	pick := func(base, ours, theirs bool) bool {
		if ours == base {
			return theirs
		}
		return ours
	}
	rapid.Check(t, func(t *rapid.T) {
		b, o, h := draw.Draw(t, "base"), draw.Draw(t, "ours"), draw.Draw(t, "theirs")
		m := merge.Texts(write(b, "a\nb\nc\n"), write(o, "a1\nb\nc\n"), write(h, "a\nb\nc\nd\n"))
		want := form{pick(b.mark, o.mark, h.mark), pick(b.crlf, o.crlf, h.crlf), pick(b.open, o.open, h.open)}
		require.Equal(t, string(write(want, "a1\nb\nc\nd\n")), string(m.Text))
		require.False(t, m.Overlaps)
	})
}
