package relink_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/relink"
)

// A sectionMove is a section that goes from one note to the end of another.
type sectionMove struct {
	from, to string // ids of the notes
	section  int    // from 1
}

// run moves the section, and rewrites the references of all notes. It returns the lines where the section was.
func (m sectionMove) run(t require.TestingT, files map[string]string) (moved map[string]string, was markdown.Span, ids map[string]string) {
	before, text := build(files), files[m.from+".md"]
	cut, s, err := markdown.CutSection([]byte(text), m.section)
	require.NoError(t, err)
	put, err := markdown.PlaceSections([]byte(files[m.to+".md"]), 0, -1, &s)
	require.NoError(t, err)
	moved = maps.Clone(files)
	moved[m.from+".md"], moved[m.to+".md"] = string(cut.Text), string(put.Text)
	after := build(moved)
	was.Start = 1 + strings.Count(text[:s.At.Start], "\n")
	was.End = was.Start + strings.Count(text[s.At.Start:s.At.End], "\n")
	if !strings.HasSuffix(text[s.At.Start:s.At.End], "\n") {
		was.End++
	}
	ids = m.ids(before, after, was)
	r := relink.New(before, after, ids)
	n, _ := before.ByID(m.from)
	r.Blocks = map[relink.Line]string{}
	for _, line := range n.Blocks {
		if line >= was.Start && line < was.End {
			r.Blocks[relink.Line{Note: m.from, Line: line}] = m.to
		}
	}
	for _, id := range r.Sources() {
		res := r.Rewrite(id, []byte(moved[id+".md"]))
		if id == m.to {
			at := put.Parts[len(put.Parts)-1].Lines
			res = r.Passages(id, []byte(moved[id+".md"]), []relink.Passage{{Lines: at, From: m.from}})
		}
		require.Empty(t, res.Unwritable, "%s: %s", id, moved[id+".md"])
		moved[id+".md"] = string(res.Text)
	}
	return moved, was, ids
}

// ids are the new ids of both notes and of their sections.
func (m sectionMove) ids(before, after *index.Index, was markdown.Span) map[string]string {
	ids := map[string]string{m.from: m.from, m.to: m.to}
	source, _ := before.ByID(m.from)
	target, _ := before.ByID(m.to)
	rest, _ := after.ByID(m.from)
	put, _ := after.ByID(m.to)
	for i := range target.Sections {
		ids[target.Object(i).ID()] = put.Object(i).ID()
	}
	stay, came := 0, len(target.Sections)
	for i := range source.Sections {
		if line := source.Sections[i].Line(); line >= was.Start && line < was.End {
			ids[source.Object(i).ID()] = put.Object(came).ID()
			came++
			continue
		}
		ids[source.Object(i).ID()] = rest.Object(stay).ID()
		stay++
	}
	return ids
}

func TestSectionMoves(t *testing.T) {
	moved, _, _ := sectionMove{"a/x", "b/y", 1}.run(t, map[string]string{
		"a/x.md": "## One\n[[#two]] [t](#two) [[./z]] ![p](p.png) [o](#one) [[#^k]] ^k\n## Two\n[[#one]] [o](#one) [[#^k]]\n",
		"a/z.md": "[[x#one|shown]] [[x#^k]] [x](x.md#one)\n", "b/y.md": "## One\n[[#one]]\n",
	})
	require.Equal(t, "## One\n[[#one]]\n\n## One\n[[a/x#two]] [t](/a/x.md#two) [[a/z]] ![p](../a/p.png) [o](#one-2) [[#^k]] ^k\n", moved["b/y.md"])
	require.Equal(t, "## Two\n[[b/y#one-2]] [o](/b/y.md#one-2) [[b/y#^k]]\n", moved["a/x.md"])
	require.Equal(t, "[[b/y#one-2|shown]] [[b/y#^k]] [x](../b/y.md#one-2)\n", moved["a/z.md"])
}

// TestMovedSectionsKeepWhatReferencesLeadTo moves a section of a random vault: what each reference led to, in the section
// and elsewhere, it leads to afterwards. Ids of blocks are left out: both notes may have the same.
func TestMovedSectionsKeepWhatReferencesLeadTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := drawVault(t)
		for path, text := range files {
			files[path] = strings.ReplaceAll(strings.ReplaceAll(text, " ^b", ""), "#^b", "")
		}
		before := build(files)
		var all []string
		for n := range before.Notes("") {
			all = append(all, n.ID)
		}
		from, to := rapid.SampledFrom(all).Draw(t, "from"), rapid.SampledFrom(all).Draw(t, "to")
		if from == to {
			t.Skip("the same note")
		}
		m := sectionMove{from, to, rapid.IntRange(1, 2).Draw(t, "section")}
		moved, was, ids := m.run(t, files)
		after := build(moved)
		want := map[string][]string{}
		for n := range before.Notes("") {
			var own, gone []string
			for i := range n.Refs {
				ref := &n.Refs[i]
				if ref.IsFile() || ref.Bare {
					continue
				}
				led := fmt.Sprint(relinked(ids, before.From(n, ref.Target).ID), before.From(n, ref.Target).FragmentMissing)
				if n.ID == from && ref.Line() >= was.Start && ref.Line() < was.End {
					gone = append(gone, led)
				} else {
					own = append(own, led)
				}
			}
			want[n.ID] = append(want[n.ID], own...)
			want[to] = append(want[to], gone...)
		}
		for n := range after.Notes("") {
			var now []string
			for i := range n.Refs {
				if ref := &n.Refs[i]; !ref.IsFile() && !ref.Bare {
					now = append(now, fmt.Sprint(after.From(n, ref.Target).ID, after.From(n, ref.Target).FragmentMissing))
				}
			}
			slices.Sort(now)
			slices.Sort(want[n.ID])
			require.Len(t, now, len(want[n.ID]))
			for _, led := range want[n.ID] {
				if led != "false" { // it may lead somewhere now
					require.Contains(t, now, led, "%s\n%s\n%s", n.ID, files[n.ID+".md"], moved[n.ID+".md"])
				}
			}
		}
	})
}

// relinked is a new id.
func relinked(ids map[string]string, id string) string {
	if to, ok := ids[id]; ok {
		return to
	}
	return id
}
