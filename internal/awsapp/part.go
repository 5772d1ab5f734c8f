package awsapp

import (
	"fmt"
	"slices"
	"strings"

	"rookery/internal/tool"
)

// A Part is what one function serves of the product. Every function has the whole catalogue: tools tell of one
// another.
type Part struct{ family string }

// Everything is all routes, MCP, the pages beside them, and the tools by their names.
var Everything = Part{}

// Family is the routes of one family of tools, and nothing else.
func Family(name string) Part { return Part{name} }

// families are the families whose routes are served; nil: everything is. A family without a tool is an error.
func (p Part) families(cat *tool.Catalogue) ([]*tool.Family, error) {
	if p == Everything {
		return nil, nil
	}
	for _, t := range cat.Tools() {
		if t.Family.Name == p.family {
			return []*tool.Family{t.Family}, nil
		}
	}
	return nil, fmt.Errorf("there is no family %q of tools", p.family)
}

// A Route is a route of the gateway in front of the functions, and which of them it leads to. A request that no
// route matches goes to the function that serves everything.
type Route struct {
	Pattern string // such as "ANY /v1/vaults/{vault}/objects/{rest+}"
	Family  string // of the function
}

// Routes are the routes of a gateway by which the paths of tools come to the functions of their families, in order.
// A path below a tool's own is a route only where a tool has one there: all others lead nowhere, and the function
// that serves everything says so.
func Routes(cat *tool.Catalogue) []Route {
	families := map[string]string{}
	for _, t := range cat.Tools() {
		if t.Path() == "" {
			continue
		}
		families[patternOf(t.Path())] = t.Family.Name
	}
	var all []Route
	for pattern, family := range families {
		all = append(all, Route{pattern, family})
	}
	slices.SortFunc(all, func(a, b Route) int { return strings.Compare(a.Pattern, b.Pattern) })
	return all
}

// vaultPath is in front of what is about one vault.
const vaultPath = "/v1/vaults/{vault}"

// patternOf is the route of the gateway for the path of a tool: the first word behind the version, or behind the
// vault, and whether anything follows.
func patternOf(path string) string {
	if name, ok := strings.CutPrefix(path, "/v1/vaults/{"); ok && strings.HasSuffix(name, "}") &&
		!strings.Contains(name, "/") {
		return "ANY " + vaultPath // a parameter has one name in all routes
	}
	base := "/v1"
	if strings.HasPrefix(path, vaultPath+"/") {
		base = vaultPath
	}
	word, _, more := strings.Cut(strings.TrimPrefix(path, base+"/"), "/")
	if more {
		word += "/{rest+}"
	}
	return "ANY " + base + "/" + word
}
