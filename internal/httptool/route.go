package httptool

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A route is a method and a path pattern that lead to a tool. The segments of a pattern are literal
// or a parameter in braces, which is an argument of the tool.
type route struct {
	method   string
	pattern  string // /v1/vaults/{vault}/objects/{id}
	segments []string
	tool     *tool.Tool // nil: the last segment is the name of the tool
}

// byName is the pattern under which every tool can be called by its name.
const byName = "/v1/tools/{name}"

// routesOf returns the routes of all tools, or of those of some families. They are sorted by
// pattern, so that of two patterns that match the same path the one with more literal segments
// comes first: "{" sorts after all letters. Tools without a path can be called by name only.
func routesOf(tools []*tool.Tool, only []*tool.Family) []*route {
	var all []*route
	if only == nil {
		all = append(all, newRoute(http.MethodPost, byName, nil))
	}
	for _, t := range tools {
		if t.Path() != "" && (only == nil || slices.Contains(only, t.Family)) {
			all = append(all, newRoute(t.Route.Method, t.Path(), t))
		}
	}
	slices.SortFunc(all, func(a, b *route) int {
		return cmp.Or(strings.Compare(a.pattern, b.pattern), strings.Compare(a.method, b.method))
	})
	return all
}

// newRoute returns a route. t is nil for the route by tool name. It panics if the pattern has a
// parameter that is not an argument of the tool.
func newRoute(method, pattern string, t *tool.Tool) *route {
	r := &route{method, pattern, strings.Split(pattern, "/"), t}
	for _, segment := range r.segments {
		name, ok := parameter(segment)
		if !ok || t == nil {
			continue
		}
		if _, known := t.Arg(name); !known {
			panic(fmt.Sprintf("httptool: the path of %s names %q, which is not an argument", t.Name, name))
		}
	}
	return r
}

// parameter returns the name of the parameter in a segment of a pattern, and false for a literal
// segment.
func parameter(segment string) (name string, ok bool) {
	if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
		return segment[1 : len(segment)-1], true
	}
	return "", false
}

// matches reports whether the segments of a path match a pattern.
func matches(pattern, segments []string) bool {
	return slices.EqualFunc(pattern, segments, func(want, segment string) bool {
		_, open := parameter(want)
		return open || want == segment
	})
}

// argsOf returns the arguments in a path that matches a pattern.
func argsOf(pattern, segments []string) map[string]string {
	args := map[string]string{}
	for i, want := range pattern {
		if name, ok := parameter(want); ok {
			args[name] = segments[i]
		}
	}
	return args
}

// A call is a request whose route is known.
type call struct {
	name    string
	tool    *tool.Tool // nil: there is no tool with the name
	pattern string     // pattern of the route, for the log
	path    map[string]string
}

// An otherMethod is the error of a path that exists only with other methods.
type otherMethod struct{ allowed []string }

// Error returns a message for logs; callers get a response with the allowed methods.
func (o *otherMethod) Error() string { return "another method is meant" }

// find returns the call that a request makes. The error is a fault or an *otherMethod.
//
// An item of a collection can be named in the path, /objects/{id}, or in the query, /objects?id=…,
// for ids that are hard to escape. If both the collection and an item could be meant, the query
// decides; a tool of the collection that has an argument of that name takes precedence.
func (s *server) find(r *http.Request) (*call, error) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments, err := split(r.URL)
	if s.opt.Decoded {
		if joined := s.rejoined(r.URL.Path); joined != nil {
			segments, err = joined, nil
		}
	}
	if err != nil {
		return nil, err
	}
	at, allowed := s.at(method, segments)
	var item *route
	if r.URL.RawQuery != "" {
		item = s.itemAt(method, segments, r.URL.Query())
	}
	if item == nil && at == nil {
		item = s.anyAt(method, segments)
	}
	switch {
	case item != nil && (at == nil || !at.takes(item.tool.PathArg())):
		return s.called(item, item.segments[:len(item.segments)-1], segments), nil
	case at != nil:
		return s.called(at, at.segments, segments), nil
	case len(allowed) > 0:
		return nil, &otherMethod{allowed}
	}
	return nil, s.unknown(segments)
}

// at returns the route for a method and a path, or nil, and all methods of the path, sorted,
// including those of routes that take the item in the query. The methods are for a response 405.
func (s *server) at(method string, segments []string) (found *route, allowed []string) {
	for _, r := range s.routes {
		if r.isItemOf(segments) {
			allowed = append(allowed, r.method)
		}
		if !matches(r.segments, segments) {
			continue
		}
		allowed = append(allowed, r.method)
		if found == nil && r.method == method {
			found = r
		}
	}
	slices.Sort(allowed)
	return found, slices.Compact(allowed)
}

// itemAt returns the route to one item of the collection at a path, if the query names the item:
// /objects?id=x means /objects/x. It returns nil if the query does not name it.
func (s *server) itemAt(method string, segments []string, query url.Values) *route {
	for _, r := range s.routes {
		if r.method != method || !r.isItemOf(segments) {
			continue
		}
		a, _ := r.tool.Arg(r.tool.PathArg())
		if query.Has(a.Name) || slices.ContainsFunc(a.Aliases, query.Has) {
			return r
		}
	}
	return nil
}

// anyAt returns a route to an item of the collection at a path that does not name the item. The
// tool either finds the item by other arguments or reports that it is missing.
func (s *server) anyAt(method string, segments []string) *route {
	for _, r := range s.routes {
		if r.method == method && r.isItemOf(segments) {
			return r
		}
	}
	return nil
}

// isItemOf reports whether the route leads to one item of the collection at a path.
func (r *route) isItemOf(segments []string) bool {
	return r.tool != nil && r.tool.PathArg() != "" && matches(r.segments[:len(r.segments)-1], segments)
}

// takes reports whether the route's tool has an argument with this name. It is true for a route by
// tool name.
func (r *route) takes(name string) bool {
	if r.tool == nil {
		return true
	}
	_, ok := r.tool.Arg(name)
	return ok
}

// called returns the call of a route for a path that matches the pattern. For the route by name,
// the tool is looked up in the catalogue; it is nil for an unknown name, which the catalogue
// reports.
func (s *server) called(r *route, pattern, segments []string) *call {
	path := argsOf(pattern, segments)
	if r.tool != nil {
		return &call{r.tool.Name, r.tool, r.pattern, path}
	}
	t, _ := s.cat.Find(path["name"])
	return &call{path["name"], t, r.pattern, nil}
}

// split returns the unescaped segments of a path. It refuses paths that can be interpreted in two
// ways, because a proxy may have interpreted them differently: empty segments, "." and "..", and
// escapes that are not UTF-8.
func split(u *url.URL) ([]string, error) {
	segments := strings.Split(u.EscapedPath(), "/")
	for i, escaped := range segments {
		segment, err := url.PathUnescape(escaped)
		switch {
		case err != nil || !utf8.ValidString(segment):
			return nil, fault.New(fault.InvalidPath, "the path of the request is not escaped UTF-8")
		case i > 0 && segment == "":
			return nil, fault.New(fault.InvalidPath, "the path of the request has an empty segment")
		case segment == "." || segment == "..":
			return nil, fault.New(fault.InvalidPath, "the path of the request has a segment %q",
				segment)
		}
		segments[i] = segment
	}
	return segments, nil
}

// rejoined splits a path in which a gateway has decoded slashes, so that the parameter at the end
// of a route gets all the rest: /v1/vaults/x/objects/people/freya becomes the object people/freya.
// It returns nil if a route matches the path as it is, or if there is no such route. The segments
// before the parameter must be unambiguous, as in split.
func (s *server) rejoined(path string) []string {
	segments := strings.Split(path, "/")
	if !utf8.ValidString(path) || s.leads(segments) {
		return nil
	}
	r := s.overrun(segments)
	if r == nil {
		return nil
	}
	n := len(r.segments) - 1
	for _, segment := range segments[1:n] {
		if isUnclear(segment) {
			return nil
		}
	}
	return append(segments[:n:n], strings.Join(segments[n:], "/"))
}

// leads reports whether a route with any method matches the path.
func (s *server) leads(segments []string) bool {
	return slices.ContainsFunc(s.routes, func(r *route) bool { return matches(r.segments, segments) })
}

// isUnclear reports whether a proxy may interpret a segment differently: proxies remove empty
// segments and dots, and would then apply their rules to another path than this server does.
func isUnclear(segment string) bool { return segment == "" || segment == "." || segment == ".." }

// unknown returns the NOT_FOUND fault of a path without a route, with the route that was probably
// meant: the most similar one, one whose id was not escaped, or the page that lists all.
func (s *server) unknown(segments []string) error {
	f := fault.New(fault.NotFound, "no route has this path")
	if r := s.nearest(segments); r != nil {
		return f.Fix("%s", r.pattern)
	}
	if r := s.overrun(segments); r != nil {
		return f.Fix("%s: an id is one segment, with / written as %%2F", r.pattern)
	}
	return f.Fix("GET /docs lists all routes")
}

// overrun returns a route to an item that matches the beginning of a path, as if the item's id
// contained unescaped slashes. It returns nil if there is none, or if longer routes begin with that
// path, because the intention is then ambiguous.
func (s *server) overrun(segments []string) *route {
	for _, r := range s.routes {
		n := len(r.segments)
		if len(segments) <= n {
			continue
		}
		if !matches(r.segments, segments[:n]) {
			continue
		}
		if _, ends := parameter(r.segments[n-1]); ends && !s.goesOn(segments[:n]) {
			return r
		}
	}
	return nil
}

// goesOn reports whether a longer route begins with this path, so that a longer path may be a
// mistyped one of it.
func (s *server) goesOn(segments []string) bool {
	n := len(segments)
	return slices.ContainsFunc(s.routes, func(r *route) bool {
		return len(r.segments) > n && matches(r.segments[:n], segments)
	})
}

// nearest returns the route that is most similar to a path, or nil if none is similar. Parameters
// count as equal, so only the literal segments are compared.
func (s *server) nearest(segments []string) *route {
	path := strings.Join(segments, "/")
	const long = 512 // longer paths are too expensive to compare
	if len(path) > long {
		return nil
	}
	var paths []string
	byPath := map[string]*route{}
	for _, r := range s.routes {
		if len(r.segments) != len(segments) {
			continue
		}
		filled := slices.Clone(r.segments)
		for i, segment := range filled {
			if _, is := parameter(segment); is {
				filled[i] = segments[i]
			}
		}
		like := strings.Join(filled, "/")
		if byPath[like] == nil {
			byPath[like] = r
			paths = append(paths, like)
		}
	}
	return byPath[fault.Nearest(path, paths)]
}
