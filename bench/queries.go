package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery"
	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/repo"
)

// A querying is the cost of queries, the log, batches, checks and moves in this process, on a
// generated vault.
type querying struct {
	Notes  int
	Bytes  int64 // of all notes
	Import imported
	Calls  []noted // calls that read
	Acts   []acted // calls that change many notes
}

// An acted is a call that changes many notes, with its goal at 10,000 notes and its result.
type acted struct {
	What, Tool string
	Goal       float64 // for the p50 in ms; 0: none
	Got        link
}

// maxReferring is the number of notes, from the first of a vault, among which queryFiles distributes
// references to the notes below. One call changes at most 5,900 notes, so a share of a larger vault
// could not be renamed or set in one call.
const maxReferring = 10_000

// The notes that queryFiles adds, with the share of the first maxReferring notes that refers to
// each.
const (
	muchNote  = "bench/hot"   // 5,000 references in 3,000 of 10,000 notes
	fewNote   = "bench/mild"  // 10 references
	partNote  = "bench/part"  // a tenth of the notes refers to a section of it
	shortNote = "bench/short" // another tenth refers to it by its short name
)

// batchNotes is the number of notes that a measured batch creates.
const batchNotes = 50

// generated returns the number of notes to generate for a vault of n notes. It is smaller than n if
// the notes that queryFiles adds and the batches create would otherwise exceed the limit of a
// vault.
func generated(n, batches int) int {
	const added = 4
	return min(max(n, 10), repo.MaxNotes-added-batches*batchNotes)
}

// queryFiles returns a generated vault whose notes contain links of each kind, and references to
// the notes above.
func queryFiles(seed uint64, n int) []corpus.File {
	files := slices.Collect(corpus.Vault(seed, n))
	for i := range min(len(files), maxReferring) {
		if !isNote(files[i].Path) {
			continue
		}
		text := files[i].Text
		if i%10 < 3 {
			text += fmt.Sprintf("\n\nSee [[%s]], [the site](https://example.test/%d) and ![](img/%d.png).\n",
				muchNote, i, i)
		}
		if i%10 < 2 {
			text += fmt.Sprintf("\nAnd [[%s|it]] again, [plan](plan.pdf), <mailto:a@example.test>.\n", muchNote)
		}
		switch i % 10 {
		case 4:
			text += fmt.Sprintf("\n\nOf [[%s#piece]].\n", partNote)
		case 5:
			text += "\n\nOf [[short]].\n"
		}
		if i%max(1, min(n, maxReferring)/10) == 6 {
			text += fmt.Sprintf("\n\nOf [[%s]].\n", fewNote)
		}
		files[i].Text = text
	}
	for _, id := range []string{muchNote, fewNote, partNote, shortNote} {
		// No title is like an id: a reference that leads to a title need not change when its note moves.
		title := "The " + strings.TrimPrefix(id, "bench/") + " note"
		files = append(files, corpus.File{Path: id + ".md", Text: "# " + title + "\n\nText.\n\n## Piece\n\nMore.\n"})
	}
	return files
}

// measureQueries measures queries, checks and moves, and writes the page.
func measureQueries(ctx context.Context, cfg config) error {
	return eachSize(cfg, "notes", func(s *suite, p *page) error {
		s.files = queryFiles(cfg.seed, generated(s.result.Notes, cfg.times))
		p.Queries = append(p.Queries, querying{Notes: s.result.Notes, Bytes: textBytes(s.files)})
		return s.queries(ctx, &p.Queries[len(p.Queries)-1])
	})
}

// queries measures a vault of one size.
func (s *suite) queries(ctx context.Context, out *querying) (err error) {
	progress("%d notes: import", out.Notes)
	r, err := rookery.Open(ctx, rookery.Config{Data: s.data()})
	if err != nil {
		return fmt.Errorf("open the data: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	invoke := inProcess(r)
	if err := s.importBy(ctx, invoke); err != nil {
		return err
	}
	out.Import = s.result.Import
	// The log is compacted after the import, and segments that are new are hashed by each read.
	if err := s.leaveAlone(ctx, 10*time.Second); err != nil {
		return err
	}
	if out.Calls, err = s.askKinds(ctx, "notes", queryKinds(), invoke); err != nil {
		return err
	}
	out.Acts, err = s.acts(ctx, r)
	return err
}

// queryKinds returns the kinds of calls that read, in the order of the page.
func queryKinds() []noted {
	var d noteDrawer
	query := func(what string, goal float64, text string) noted {
		return d.kind(what, "raven_query", [2]float64{goal, 0}, always(in{"query": text}))
	}
	return []noted{
		query("objects of a type", 2, "type:project"),
		query("traits of a value", 2, "trait:due .value==2026-03-02"),
		query("traits of the past", 2, "trait:due .value==past"),
		query("objects with a value", 2, "type:project .status==active"),
		query("what contains a trait", 15, "type:project contains(trait:due .value==past)"),
		query("what is within objects", 15, "trait:due within(type:project)"),
		query("traits with others on their line", 15, "trait:due at(trait:priority .value==high) within(type:project)"),
		query("what refers to objects", 15, "type:project refs(type:person)"),
		query("what refers to one", 15, "type:* refs("+fewNote+")"),
		query("what objects refer to", 15, "type:person refd(type:project)"),
		query("four deep", 50,
			"type:person refd(type:project contains(section has(trait:due at(trait:priority .value==high))))"),
		query("words", 10, `type:* content("meeting project")`),
		query("a pattern over a type", 20, `type:project matches(.title, "^[A-M].*e")`),
		query("links", 15, "link .scheme==url"),
		query("what has links", 15, "type:project links(.ext==pdf)"),
		d.kind("a page of the log by time", "raven_log", [2]float64{5, 0}, always(in{"since": "today"})),
		d.kind("the log of a note", "raven_log", [2]float64{5, 0}, always(in{"id": muchNote})),
		d.kind("a filter of the log that holds for none", "raven_log", [2]float64{500, 0},
			always(in{"all": true, "op": "delete"})),
		d.kind("a check of the vault", "raven_check", [2]float64{2000, 10_000},
			always(in{"issues": []string{"unknown_type"}})),
	}
}

// An actor makes the calls that change many notes.
type actor struct {
	ctx context.Context
	s   *suite
	r   *rookery.Rookery
}

// call makes a call, and decodes the data of its answer into out, which can be nil.
func (a actor) call(tool string, args in, out any) error {
	args["vault"] = vaultName
	body, err := encode(args)
	if err != nil {
		return err
	}
	answer, err := a.r.Invoke(a.ctx, tool, json.RawMessage(body))
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, &struct{ Data any }{out})
}

// acts measures the calls that change many notes, each until it is durable.
func (s *suite) acts(ctx context.Context, r *rookery.Rookery) ([]acted, error) {
	a := actor{ctx, s, r}
	var all []acted
	for _, act := range []struct {
		acted
		times int
		call  func(n int) (time.Duration, error)
	}{
		{acted{"a batch of 100 operations", "raven_batch", 100, link{}}, s.cfg.times, a.batch},
		{acted{"a value set in a tenth of the notes, at most 1,000, with its plan made before",
			"raven_set", 1000, link{}},
			s.cfg.times, a.bulk},
		{acted{"a note that 10 references lead to moves", "raven_move", 10, link{}}, s.cfg.times, a.move(fewNote)},
		{acted{"a note that half as many references as notes, at most 5,000, lead to moves",
			"raven_move", 2000, link{}},
			s.cfg.times, a.move(muchNote)},
		{acted{"a section that a tenth of the notes, at most 1,000, refers to is renamed",
			"raven_section", 500, link{}},
			s.cfg.times, a.rename},
		{acted{"short references in a tenth of the notes, at most 1,000, are written in full",
			"raven_check_fix", 1000, link{}},
			1, a.fix},
		{acted{"a trait is added to the schema", "raven_schema_add", 5, link{}}, s.cfg.times, a.define},
		{acted{"a field of a type is changed", "raven_schema_update", 1000, link{}}, s.cfg.times, a.redefine},
	} {
		progress("%d notes: %s", s.result.Notes, act.What)
		act.Got.What = act.What
		for n := range act.times {
			took, err := act.call(n)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", act.What, err)
			}
			act.Got.Waits = append(act.Got.Waits, took)
		}
		slices.Sort(act.Got.Waits)
		all = append(all, act.acted)
	}
	return all, nil
}

// timed makes a call and returns its duration.
func (a actor) timed(tool string, args in) (time.Duration, error) {
	begun := time.Now()
	err := a.call(tool, args, nil)
	return time.Since(begun), err
}

// batch creates batchNotes notes, each with a trait, in one call.
func (a actor) batch(n int) (time.Duration, error) {
	var all []in
	for i := range batchNotes {
		id := fmt.Sprintf("bench/batch/%d-%d", n, i)
		all = append(all, in{"op": "create", "entity": "object", "data": in{"type": "page", "path": id}},
			in{"op": "create", "entity": "trait",
				"data": in{"trait_type": "due", "value": "today", "parent_id": id, "content": "x"}})
	}
	return a.timed("raven_batch", in{"operations": all})
}

// bulk sets a field in all notes that refer to partNote. Only the call with the plan token is
// timed, not the dry run.
func (a actor) bulk(n int) (time.Duration, error) {
	args := func() in {
		return in{"query": "type:* refs(" + partNote + ")", "set": in{"bench": fmt.Sprintf("b%d", n)}}
	}
	var plan struct {
		Token string `json:"plan_token"`
	}
	dry := args()
	dry["dry_run"] = true
	if err := a.call("raven_set", dry, &plan); err != nil {
		return 0, err
	}
	run := args()
	run["plan_token"] = plan.Token
	return a.timed("raven_set", run)
}

// move returns a function that moves a note to a new path each time.
func (a actor) move(id string) func(int) (time.Duration, error) {
	at := id
	return func(n int) (time.Duration, error) {
		to := fmt.Sprintf("%s-%d", id, n)
		took, err := a.timed("raven_move", in{"source": at, "destination": to, "slim": true})
		at = to
		return took, err
	}
}

// rename renames a section of partNote, to a new title each time.
func (a actor) rename(n int) (time.Duration, error) {
	from := "piece"
	if n > 0 {
		from = fmt.Sprintf("piece-%d", n-1)
	}
	return a.timed("raven_section",
		in{"op": "rename", "id": partNote + "#" + from, "title": fmt.Sprintf("Piece %d", n)})
}

// fix writes short references in full.
func (a actor) fix(int) (time.Duration, error) {
	return a.timed("raven_check_fix", in{"issues": []string{"short_ref_could_be_full_path"}})
}

// define adds a new trait to the schema.
func (a actor) define(n int) (time.Duration, error) {
	return a.timed("raven_schema_add", in{"kind": "trait", "name": fmt.Sprintf("bench-%d", n), "value_type": "date"})
}

// redefine changes the description of a field.
func (a actor) redefine(n int) (time.Duration, error) {
	return a.timed("raven_schema_update", in{
		"kind": "field", "type": "person", "name": "name", "description": fmt.Sprintf("Whose name it is, %d", n),
	})
}

// Goals returns the goals for the size of the vault, with the measured numbers.
func (q querying) Goals() []goal {
	var all []goal
	for _, c := range q.Calls {
		if want := c.goal(q.Notes); want > 0 {
			all = append(all, goal{"`" + c.Tool + "`: " + c.What + ", p50", want, millis(c.Got.P(50)), "ms", false})
		}
	}
	for _, a := range q.Acts {
		if q.Notes < largeSize && len(a.Got.Waits) > 0 {
			all = append(all, goal{"`" + a.Tool + "`: " + a.What + ", p50", a.Goal, millis(a.Got.P(50)), "ms", false})
		}
	}
	return all
}
