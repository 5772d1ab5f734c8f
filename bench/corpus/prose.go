package corpus

import (
	"fmt"
	"strings"
)

// blocks says how often each kind of block comes, in proportion to the others.
type blocks struct{ paragraphs, lists, tasks, quotes, code, headings int }

// fill writes blocks until the note is as large as it is meant to be. It goes over by less than
// one sentence, list entry or line.
func (d *draft) fill(b blocks) {
	if d.chance(35) {
		d.block(func() { d.line("", d.sentence()+" "+d.link(Hot)) })
	}
	for d.text.Len() < d.size {
		n := d.rand.IntN(b.paragraphs + b.lists + b.tasks + b.quotes + b.code + b.headings)
		switch {
		case n < b.paragraphs:
			d.block(d.paragraph)
		case n < b.paragraphs+b.lists:
			d.block(d.list)
		case n < b.paragraphs+b.lists+b.tasks:
			d.block(d.tasks)
		case n < b.paragraphs+b.lists+b.tasks+b.quotes:
			d.block(func() { d.line("> ", d.sentence()) })
		case n < b.paragraphs+b.lists+b.tasks+b.quotes+b.code:
			d.block(d.code)
		default:
			d.block(func() { d.line(pick(d.rand, []string{"## ", "## ", "### "}), d.phrase(2)) })
		}
	}
}

// block writes something behind an empty line.
func (d *draft) block(write func()) {
	if d.text.Len() > 0 {
		d.text.WriteByte('\n')
	}
	write()
}

func (d *draft) line(prefix, text string) {
	d.text.WriteString(prefix)
	d.text.WriteString(text)
	d.text.WriteByte('\n')
}

// title writes the heading that names the note.
func (d *draft) title(text string) { d.block(func() { d.line("# ", text) }) }

func (d *draft) paragraph() {
	for range 2 + d.rand.IntN(4) {
		d.text.WriteString(d.sentence())
		if d.text.Len() >= d.size {
			break
		}
		d.text.WriteByte(' ')
	}
	if d.chance(25) {
		d.text.WriteString(d.link(d.something()))
	}
	d.text.WriteByte('\n')
}

// several writes a few lines, fewer where the note is large enough before.
func (d *draft) several(write func()) {
	for range 2 + d.rand.IntN(5) {
		write()
		if d.text.Len() >= d.size {
			return
		}
	}
}

func (d *draft) list() {
	d.several(func() {
		entry := d.phrase(3 + d.rand.IntN(5))
		if d.chance(20) {
			entry += " " + d.link(d.something())
		}
		d.line("- ", entry)
	})
}

// tasks writes lines with traits, as daily notes have them.
func (d *draft) tasks() { d.several(func() { d.line("- ", d.task()) }) }

func (d *draft) task() string {
	var parts []string
	if d.chance(80) {
		parts = append(parts, fmt.Sprintf("@due(%s)", d.date()))
	}
	if d.chance(50) {
		parts = append(parts, fmt.Sprintf("@priority(%s)",
			pick(d.rand, []string{"low", "medium", "high"})))
	}
	if d.chance(40) {
		parts = append(parts, fmt.Sprintf("@status(%s)",
			pick(d.rand, []string{"todo", "in_progress", "done", "blocked"})))
	}
	if d.chance(30) {
		parts = append(parts, "@assignee("+d.link(d.someone())+")")
	}
	parts = append(parts, d.phrase(3+d.rand.IntN(4)))
	return strings.Join(parts, " ")
}

// code writes a fenced block, in which nothing is a trait or a reference.
func (d *draft) code() {
	d.text.WriteString("```yaml\n")
	d.line("  at: ", d.date()+" @due(never) [["+d.word()+"]]")
	d.text.WriteString("```\n")
}

// link is a reference, now and then with a text of its own.
func (d *draft) link(id string) string {
	if d.chance(20) {
		return "[[" + id + "|" + d.word() + "]]"
	}
	return "[[" + id + "]]"
}

// sentence is a few words with a full stop behind them.
func (d *draft) sentence() string { return d.phrase(4+d.rand.IntN(9)) + d.lang.stop }

// phrase is a number of words of the note's language.
func (d *draft) phrase(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = d.word()
	}
	return strings.Join(words, d.lang.gap)
}

// word is one word; where words are joined, up to three in one.
func (d *draft) word() string {
	w := pick(d.rand, d.lang.words)
	if !d.lang.joined {
		return w
	}
	for range d.rand.IntN(3) {
		w += pick(d.rand, d.lang.words)
	}
	return w
}

// slug is a text as a part of a path.
func (d *draft) slug(text string) string { return strings.ReplaceAll(text, " ", "-") }
