package httptool

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// A route is a method and a path that lead to a tool.
type route struct {
	method   string
	pattern  string // /v1/vaults/{vault}/objects/{id}
	segments []string
	tool     *tool.Tool // nil: the tool is the last segment
}

// byName is the path under which every tool is called by its name.
const byName = "/v1/tools/{name}"

// routesOf are the routes of all tools, or of those of some families. Where two match one path, the one comes
// first whose segments are literal further on: "{" sorts behind every letter.
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

func newRoute(method, pattern string, t *tool.Tool) *route {
	r := &route{method, pattern, strings.Split(pattern, "/"), t}
	for _, segment := range r.segments {
		name, ok := parameter(segment)
		if !ok || t == nil {
			continue
		}
		if _, known := t.Arg(name); !known {
			panic(fmt.Sprintf("httptool: the path of %s names %q, which is no argument", t.Name, name))
		}
	}
	return r
}

// parameter is the name in a segment of a pattern that stands for an argument.
func parameter(segment string) (name string, ok bool) {
	if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
		return segment[1 : len(segment)-1], true
	}
	return "", false
}

// matches reports whether a path of these segments leads where the pattern does.
func matches(pattern, segments []string) bool {
	return slices.EqualFunc(pattern, segments, func(want, segment string) bool {
		_, open := parameter(want)
		return open || want == segment
	})
}

// argsOf are the arguments that a path gives, by a pattern that it matches.
func argsOf(pattern, segments []string) map[string]string {
	args := map[string]string{}
	for i, want := range pattern {
		if name, ok := parameter(want); ok {
			args[name] = segments[i]
		}
	}
	return args
}

// A call is a request whose tool is known.
type call struct {
	name    string
	tool    *tool.Tool // nil: no tool has the name
	pattern string     // for the log
	path    map[string]string
}

// otherMethod says that a path leads somewhere by other methods only.
type otherMethod struct{ allowed []string }

func (o *otherMethod) Error() string { return "another method is meant" }

// find is the call that a request makes. The error is a fault, or an *otherMethod.
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

// at is the route of a method and path, nil if there is none, and the methods that the path has, also those that take
// an item in the query.
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

// itemAt is the route to one item of the collection that a path names, where the query says which
// item is meant: /objects?id=x is /objects/x.
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

// anyAt is the route to items of the collection that a path names, where the path does not say which: the tool finds
// them otherwise, or answers that the item is missing.
func (s *server) anyAt(method string, segments []string) *route {
	for _, r := range s.routes {
		if r.method == method && r.isItemOf(segments) {
			return r
		}
	}
	return nil
}

// isItemOf reports whether the route leads to one item of the collection that a path of these segments names.
func (r *route) isItemOf(segments []string) bool {
	return r.tool != nil && r.tool.PathArg() != "" && matches(r.segments[:len(r.segments)-1], segments)
}

// takes reports whether the route's tool has an argument of the name.
func (r *route) takes(name string) bool {
	if r.tool == nil {
		return true
	}
	_, ok := r.tool.Arg(name)
	return ok
}

// called is a call over a route, by a path that matches this pattern.
func (s *server) called(r *route, pattern, segments []string) *call {
	path := argsOf(pattern, segments)
	if r.tool != nil {
		return &call{r.tool.Name, r.tool, r.pattern, path}
	}
	t, _ := s.cat.Find(path["name"])
	return &call{path["name"], t, r.pattern, nil}
}

// split takes a path apart into its segments, each unescaped. What could be read in two ways is
// refused: a proxy in front may have read it in the other.
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

// rejoined takes a path apart in which a gateway has decoded slashes, so that the parameter at the end of a
// route has all the rest; nil if a route has the path as it is, or none ends so. What is before the parameter
// is checked as split does.
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

// leads reports whether a route, by whatever method, has a path of these segments.
func (s *server) leads(segments []string) bool {
	return slices.ContainsFunc(s.routes, func(r *route) bool { return matches(r.segments, segments) })
}

// isUnclear reports whether a program in front may read a segment in another way.
func isUnclear(segment string) bool { return segment == "" || segment == "." || segment == ".." }

// unknown is the fault of a path that leads nowhere. It says which route was probably meant.
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

// overrun is the route to an item that a path leads to and past, as it does if the item's id has
// slashes that are not escaped; nil if there is none. Of a route below which others begin, nobody
// knows what was meant.
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

// goesOn reports whether a path is the beginning of a longer route.
func (s *server) goesOn(segments []string) bool {
	n := len(segments)
	return slices.ContainsFunc(s.routes, func(r *route) bool {
		return len(r.segments) > n && matches(r.segments[:n], segments)
	})
}

// nearest is the route whose path is almost this one; nil if none is.
func (s *server) nearest(segments []string) *route {
	path := strings.Join(segments, "/")
	const long = 512 // longer paths cost too much to compare
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
