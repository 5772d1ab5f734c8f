package awsapp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/tool"
)

// A Part is the set of routes that one function serves. Every function has the whole catalogue,
// because tools refer to each other. Small functions exist so that their concurrency and memory can
// be set apart; they are the same program with another Part.
type Part struct{ family string }

// Everything is the Part with all routes, MCP, the pages beside them, and the tools by name.
var Everything = Part{}

// Family returns the Part with only the routes of one family of tools.
func Family(name string) Part { return Part{name} }

// families returns the families whose routes are served; nil means everything. It returns an error
// for a family without a tool.
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

// A Route is a route of the gateway to one of the functions. Requests without a matching route go
// to the function that serves everything.
type Route struct {
	Pattern string // such as "ANY /v1/vaults/{vault}/objects/{rest+}"
	Family  string // of tools, which the function serves
}

// Routes returns the routes of a gateway that lead the paths of tools to the functions of their
// families, sorted by pattern. There is a wildcard route only for paths below which a tool has one;
// all others reach the function that serves everything, which answers that they do not exist. The
// template of the deployment must contain exactly these; a test compares the two.
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

// vaultPath is the prefix of the paths of one vault.
const vaultPath = "/v1/vaults/{vault}"

// patternOf returns the gateway's route for the path of a tool: the first word after the version or
// the vault, and a wildcard if more follows. So a family needs few routes, and an HTTP API allows a
// limited number.
func patternOf(path string) string {
	if name, ok := strings.CutPrefix(path, "/v1/vaults/{"); ok && strings.HasSuffix(name, "}") &&
		!strings.Contains(name, "/") {
		return "ANY " + vaultPath // a parameter must have the same name in all routes
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
