package repotest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"
)

// An Author writes the files of a vault at random: of few names and words, so that they meet again,
// and with all that an index makes something of.
type Author struct{ r *rand.Rand }

// NewAuthor is an Author who draws from a source of chance.
func NewAuthor(r *rand.Rand) Author { return Author{r} }

// blank is a place in a pattern, which a word of that kind is put in.
var blank = regexp.MustCompile(`\{[a-z]+\}`)

// words are what is put in, by kind.
var words = map[string][]string{
	"{path}": {
		"a.md", "A.md", "b.md", "b.MD", "x/a.md", "x/é.md", "x/e\u0301.md", "_folder.md", "x/deep/er.md",
		"people/alice.md", "people/bob.md", "people/Bob.md", "projects/mill.md", "projects/canal.md",
		"daily/2026-11-20.md", "daily/2026-11-21.md", "journal/2026-11-21.md", ".trash/a.md",
		"n1.md", "n2.md", "n3.md", "n4.md", "n5.md", "n6.md", "templates/plan.md", "picture.svg",
	},
	"{ref}": {
		"a", "A", "b", "x/a", "x/é", "er", "alice", "people/alice", "people/bob", "Bob", "The Queen",
		"mill", "projects/canal", "2026-11-20", "2026-11-21", "n1", "n2#one", "n3#two-2", "#tea",
		"one", "tea", "nowhere", "people/nobody", "2026-12-24",
	},
	"{name}":   {"Alice", "Bob", "The Queen", "Mill", "Ünïcode", "a", "tea"},
	"{word}":   {"tea", "lantern", "mill", "oil", "größe", "canal", "42", "snake_case", "x", "buy"},
	"{tag}":    {"important", "Important", "tea", "a/b", "ünï"},
	"{date}":   {"2026-11-20", "2026-11-21", "2026-12-03", "2026-12-24", "tomorrow", "soon"},
	"{pin}":    {"one", "two", "tea", "fixed"},
	"{level}":  {"low", "high", "none"},
	"{number}": {"1", "2", "3.5", "-7", "many"},
	"{type}":   {"person", "task", "meeting", "ghost", "page", "date", "section"},
}

// The parts of notes and schemas.
var (
	fronts = []string{
		"", "", "---\ntype: {type}\n---\n", "---\nalias: {name}\naliases: [{name}, {word}]\n---\n",
		"---\ntype: person\nname: {name}\nboss: \"[[{ref}]]\"\nborn: {date}\ntags: [{tag}, {tag}]\n---\n",
		"---\ntype: person\nname: {name}\nboss: {ref}\ndue: {date}\nlevel: {number}\n---\n",
		"---\ntype: task\ndue: {date}\nflag: true\nlevel: {number}\nowner: {ref}\n---\n",
		"---\ntype: [{word}\n---\n", "---\r\ntype: task\r\n---\r\n", "\ufeff",
	}
	lines = []string{
		"# {name}", "## {word}", "## {word}", "### {name}", "#### Two", "",
		"{word} {word} for [[{ref}]]", "[[{ref}|him]], [[{ref}]] and #{tag} {word}", "{word} {word} {word}",
		"- @due({date}) same", "- @due({date}) same", "- @due({date}) @priority({level}) {word} #{tag}",
		"- @id({pin}) @due({date}) {word}", "- @id({pin}) @flag", "- @level({number}) {word} @unknown",
		"- @owner([[{ref}]]) {word}", "* @flag(false) @flag {word}", "> @due same",
		"::person(id={pin}, name={name}, boss=[[{ref}]])", "::meeting(at=2026-12-03T10:00, due={date})",
		"```\n@due({date}) #{tag} [[{ref}]]\n```", "<!-- @flag -->", "1. [{word}](x/a.md)",
	}
	typesOf = []string{
		"  person: {name_field: name, fields: {name: {type: string}, boss: {type: ref, target: person}," +
			" born: {type: date}}, traits: [due, level]}\n",
		"  person: {name_field: name, fields: {name: {type: string, required: true}, boss: {type: string}," +
			" tags: {type: \"string[]\"}}}\n",
		"  task: {default_path: tasks/, traits: [due, flag, owner]}\n",
		"  meeting: {fields: {at: {type: datetime}}, traits: [due]}\n",
		"  daily: {fields: {mood: {type: number, default: {number}}}}\n",
	}
	traitsOf = []string{
		"  due: {type: date}\n", "  due: {type: string, default: {date}}\n", "  flag: {type: bool}\n",
		"  priority: {type: enum, values: [low, high], default: low}\n", "  level: {type: number}\n",
		"  owner: {type: ref, target: person}\n",
	}
	configs = []string{
		"", "daily_directory: journal\n", "daily_directory: daily\n", "language: german\n",
		"language: en\n", "daily_directory: [\n",
	}
)

// Path is that of some file; mostly it is a note.
func (a Author) Path() string { return pick(a.r, words["{path}"]) }

// Note is the text of a note.
func (a Author) Note() string {
	b := strings.Builder{}
	b.WriteString(pick(a.r, fronts))
	for range a.r.IntN(14) {
		b.WriteString(pick(a.r, lines) + "\n")
	}
	if a.r.IntN(8) == 0 {
		b.WriteString("the end without a line feed")
	}
	return a.fill(b.String())
}

// Line is a line that a note may have.
func (a Author) Line() string { return a.fill(pick(a.r, lines)) + "\n" }

// Schema is the text of a schema, which may be broken.
func (a Author) Schema() string {
	if a.r.IntN(12) == 0 {
		return "types: ["
	}
	return a.fill("version: 1\n" + a.some("types:\n", typesOf) + a.some("traits:\n", traitsOf))
}

// some are most entries of a list of a schema, each name once.
func (a Author) some(list string, entries []string) string {
	had := map[string]bool{}
	for _, i := range a.r.Perm(len(entries)) {
		name, _, _ := strings.Cut(entries[i], ":")
		if a.r.IntN(4) > 0 && !had[name] {
			list += entries[i]
			had[name] = true
		}
	}
	if len(had) == 0 {
		return ""
	}
	return list
}

// Config is the text of a vault's settings, which may be broken.
func (a Author) Config() string { return pick(a.r, configs) }

// Audit is an audit log that an earlier tool kept, which ends at a time.
func (a Author) Audit(end time.Time) string {
	b := strings.Builder{}
	for i := range 1 + a.r.IntN(4) {
		ts := end.AddDate(0, -6+i, 0).UTC().Format(time.RFC3339)
		op := pick(a.r, []string{"create", "update", "delete"})
		id := strings.TrimSuffix(a.Path(), ".md")
		fmt.Fprintf(&b, `{"ts":%q,"op":%q,"entity":"object","id":%q}`+"\n", ts, op, id)
	}
	return b.String()
}

// fill fills the blanks of a text.
func (a Author) fill(text string) string {
	return blank.ReplaceAllStringFunc(text, func(kind string) string {
		if from, ok := words[kind]; ok {
			return pick(a.r, from)
		}
		return kind
	})
}

// pick draws one of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }
