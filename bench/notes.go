package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rookeryhq/rookery"
	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/index"
)

// A noting is the cost of the tools for notes and for orientation in this process, on a vault of
// plain notes.
type noting struct {
	Notes  int
	Bytes  int64 // of all notes
	Import imported
	Calls  []noted
	Build  built   // of the index, from the texts
	Image  picture // of the index
	Next   changed // the index after a change of one note
}

// A noted is a kind of call with its goals and its result.
type noted struct {
	call
	Small, Large float64 // goals for the p50 in ms at 10,000 and at 100,000 notes; 0: none
	Got          sample
	Bytes        int // size of the largest answer
}

// goal returns the goal for the p50 at a size of the vault, in ms; 0 if there is none or the call was
// not measured.
func (n noted) goal(size int) float64 {
	switch {
	case len(n.Got.Waits) == 0:
		return 0
	case size >= largeSize:
		return n.Large
	}
	return n.Small
}

// The names of the kinds of calls that goals compare.
const (
	setFieldOfNote   = "set a field of an object"
	writeFieldOfNote = "write a field of a note"
	outlineWhole     = "outline of a body of 999,000 bytes"
	outlineHalf      = "outline of a body of 500,000 bytes"
)

// largeSize is the number of notes for which the second goals are set.
const largeSize = 100_000

// measureNotes measures the tools for notes and orientation, and writes the page.
func measureNotes(ctx context.Context, cfg config) error {
	return eachSize(cfg, "notes", func(s *suite, p *page) error {
		s.files = slices.Collect(corpus.Plain(cfg.seed, max(s.result.Notes, 10)))
		p.Notes = append(p.Notes, noting{Notes: s.result.Notes, Bytes: textBytes(s.files)})
		return s.notes(ctx, &p.Notes[len(p.Notes)-1])
	})
}

// notes measures a vault of one size: first its index alone, then the calls.
func (s *suite) notes(ctx context.Context, out *noting) error {
	progress("%d notes: the index", out.Notes)
	if err := s.noteIndex(out); err != nil {
		return err
	}
	progress("%d notes: import", out.Notes)
	r, err := rookery.Open(ctx, rookery.Config{Data: s.data()})
	if err != nil {
		return fmt.Errorf("open the data: %w", err)
	}
	err = s.noteCalls(ctx, r, out)
	return errors.Join(err, r.Close())
}

// noteIndex measures the index: its build from the texts, its image, and the next index after a
// change of one note.
func (s *suite) noteIndex(out *noting) error {
	var x *index.Index
	out.Build = measureBuild(indexPart, heap(), func() { x = index.Build(commits(s.files)) })
	var err error
	if out.Image, err = measureLoad(indexPart, s.cfg.times, x.AppendImage(nil), index.ReadImage); err != nil {
		return err
	}
	out.Next = changed{What: usualNote}
	for i := range s.cfg.ops {
		f := s.files[i*stride%(len(s.files)-2)] // without the two long notes
		next, took := nextIndex(x, f.Path, fmt.Appendf(nil, "%s\nEdit %d.\n", f.Text, i))
		x, out.Next.Index = next, append(out.Next.Index, took)
	}
	slices.Sort(out.Next.Index)
	return nil
}

// noteCalls imports the notes, and measures the calls.
func (s *suite) noteCalls(ctx context.Context, r *rookery.Rookery, out *noting) error {
	invoke := inProcess(r)
	if err := s.importBy(ctx, invoke); err != nil {
		return err
	}
	out.Import = s.result.Import
	var err error
	out.Calls, err = s.askKinds(ctx, "notes", noteKinds(s.files), invoke)
	return err
}

// A noteDrawer draws the arguments of the calls.
type noteDrawer struct {
	usual []corpus.File // notes of usual size
}

// noteKinds returns the kinds of calls, in the order of the page. Those that write are last.
func noteKinds(files []corpus.File) []noted {
	d := noteDrawer{files[:len(files)-2]}
	return slices.Concat(d.orientation(), d.single(), d.lists(), d.narrowed(), d.searches(), d.writes())
}

// kind returns a kind of call that reads, with its goals.
func (d noteDrawer) kind(what, tool string, goals [2]float64, draw func(i int) in) noted {
	return noted{call: drawn(call{What: what, Tool: tool}, variants, draw), Small: goals[0], Large: goals[1]}
}

// write returns a kind of call that writes. There are so many variants that none is sent twice,
// because a call that changes nothing does not write.
func (d noteDrawer) write(what, tool string, draw func(i int) in) noted {
	return noted{call: drawn(call{What: what, Tool: tool}, writeVariants, draw)}
}

// writeVariants is the number of different calls of a kind that writes.
const writeVariants = 600

// drawn returns a kind of call with the given number of variants of its arguments.
func drawn(c call, times int, draw func(i int) in) call {
	for i := range times {
		args := draw(i)
		args["vault"] = vaultName
		body, err := encode(args)
		if err != nil {
			panic(err) // cannot happen: the arguments are texts
		}
		c.args = append(c.args, body)
	}
	return c
}

// always returns a function that always draws the same arguments.
func always(args in) func(int) in { return func(int) in { return args } }

// note returns the path of a note. Different i return different notes.
func (d noteDrawer) note(i int) string { return d.usual[i*stride%len(d.usual)].Path }

// orientation returns the calls that summarize the vault.
func (d noteDrawer) orientation() []noted {
	goals := [2]float64{1, 5}
	return []noted{
		d.kind("an overview", "vault_overview", goals, always(in{})),
		d.kind("its folders", "vault_tree", goals, always(in{"depth": 10, "limit": 500})),
		d.kind("its tags", "vault_tags", goals, always(in{"limit": 200})),
		d.kind("its fields", "vault_facets", goals, always(in{"limit": 200})),
		d.kind("the state of the index", "vault_status", goals, always(in{})),
	}
}

// single returns the calls for one note.
func (d noteDrawer) single() []noted {
	path := func(i int) in { return in{"path": d.note(i)} }
	long := [2]float64{60, 60}
	return []noted{
		d.kind("a note", "notes_get", [2]float64{1, 1}, path),
		d.kind("the facets of a note", "notes_metadata_facets", [2]float64{}, path),
		d.kind("the outline of a note", "notes_outline", [2]float64{}, path),
		d.kind(outlineHalf, "notes_outline", [2]float64{}, always(in{"path": corpus.HalfPath})),
		d.kind(outlineWhole, "notes_outline", long, always(in{"path": corpus.LongPath})),
		d.kind("its tree", "notes_document_tree", long, always(in{"path": corpus.LongPath})),
	}
}

// list returns a kind of list.
func (d noteDrawer) list(what string, draw func(i int) in) noted {
	return d.kind(what, "notes_list", [2]float64{5, 30}, draw)
}

// lists returns the lists of all notes.
func (d noteDrawer) lists() []noted {
	return []noted{
		d.list("the newest notes", always(in{})),
		d.list("the oldest notes", always(in{"order": "date-asc"})),
		d.list("notes by path", always(in{"order": "path"})),
		d.list("the last notes of all", func(i int) in { return in{"offset": len(d.usual) - 200 + i} }),
		d.list("how many there are", always(in{"count_only": true})),
	}
}

// narrowed returns the lists of some notes.
func (d noteDrawer) narrowed() []noted {
	return []noted{
		d.list("of a project", func(i int) in { return in{"project": fmt.Sprintf("Project %d", i%60)} }),
		d.list("of a folder", always(in{"folder": "projects"})),
		d.list("with a tag", func(i int) in { return in{"tag": fmt.Sprintf("topic-%d", i%40)} }),
		d.list("with a tag of a third", always(in{"tag": "idea", "order": "path"})),
		d.list("with an entity",
			func(i int) in { return in{"entity": fmt.Sprintf("company %d", i%50), "order": "path"} }),
		d.list("of a chain", func(i int) in { return in{"chain": fmt.Sprintf("chain %d", i*2), "order": "date-asc"} }),
		d.list("of a year", always(in{"since": "2023-01-01", "until": "2023-12-31"})),
		d.list("by several filters", always(in{
			"folder": "projects", "tag": "note", "since": "2022-01-01", "entity": "company 3", "content_scope": "notes",
		})),
		d.list("with a network, which none has", always(in{"network": "base"})),
	}
}

// searches returns the searches.
func (d noteDrawer) searches() []noted {
	exact := [2]float64{20, 100}
	return []noted{
		d.kind("an exact text in 1 % of the notes", "notes_search", exact,
			always(in{"query": corpus.RareWord, "keyword": true})),
		d.kind("all words of a text in 1 % of the notes", "notes_search", exact,
			always(in{"query": "the " + corpus.RareWord, "keyword": true, "match": "all-terms"})),
		d.kind("a word of 1 % of the notes, ranked, in a project", "notes_search", [2]float64{}, func(i int) in {
			return in{"query": corpus.RareWord, "project": fmt.Sprintf("project-%d", i%60)}
		}),
	}
}

// writes returns the calls that write. Each kind writes to its own notes.
func (d noteDrawer) writes() []noted {
	return []noted{
		d.write(setFieldOfNote, "raven_set", func(i int) in {
			return in{"id": idOf(d.note(i)), "set": in{"status": fmt.Sprintf("s%d", i)}, "slim": true}
		}),
		d.write(writeFieldOfNote, "notes_write", func(i int) in {
			return in{"path": d.note(i + writeVariants), "frontmatter": in{"status": fmt.Sprintf("s%d", i)}}
		}),
		d.write("write the text of a note", "notes_write", func(i int) in {
			return in{"path": d.note(i + 2*writeVariants), "content": fmt.Sprintf("Another text %d.\n", i)}
		}),
	}
}

// Goals returns the goals for the size of the vault, with the measured numbers.
func (n noting) Goals() []goal {
	var all []goal
	p50 := map[string]float64{}
	for _, c := range n.Calls {
		if len(c.Got.Waits) == 0 {
			continue
		}
		p50[c.What] = millis(c.Got.P(50))
		if want := c.goal(n.Notes); want > 0 {
			all = append(all, goal{"`" + c.Tool + "`: " + c.What + ", p50", want, p50[c.What], "ms", false})
		}
	}
	if whole, half := p50[outlineWhole], p50[outlineHalf]; half > 0 {
		all = append(all, goal{"an outline of a body of twice the length", 2.2, whole / half, "times as long", false})
	}
	if write, set := p50[writeFieldOfNote], p50[setFieldOfNote]; set > 0 {
		all = append(all,
			goal{"`notes_write` of a field beside `raven_set`, p50", 1.1, write / set, "times as long", false})
	}
	all = append(all, goal{"the next index, p50", 1, millis(n.Next.P(50)), "ms", false})
	if n.Notes < largeSize {
		all = append(all, goal{"image of the index, loaded, p50", 150, millis(n.Image.P(50)), "ms", false})
	}
	return all
}
