package corpus

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
