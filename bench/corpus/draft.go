package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// A draft is one note while it is written.
type draft struct {
	*vault
	rand    *rand.Rand
	kind    kind
	ordinal int // among the notes of its kind
	lang    language
	size    int // in bytes, that the text is meant to reach
	text    strings.Builder
}

// write writes the note and returns its path.
func (d *draft) write() string {
	switch d.kind {
	case person:
		return d.person()
	case project:
		return d.project()
	case book:
		return d.book()
	case meeting:
		return d.meeting()
	case daily:
		return d.daily()
	}
	return d.page()
}

func (d *draft) person() string {
	name := d.personName(d.ordinal)
	id := d.personID(d.ordinal)
	d.frontmatter(
		field{"type", "person"},
		field{"name", d.quoted(name)},
		field{"email", d.quoted(fmt.Sprintf("person%d@example.test", d.ordinal))},
		field{"role", d.quoted(d.word())},
	)
	d.title(name)
	d.fill(blocks{paragraphs: 6, lists: 1, headings: 2})
	return id + ".md"
}

func (d *draft) project() string {
	title := d.phrase(2)
	d.frontmatter(
		field{"type", "project"},
		field{"title", d.quoted(title)},
		field{"status", pick(d.rand, []string{"planned", "active", "paused", "done"})},
		field{"lead", d.quotedRef(d.someone())},
		field{"started", d.date()},
	)
	d.title(title)
	d.fill(blocks{paragraphs: 3, lists: 1, tasks: 4, headings: 2})
	return d.projectID(d.ordinal) + ".md"
}

func (d *draft) book() string {
	title := d.phrase(3)
	d.frontmatter(
		field{"type", "book"},
		field{"title", d.quoted(title)},
		field{"author", d.quoted(d.personName(d.rand.IntN(500)))},
		field{"rating", fmt.Sprint(1 + d.rand.IntN(5))},
	)
	d.title(title)
	d.fill(blocks{paragraphs: 5, lists: 1, quotes: 3, headings: 2})
	return fmt.Sprintf("books/%s-%d.md", d.slug(title), d.ordinal)
}

func (d *draft) meeting() string {
	title := d.phrase(2)
	d.frontmatter(
		field{"type", "meeting"},
		field{"title", d.quoted(title)},
		field{"date", d.date()},
		field{"attendees", fmt.Sprintf("[%s, %s]", d.quotedRef(d.someone()),
			d.quotedRef(d.someone()))},
	)
	d.title(title)
	d.fill(blocks{paragraphs: 2, lists: 2, tasks: 4, headings: 2})
	return fmt.Sprintf("meetings/%s-%d.md", d.lang.code, d.ordinal)
}

// firstDay is the day of the first daily note.
const firstDay = "2001-01-01"

func (d *draft) daily() string {
	day := dayAfter(firstDay, d.ordinal)
	if !d.chance(30) {
		d.frontmatter(field{"type", "date"})
	}
	d.title(day)
	d.fill(blocks{paragraphs: 2, lists: 2, tasks: 4, headings: 3})
	return "daily/" + day + ".md"
}

func (d *draft) page() string {
	title := d.phrase(2)
	switch {
	case d.chance(40):
	case d.chance(50):
		d.frontmatter(field{"tags", "[" + d.word() + ", " + d.word() + "]"})
	default:
		d.frontmatter(field{"summary", d.quoted(d.phrase(5))})
	}
	d.title(title)
	d.fill(blocks{paragraphs: 5, lists: 2, tasks: 1, quotes: 1, code: 1, headings: 2})
	return fmt.Sprintf("notes/%s/%s-%d.md", d.lang.code, d.slug(title), d.ordinal)
}

// date is a day of the time that the vault tells of.
func (d *draft) date() string { return dayAfter(firstDay, d.rand.IntN(9000)) }

func dayAfter(day string, days int) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err) // the constant is malformed
	}
	return t.AddDate(0, 0, days).Format(time.DateOnly)
}

// chance is true this many times of a hundred.
func (d *draft) chance(percent int) bool { return d.rand.IntN(100) < percent }

// A field is a key of the frontmatter and its value, as YAML writes it.
type field struct{ key, value string }

// frontmatter writes these fields. Some have a comment above or behind them.
func (d *draft) frontmatter(fields ...field) {
	d.line("", "---")
	for _, f := range fields {
		if d.chance(8) {
			d.line("# ", d.phrase(3))
		}
		comment := ""
		if d.chance(8) {
			comment = "   # " + d.phrase(2)
		}
		d.line(f.key+": ", f.value+comment)
	}
	d.line("", "---")
}

// quoted is a text in one of the three ways in which YAML takes it. The words of this package need
// no escapes in any of them.
func (d *draft) quoted(text string) string {
	return pick(d.rand, []string{text, `"` + text + `"`, "'" + text + "'"})
}

// quotedRef is a reference, which YAML would take for a list without quotes.
func (d *draft) quotedRef(id string) string {
	return pick(d.rand, []string{`"[[` + id + `]]"`, `'[[` + id + `]]'`})
}

// personName is the name of the person with this number. After all combinations they come again.
func (v *vault) personName(i int) string {
	return v.given[i%len(v.given)] + " " + v.family[i/len(v.given)%len(v.family)]
}

// personID is the id of the person with this number. Where the name has come before, it ends in
// how often it has.
func (v *vault) personID(i int) string {
	id := "people/" + strings.ReplaceAll(strings.ToLower(v.personName(i)), " ", "-")
	if again := i / (len(v.given) * len(v.family)); again > 0 {
		id = fmt.Sprintf("%s-%d", id, again+1)
	}
	return id
}

// projectID is the id of the project with this number.
func (v *vault) projectID(i int) string {
	return fmt.Sprintf("projects/%s-%s-%d", v.nouns[i%len(v.nouns)], v.nouns[i/3%len(v.nouns)], i)
}

// someone is the id of a person, three times of ten the hot one.
func (d *draft) someone() string {
	if d.chance(30) {
		return Hot
	}
	return d.personID(d.rand.IntN(countBefore(person, d.notes)))
}

// something is the id of a person or a project of the vault.
func (d *draft) something() string {
	projects := countBefore(project, d.notes)
	if projects == 0 || d.chance(60) {
		return d.someone()
	}
	return d.projectID(d.rand.IntN(projects))
}
