package raven_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReferencesAsPeopleWriteThem is what the tools say of each form of a reference: where it leads, how it is
// written, and what of it is not there.
func TestReferencesAsPeopleWriteThem(t *testing.T) {
	p := open(t, map[string]string{
		"notes/Größe.md": "---\naliases: [Maß]\n---\n\n# Größe\n\n## Teil `code` *eins*\n\n### Tiefer\n\nEin Satz. ^satz\n",
		"a/Note.md":      "# Note\n", "b/Note.md": "# Note\n", "daily/2026-03-02.md": "# Tag\n",
		"a/from.md": strings.Join([]string{
			"# From [[Größe]]", "[[größe|schön]]", "[[Größe#Teil code eins]]", "[[Größe#Teil code eins#Tiefer]]",
			"[[Größe#^satz]]", "[[Größe#fehlt]]", "[[Größe#^fehlt]]", "[[Maß]]", "| [[Größe\\|x]] | y |", "![[Größe]]",
			"[Text](../notes/Gr%C3%B6%C3%9Fe.md#Tiefer)", "[Text](<../notes/Größe.md>)", "[[Größe]](1958)", "[[Note]]",
			"[[b/Note]]", "[[/b/Note]]", "[[../b/Note.md]]", "[[bild.png]]", "![[tafel.canvas]]", "[[nirgends]]", "[[#From Größe]]",
		}, "\n\n") + "\n",
	})
	var out struct {
		Items []struct {
			Raw     string  `json:"target_raw"`
			Kind    string  `json:"kind"`
			ID      *string `json:"target_id"`
			Missing bool    `json:"fragment_missing"`
			Line    int     `json:"target_line"`
		}
	}
	p.must(t, "raven_outlinks", args{"target": "a/from"}, &out)
	var got []string
	for _, o := range out.Items {
		id, more := "-", ""
		if o.ID != nil {
			id = *o.ID
		}
		if o.Missing {
			more += " missing"
		}
		if o.Line > 0 {
			more += " line"
		}
		got = append(got, o.Kind+" "+id+more)
	}
	size := "notes/Größe"
	require.Equal(t, []string{
		"link " + size, "link " + size, "link " + size + "#teil-code-eins", "link " + size + "#tiefer",
		"link " + size + " line", "link " + size + " missing", "link " + size + " missing", "link " + size, "link " + size,
		"embed " + size, "markdown " + size + "#tiefer", "markdown " + size, "link " + size, "link a/Note",
		"link b/Note", "link b/Note", "link b/Note", "file -", "file -", "link -", "link a/from",
	}, got)

	var back struct{ Items []struct{ Kind string } }
	p.must(t, "raven_backlinks", args{"target": size, "limit": 50}, &back)
	kinds := map[string]int{}
	for _, b := range back.Items {
		kinds[b.Kind]++
	}
	require.Equal(t, map[string]int{"link": 10, "embed": 1, "markdown": 2}, kinds, "fragments count among those of the note")
}

// TestTagsAsPeopleWriteThem is that a tag of any script is found, by any case, and with those below it.
func TestTagsAsPeopleWriteThem(t *testing.T) {
	p := open(t, map[string]string{
		"a.md": "---\ntags: [Projekt/Größe]\n---\n\n# A\n", "b.md": "Text #projekt/größe and #2026.\n", "c.md": "#プロジェクト\n",
		"d.md": "#проект-2\n", "e.md": "`#none` and a#none\n",
	})
	var out struct{ Items []struct{ ID string } }
	for tag, want := range map[string][]string{
		"projekt": {"a", "b"}, "#PROJEKT/größe": {"a", "b"}, "プロジェクト": {"c"}, "Проект-2": {"d"}, "none": nil, "2026": nil,
	} {
		out.Items = nil
		p.must(t, "raven_tag", args{"tag": tag}, &out)
		var got []string
		for _, o := range out.Items {
			got = append(got, o.ID)
		}
		require.Equal(t, want, got, tag)
	}
}
