package hosted

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/mcptool"
)

// instructions returns the instructions for the model of an MCP client with this offer, in at most
// ten lines. It names only tools that the client has.
func instructions(o mcptool.Offer) string {
	has := offer(o)
	lines := []string{
		"Rookery keeps the memory of a team in vaults. A vault is a set of Markdown notes with one schema; " +
			"leave `vault` out if you see only one." +
			has.tools(" %s shows the folders, tags and fields of one.", "vault_overview"),
		"A note can have a type, such as person or decision, which says what fields its frontmatter has." +
			has.tools(" %s lists the types, fields and traits of a vault.", "raven_schema"),
		"A trait is an annotation on a line, such as `- @due(2026-12-01) Order a lamp`. Lines with traits are " +
			"tasks and reminders" + has.tools("; %s finds them", "raven_query") + ".",
		"A reference, such as `[[people/freya]]`, in a text or a field leads to another note by its id, the " +
			"path without .md" + has.tools("; %s lists what refers to a note", "raven_backlinks") + ".",
		has.tools("To find and read notes: %s.", "notes_search", "raven_search", "raven_query", "raven_object_list",
			"notes_get", "raven_read") + has.tools(" Before work, ask what agents learnt of earlier work: %s.",
			"memory_check_file", "memory_recall"),
		has.writers("To write: %s.", "notes_write", "raven_new", "raven_set", "raven_edit", "raven_add",
			"raven_trait_create", "raven_trait_update") + has.writers(" After work, store what was learnt: %s.",
			"memory_store"),
		has.writing("To change only what you have read, send its `meta.version` as `if_version`; after CONFLICT " +
			"read again, then repeat." + has.tools(" To take a change back: %s.", "raven_history", "raven_undo")),
		"Every answer has ok, data or error, warnings and meta. An error says what would be right; its `fixes` " +
			"are calls you can make, with their arguments, or advice.",
		"Not listed but accepted: `as_of` (a version or time) and `only` (fields of each item)" +
			has.writing("; when writing `dry_run`, `idempotency_key` (makes a repeated call safe) and "+
				"`slim: false` (answers the whole object)") + ".",
		"The guide is the resource rookery://guide/agents. Notes are resources too: " +
			"rookery://{vault}/notes/{path}.",
	}
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return line == "" }), "\n")
}

// An offer is the set of tools that a client can use.
type offer mcptool.Offer

// tools returns the text with the names of those tools that the client has in place of %s; "" if it
// has none of them.
func (o offer) tools(text string, names ...string) string {
	has := slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(o.Tools, name) })
	if len(has) == 0 {
		return ""
	}
	return fmt.Sprintf(text, enumerate(has))
}

// writing returns the text if the client can write, and "" otherwise.
func (o offer) writing(text string) string {
	if !o.Writes {
		return ""
	}
	return text
}

// writers is tools for a client that can write; "" for others.
func (o offer) writers(text string, names ...string) string {
	return o.writing(o.tools(text, names...))
}

// enumerate joins names as in a sentence: "a, b and c".
func enumerate(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
