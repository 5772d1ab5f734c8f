package lambdahost

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// defaultRoute is the key of the route for requests without another route.
const defaultRoute = "$default"

// A route is one route of an HTTP API: "ANY /v1/vaults/{vault}/objects", "GET /{rest+}".
type route struct {
	key      string
	method   string // empty: any method
	segments []segment
	greedy   bool // the last segment matches the rest of the path
	function Invoker
}

// A segment is a part of a path: a fixed text, or a parameter, whose name is then not empty.
type segment struct {
	text, parameter string
}

// parseRoute parses the key of a route: a method or ANY, a space, and a path. It returns an error
// that names the key and the part that is malformed.
func parseRoute(key string, function Invoker) (route, error) {
	r := route{key: key, function: function}
	method, path, ok := strings.Cut(key, " /")
	if !ok || method == "" {
		return r, fmt.Errorf(`route %q: it must be "METHOD /path" or %q`, key, defaultRoute)
	}
	if method != "ANY" {
		r.method = method
	}
	texts := strings.Split(path, "/")
	for i, text := range texts {
		s, greedy, err := parseSegment(text)
		if err != nil || greedy && i < len(texts)-1 {
			return r, fmt.Errorf("route %q: %q must be a text, {name}, or {name+} at the end", key, text)
		}
		r.segments, r.greedy = append(r.segments, s), greedy
	}
	return r, nil
}

// parseSegment parses a segment of a path: a text without braces, {name}, or {name+}. greedy
// reports that it matches the rest of the path.
func parseSegment(text string) (s segment, greedy bool, err error) {
	name, inside := strings.CutPrefix(text, "{")
	if !inside {
		if strings.ContainsAny(text, "{}") {
			return segment{}, false, fmt.Errorf("a brace within a segment")
		}
		return segment{text: text}, false, nil
	}
	name, closed := strings.CutSuffix(name, "}")
	name, greedy = strings.CutSuffix(name, "+")
	if !closed || name == "" || strings.ContainsAny(name, "{}+") {
		return segment{}, false, fmt.Errorf("a malformed parameter")
	}
	return segment{parameter: name}, greedy, nil
}

// byRank orders routes as the gateway tries them: routes without a greedy parameter first, then
// those with a text where the other has a parameter, then longer ones, then those with one method.
// Keys decide between routes that are equal in all of this, so that the order is always the same.
func byRank(a, b route) int {
	if a.greedy != b.greedy {
		return order(b.greedy, a.greedy)
	}
	for i := range min(len(a.segments), len(b.segments)) {
		if c := order(a.segments[i].parameter == "", b.segments[i].parameter == ""); c != 0 {
			return c
		}
	}
	return cmp.Or(
		cmp.Compare(len(b.segments), len(a.segments)),
		order(a.method != "", b.method != ""),
		cmp.Compare(a.key, b.key),
	)
}

// order returns a negative number if only first is true, a positive one if only second is, and
// otherwise 0.
func order(first, second bool) int {
	switch {
	case first == second:
		return 0
	case first:
		return -1
	}
	return 1
}

// match returns the parameters of a decoded path, and whether the route matches. A parameter
// matches one segment that is not empty, and a greedy one the rest of the path, which must not be
// empty either. A trailing slash is a segment.
func (r route) match(method, path string) (map[string]string, bool) {
	if r.method != "" && r.method != method {
		return nil, false
	}
	texts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	last := len(r.segments) - 1
	if r.greedy && len(texts) > last {
		texts = append(slices.Clone(texts[:last]), strings.Join(texts[last:], "/"))
	}
	if len(texts) != len(r.segments) {
		return nil, false
	}
	parameters := map[string]string{}
	for i, s := range r.segments {
		switch {
		case s.parameter != "" && texts[i] != "":
			parameters[s.parameter] = texts[i]
		case s.parameter != "" || s.text != texts[i]:
			return nil, false
		}
	}
	return parameters, true
}
