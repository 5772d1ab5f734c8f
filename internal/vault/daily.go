package vault

import "strings"

// Root is the folder of the vault itself, as a Config names it.
const Root = "."

// DailyPath is where the daily note of a date is.
func (c Config) DailyPath(d Date) Path {
	return Path(c.dailyPrefix() + string(d) + ".md")
}

// DailyText is the text of a new daily note: its frontmatter and its title
// (reference/raven.md §6.5). Every Raven reads it.
func DailyText(d Date) string {
	return "---\ntype: date\n---\n\n# " + DailyTitle(d) + "\n"
}

// DailyTitle is the title of a daily note: Monday, March 2, 2026.
func DailyTitle(d Date) string { return d.noon().Format("Monday, January 2, 2006") }

// IsDaily reports whether the path is that of a daily note, and of which date. The case of its folder does not count.
func (c Config) IsDaily(p Path) (Date, bool) {
	prefix, id := c.dailyPrefix(), p.ID()
	if len(id) < len(prefix) || p.Kind() != KindNote || !strings.EqualFold(id[:len(prefix)], prefix) {
		return "", false
	}
	return ParseDate(id[len(prefix):])
}

// DailyID is the id of the daily note that the id is another name of: `2026-03-02`, or
// `daily/2026-03-02` where daily notes are kept in another folder.
func (c Config) DailyID(id string) (string, bool) {
	d, ok := ParseDate(strings.TrimPrefix(id, "daily/"))
	return c.dailyPrefix() + string(d), ok
}

// dailyPrefix is what stands before the date in the id of a daily note.
func (c Config) dailyPrefix() string {
	switch c.DailyDirectory {
	case "":
		return DefaultDaily + "/"
	case Root:
		return ""
	}
	return c.DailyDirectory + "/"
}
