package localapp_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tool"
)

// TestToolPages checks that every page of a family documents a tool, and that a tool without a Doc
// of its own has the page that is named after it.
func TestToolPages(t *testing.T) {
	tools := map[*tool.Family]map[string]string{}
	for _, made := range allTools() {
		if tools[made.Family] == nil {
			tools[made.Family] = map[string]string{}
		}
		_, short, _ := strings.Cut(made.Name, "_")
		tools[made.Family][short+".md"] = made.Doc
	}
	for family, docs := range tools {
		pages, err := fs.Glob(family.Docs, "*.md")
		require.NoError(t, err)
		require.NotEmpty(t, pages, family.Name)
		for _, page := range pages {
			if strings.HasSuffix(page, ".text.md") { // the text of a prompt
				continue
			}
			require.Contains(t, docs, page, "%s: no tool has the page", family.Name)
			text, err := family.Docs.ReadFile(page)
			require.NoError(t, err)
			require.Equal(t, string(text), docs[page], "%s: %s", family.Name, page)
		}
	}
}
