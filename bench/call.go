package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An aim is the class of goal that a call has.
type aim string

// The aims.
const (
	aimLookup    aim = "lookup"
	aimBacklinks aim = "backlinks of an object with 5,000 references"
	aimSearch    aim = "search"
	aimNone      aim = "" // none: the cost grows with the size of the answer
)

// A call is one kind of call that reads, with variants of its arguments.
type call struct {
	What string // name on the page
	Tool string
	Aim  aim
	args [][]byte // request bodies; each contains the name of the vault
}

// variants is the number of different calls of a kind.
const variants = 97

// An in is the arguments of a call.
type in = map[string]any

// A drawer draws the arguments of calls at random.
type drawer struct {
	rand   *rand.Rand
	x      *index.Index
	notes  []corpus.File // of usual size
	people []*index.Note
	traits []string // ids of traits
	tags   []string
	day    vault.Date // the day of the measurement

	popular string // id of the object to which half of the notes refer
}

// drawCalls draws all calls from the content of the vault.
func (s *suite) drawCalls(x *index.Index) {
	d := &drawer{rand: rand.New(rand.NewPCG(s.cfg.seed, uint64(s.result.Notes))), x: x, day: s.day}
	d.popular = s.popular
	for _, f := range s.files {
		if isNote(f.Path) && f.Path != corpus.AgendaPath && f.Path != corpus.HandbookPath {
			d.notes = append(d.notes, f)
		}
	}
	for n := range x.OfType("person", "") {
		d.people = append(d.people, n)
	}
	for t := range x.Traits("due", index.Location{}) {
		d.traits = append(d.traits, t.ID)
	}
	for tag := range x.Tags() {
		d.tags = append(d.tags, tag)
	}
	s.calls = slices.Concat(d.objects(), d.orientation(), d.lists(), d.links(), d.others(), d.searches())
}

// objects returns the calls for a single object or trait.
func (d *drawer) objects() []call {
	return []call{
		d.call("an object", "raven_object_get", aimLookup, func() in { return in{"id": d.id()} }),
		d.call("the object that most refer to", "raven_object_get", aimLookup, d.just("id", corpus.Hot)),
		d.call(agendaNote, "raven_object_get", aimNone, d.just("id", d.agenda())),
		d.call(handbookNote, "raven_object_get", aimLookup, d.just("id", idOf(corpus.HandbookPath))),
		d.call("a heading of "+handbookNote, "raven_object_get", aimLookup,
			func() in { return in{"id": d.heading()} }),
		d.call("a note's text", "raven_read", aimLookup, func() in { return in{"path": d.note().Path} }),
		d.call("a trait", "raven_trait_get", aimLookup, func() in { return in{"id": d.trait()} }),
		d.call("a trait of "+agendaNote, "raven_trait_get", aimLookup,
			d.just("id", d.agendaTrait())),
		d.call("what a path leads to", "raven_resolve", aimLookup,
			func() in { return in{"reference": d.id()} }),
		d.call("what a short name leads to", "raven_resolve", aimLookup,
			func() in { return in{"reference": d.shortName()} }),
		d.call("what a name leads to", "raven_resolve", aimLookup,
			func() in { return in{"reference": d.x.NameOf(d.person().Object(-1))} }),
		d.call("the numbers of the vault", "raven_stats", aimLookup, func() in { return in{} }),
	}
}

// orientation returns the calls that summarize the vault.
func (d *drawer) orientation() []call {
	return []call{
		d.call("an overview of the vault", "vault_overview", aimLookup, func() in { return in{} }),
		d.call("its folders", "vault_tree", aimLookup, func() in { return in{"depth": 10, "limit": 500} }),
		d.call("its tags", "vault_tags", aimLookup, func() in { return in{"limit": 200} }),
		d.call("its fields", "vault_facets", aimLookup, func() in { return in{"limit": 200} }),
		d.call("the state of its index", "vault_status", aimLookup, func() in { return in{} }),
	}
}

// lists returns the calls for pages of lists.
func (d *drawer) lists() []call {
	list, traits := "raven_object_list", "raven_trait_list"
	return []call{
		d.call("objects of a type", list, aimLookup, func() in { return in{"type": d.typ()} }),
		d.call("headings", list, aimLookup, d.just("type", "section")),
		d.call("objects of any type with a value", list, aimNone, func() in {
			return in{"field": in{"status": d.one("planned", "active", "done")}}
		}),
		d.call("projects of a status", list, aimLookup, func() in {
			return in{"type": "project", "field": in{"status": d.one("planned", "active", "done")}}
		}),
		d.call("objects changed since a day", list, aimLookup, func() in {
			return in{"type": d.typ(), "modified_since": string(d.day.Add(-1))}
		}),
		d.call("traits due today", traits, aimLookup, func() in {
			return in{"trait_type": "due", "value": "today"}
		}),
		d.call("traits due this week", traits, aimLookup, func() in {
			return in{"trait_type": "due", "value": "this-week"}
		}),
		d.call("traits of a value", traits, aimLookup, func() in {
			return in{"trait_type": "status", "value": d.one("todo", "done", "blocked")}
		}),
		d.call("traits of a value in objects of a type", traits, aimLookup, func() in {
			return in{"trait_type": "priority", "value": "high", "parent_type": d.one("project", "meeting")}
		}),
		d.call("traits of "+agendaNote, traits, aimLookup, func() in {
			return in{"trait_type": "due", "path": corpus.AgendaPath}
		}),
		d.call("what there is of a type", "raven_type", aimLookup, func() in { return in{"name": d.typ()} }),
		d.call("all types", "raven_type", aimLookup, d.just("list", true)),
		d.call("notes with a tag", "raven_tag", aimLookup, func() in { return in{"tag": d.tag()} }),
		d.call("all tags", "raven_tag", aimNone, d.just("list", true)),
		d.call("all about a day", "raven_date", aimLookup, func() in { return in{"date": d.anyDay()} }),
		d.call("notes without a type", "raven_untyped", aimLookup, func() in { return in{} }),
	}
}

// links returns the calls for references.
func (d *drawer) links() []call {
	return []call{
		d.call("references to an object", "raven_backlinks", aimLookup,
			func() in { return in{"target": d.person().ID} }),
		d.call("references to the one that half of the notes refer to", "raven_backlinks", aimBacklinks,
			d.just("target", d.popular)),
		d.call("references to the one that most refer to", "raven_backlinks", aimNone,
			d.just("target", corpus.Hot)),
		d.call("references of an object", "raven_outlinks", aimLookup,
			func() in { return in{"target": d.id()} }),
		d.call("references of "+handbookNote, "raven_outlinks", aimLookup,
			d.just("target", idOf(corpus.HandbookPath))),
	}
}

// others returns the remaining calls.
func (d *drawer) others() []call {
	nothing := func() in { return in{} }
	return []call{
		d.call("the schema", "raven_schema", aimLookup, nothing),
		d.call("is the schema sound", "raven_schema_validate", aimLookup, nothing),
		d.call("what an id goes on with", "raven_complete", aimLookup, func() in {
			return in{"kind": "id", "prefix": d.id()[:2]}
		}),
		d.call("what a heading goes on with", "raven_complete", aimLookup, func() in {
			return in{"kind": "id", "prefix": idOf(corpus.HandbookPath) + "#"}
		}),
		d.call("what a tag goes on with", "raven_complete", aimLookup, d.just("kind", "tag")),
		d.call("what became of a note", "raven_history", aimNone, func() in { return in{"id": d.id()} }),
		d.call("all text, the first page", "team_vault_export", aimNone, nothing),
	}
}

// searches returns the calls of the search.
func (d *drawer) searches() []call {
	search := func(what string, query func() string) call {
		return d.call(what, "raven_search", aimSearch, func() in { return in{"query": query()} })
	}
	return []call{
		search("words", func() string { return d.words(2, "en", "de", "fr", "uk", "el") }),
		search("many words", func() string { return d.words(6, "en", "fr") }),
		search("words that most notes have", func() string {
			return d.one("due priority", "priority status todo", "freya holm", "done high low")
		}),
		search("a phrase", func() string { return `"` + d.words(2, "en", "fr", "pl", "vi") + `"` }),
		search("the beginning of a word", func() string { return d.beginning() + "*" }),
		search("Chinese or Japanese", func() string { return d.stretch("zh", "ja") }),
		search("a word that no note has", func() string { return "ropwalk" + d.one("", "s", "ed") }),
		search("a word, and not another", func() string {
			return d.words(1, "en") + " -" + d.words(1, "en")
		}),
	}
}

// call returns a kind of call with drawn variants of its arguments.
func (d *drawer) call(what, tool string, a aim, draw func() in) call {
	c := call{What: what, Tool: tool, Aim: a}
	for range variants {
		args := draw()
		args["vault"] = vaultName
		body, err := encode(args)
		if err != nil {
			panic(err) // cannot happen: the arguments are texts
		}
		c.args = append(c.args, body)
	}
	return c
}

// just returns a function that always draws the same arguments.
func (d *drawer) just(name string, value any) func() in {
	return func() in { return in{name: value} }
}

// one returns one of the texts; the functions below return a drawn note, id, person, tag, trait or
// type, and the id of the agenda.
func (d *drawer) one(list ...string) string { return list[d.rand.IntN(len(list))] }
func (d *drawer) note() corpus.File         { return d.notes[d.rand.IntN(len(d.notes))] }
func (d *drawer) id() string                { return idOf(d.note().Path) }
func (d *drawer) person() *index.Note       { return d.people[d.rand.IntN(len(d.people))] }
func (d *drawer) tag() string               { return d.one(d.tags...) }
func (d *drawer) trait() string             { return d.one(d.traits...) }
func (d *drawer) typ() string               { return d.one("person", "project", "book", "meeting") }
func (d *drawer) agenda() string            { return idOf(corpus.AgendaPath) }

// idOf returns the id of the note at a path.
func idOf(path string) string { return strings.TrimSuffix(path, ".md") }

// heading returns the id of a section of the handbook.
func (d *drawer) heading() string {
	n, _ := d.x.Note(corpus.HandbookPath)
	return n.Object(d.rand.IntN(len(n.Sections))).ID()
}

// shortName returns the last segment of a person's id.
func (d *drawer) shortName() string {
	id := d.person().ID
	return id[strings.LastIndex(id, "/")+1:]
}

// agendaTrait returns the id of a trait in the middle of the agenda.
func (d *drawer) agendaTrait() string {
	n, _ := d.x.Note(corpus.AgendaPath)
	ids := n.TraitIDs()
	return ids[len(ids)/2]
}

// anyDay returns a day that occurs in daily notes, fields and traits.
func (d *drawer) anyDay() string {
	begin := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	return begin.AddDate(0, 0, d.rand.IntN(1000)).Format(time.DateOnly)
}

// words returns n consecutive words from a page in one of the languages.
func (d *drawer) words(n int, languages ...string) string {
	for range 1000 {
		if words := strings.Fields(d.sentence(languages)); len(words) >= n {
			at := d.rand.IntN(len(words) - n + 1)
			return strings.Join(words[at:at+n], " ")
		}
	}
	return "harbour lantern"
}

// beginning returns the first letters of a word, at most 4.
func (d *drawer) beginning() string {
	word := []rune(d.words(1, "en", "fr", "uk"))
	return string(word[:min(len(word), 4)])
}

// stretch returns two or three characters of a sentence in a language without spaces.
func (d *drawer) stretch(languages ...string) string {
	for range 1000 {
		if text := []rune(d.sentence(languages)); len(text) >= 4 {
			at := d.rand.IntN(len(text) - 3)
			return string(text[at : at+2+d.rand.IntN(2)])
		}
	}
	return "灯塔市场"
}

// sentence returns a sentence of a page in one of the languages. It returns "" if the drawn page
// has another language or the drawn line contains no sentence.
func (d *drawer) sentence(languages []string) string {
	f := d.note()
	folder, _, _ := strings.Cut(strings.TrimPrefix(f.Path, "notes/"), "/")
	if !strings.HasPrefix(f.Path, "notes/") || d.one(languages...) != folder {
		return ""
	}
	lines := strings.Split(f.Text, "\n")
	line := strings.TrimSpace(lines[d.rand.IntN(len(lines))])
	if strings.ContainsAny(line, "#@[-:`>") {
		return ""
	}
	sentence, _, _ := strings.Cut(strings.ReplaceAll(line, "。", "."), ".")
	return sentence
}

// name returns the name of the kind for an error.
func (c call) name() string { return fmt.Sprintf("%s (%s)", c.What, c.Tool) }
