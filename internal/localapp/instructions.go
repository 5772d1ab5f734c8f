package localapp

import (
	_ "embed"
	"slices"
	"strings"
	"text/template"

	"rookery/internal/mcptool"
)

// instructionsText is a template for what an MCP client is told when it connects. It names a tool only
// through the functions of instructions, which leave out those that the client does not have.
//
//go:embed instructions.md
var instructionsText string

// instructions returns the text for a client with this offer, in at most ten lines.
func instructions(o mcptool.Offer) string {
	named := func(names ...string) string { return enumerate(offered(o, names)) }
	funcs := template.FuncMap{
		"tools": named,
		"writes": func(names ...string) string {
			if !o.Writes {
				return ""
			}
			return named(names...)
		},
	}
	text := template.Must(template.New("instructions").Funcs(funcs).Parse(instructionsText))
	var b strings.Builder
	if err := text.Execute(&b, o); err != nil {
		panic("localapp: instructions: " + err.Error()) // the text is a part of the program
	}
	return strings.TrimSpace(b.String())
}

// offered returns the names that are among the tools of the offer.
func offered(o mcptool.Offer, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.Contains(o.Tools, name)
	})
}

// enumerate joins names as a sentence does: "a, b and c".
func enumerate(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
