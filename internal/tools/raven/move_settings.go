package raven

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// settingsEffects returns sentences about the settings that contain one of the former ids. A move
// does not change settings.
//
// Settings are written by people, with comments and patterns that a rewrite could break, so the
// answer only names them. At most maxMatches are named.
func settingsEffects(idx *index.Index, ids ...string) []string {
	var effects []string
	add := func(file, what, id string) {
		effects = append(effects, fmt.Sprintf("%s of %s still names %s", what, file, id))
	}
	config := idx.Config()
	for _, id := range ids {
		if isFile(config.Capture.Destination, id) {
			add(vault.ConfigRaven, "capture.destination", id)
		}
		for _, q := range config.Queries {
			if namesID(q.Query, id) {
				add(vault.ConfigRaven, "the saved query "+q.Name, id)
			}
		}
		for _, t := range idx.Schema().Templates {
			if isFile(t.File, id) {
				add(vault.SchemaFile, "the template "+t.ID, id)
			}
		}
	}
	if n := len(effects) - maxMatches; n > 0 {
		effects = append(effects[:maxMatches:maxMatches], mutation.Count(n, "more setting")+" "+
			mutation.Plural(n, "names", "name")+" a note that moved")
	}
	return effects
}

// isFile reports whether a setting is the path of a note, with or without `.md`.
func isFile(setting, id string) bool {
	return strings.TrimSuffix(strings.TrimSpace(setting), ".md") == id
}

// namesID reports whether the text of a query contains an id that is not a part of a longer one.
//
// It compares text only: an id in a string of the query counts too. A false positive costs a
// sentence in the answer.
func namesID(text, id string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], id)
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(id)
		if !isOfID(text[:begin], len(text[:begin])-1) && !isOfID(text, end) {
			return true
		}
		at = end
	}
}

// isOfID reports whether the byte at an offset can be part of a longer id. `#` cannot, because it
// ends the id of a note.
func isOfID(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return c >= 0x80 || slices.Contains([]byte("/-_"), c) ||
		c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
