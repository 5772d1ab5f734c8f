package vault

import "strings"

// Root denotes the root folder of the vault in a Config.
const Root = "."

// DailyPath returns the path of the daily note of a date: daily/2026-03-02.md if the configuration
// does not name another folder.
func (c Config) DailyPath(d Date) Path {
	return Path(c.dailyPrefix() + string(d) + ".md")
}

// DailyText returns the text of a new daily note: its frontmatter and title (reference/raven.md
// §6.5). All versions of Raven read it.
func DailyText(d Date) string {
	return "---\ntype: date\n---\n\n# " + DailyTitle(d) + "\n"
}

// DailyTitle returns the title of a daily note: Monday, March 2, 2026.
func DailyTitle(d Date) string { return d.noon().Format("Monday, January 2, 2006") }

// IsDaily reports whether p is the path of a daily note, and returns its date. The case of the
// folder is ignored.
func (c Config) IsDaily(p Path) (Date, bool) {
	prefix, id := c.dailyPrefix(), p.ID()
	if len(id) < len(prefix) || p.Kind() != KindNote || !strings.EqualFold(id[:len(prefix)], prefix) {
		return "", false
	}
	return ParseDate(id[len(prefix):])
}

// DailyID returns the id of the daily note for another form of it: `2026-03-02`, or
// `daily/2026-03-02` if daily notes are in another folder. It returns false if id is not a date in
// one of these forms.
func (c Config) DailyID(id string) (string, bool) {
	d, ok := ParseDate(strings.TrimPrefix(id, "daily/"))
	return c.dailyPrefix() + string(d), ok
}

// dailyPrefix returns the part of a daily note's id before the date: the folder with a slash at its
// end, or "" if daily notes are in the root.
func (c Config) dailyPrefix() string {
	switch c.DailyDirectory {
	case "":
		return DefaultDaily + "/"
	case Root:
		return ""
	}
	return c.DailyDirectory + "/"
}
