package mcptool

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// allSets denotes all sets, in a path and in a header.
const allSets = "all"

// A view is the set of tools available to a request, in the order in which they are listed. The
// path determines it, and headers can only make it smaller. It belongs to one request.
type view struct {
	tools    []*tool.Tool
	aids     []*tool.Tool // tools whose resources and prompts are available; for Path itself all tools
	sets     []string     // sets that are named in the path or a header; none: no set is named
	readOnly bool         // mutations are not listed, and refused when called

	// short means that the path is Path itself: lists are short, and mutations answer briefly
	// unless asked otherwise.
	short bool
}

// atPath returns the view of a path: Path itself, Path/x/{set}[,{set}…], Path/x/all, and each of
// them below Path/readonly. A set is the name of a family of tools. An unknown path or set is
// NOT_FOUND.
func (e *endpoint) atPath(path string) (*view, *fault.Fault) {
	rest := strings.TrimSuffix(strings.TrimPrefix(path, Path), "/")
	rest, readOnly := cutSegment(rest, "readonly")
	sets, bySet := cutSegment(rest, "x")
	v := &view{tools: e.first, aids: e.cat.Tools(), readOnly: readOnly}
	if !bySet && rest != "" {
		return nil, e.unknownPath()
	}
	if !bySet {
		v.short = true
		return v, nil
	}
	f := v.address(e, strings.Split(strings.TrimPrefix(sets, "/"), ","), e.cat.Tools())
	if f != nil {
		return nil, f
	}
	return v, nil
}

// cutSegment removes the first segment of a path if it equals segment.
func cutSegment(path, segment string) (rest string, found bool) {
	rest, found = strings.CutPrefix(path, "/"+segment)
	if !found || rest != "" && rest[0] != '/' {
		return path, false
	}
	return rest, true
}

// address restricts the view to the tools of some sets. `all` among them means no restriction. of
// are the tools to choose from. An unknown set is NOT_FOUND, and the view is then not usable.
func (v *view) address(e *endpoint, sets []string, of []*tool.Tool) *fault.Fault {
	v.tools = of
	known := append(e.sets(), allSets)
	for _, set := range sets {
		if !slices.Contains(known, set) {
			return e.unknownSet(set)
		}
	}
	if slices.Contains(sets, allSets) {
		return nil
	}
	for _, set := range sets {
		if !slices.Contains(v.sets, set) {
			v.sets = append(v.sets, set)
		}
	}
	v.keep(func(t *tool.Tool) bool { return slices.Contains(sets, t.Family.Name) })
	return nil
}

// narrow applies the headers, which can only restrict the view: X-MCP-Readonly, X-MCP-Toolsets and
// X-MCP-Tools. A name that does not exist is INVALID_PARAMETER, because a client that names a wrong
// tool would otherwise silently get fewer.
func (e *endpoint) narrow(v *view, h http.Header) *fault.Fault {
	readOnly, f := flag(h, "X-MCP-Readonly")
	if f != nil {
		return f
	}
	v.readOnly = v.readOnly || readOnly
	sets, f := list(h, "X-MCP-Toolsets")
	if f != nil {
		return f
	}
	if sets != nil {
		before := v.sets
		v.sets = nil
		if f := v.address(e, sets, v.tools); f != nil {
			f.Code = fault.InvalidParameter
			return f
		}
		v.sets = common(before, v.sets)
	}
	names, f := list(h, "X-MCP-Tools")
	if f != nil {
		return f
	}
	for _, name := range names {
		if !e.known(name) {
			return e.unknownTool(name)
		}
	}
	if names != nil {
		v.keep(func(t *tool.Tool) bool {
			return slices.ContainsFunc(names, func(name string) bool { return t.AnswersTo(name) })
		})
	}
	return nil
}

// common returns the sets that both the path and the header name. If one of them names none, it
// returns those of the other. The result decides under which names tools are listed.
func common(path, header []string) []string {
	if path == nil || header == nil {
		return append(path, header...)
	}
	return slices.DeleteFunc(header, func(set string) bool { return !slices.Contains(path, set) })
}

// keep restricts the view to the tools for which ok returns true. It does not change the slices
// that the view was given.
func (v *view) keep(ok func(*tool.Tool) bool) {
	v.tools, v.aids = those(v.tools, ok), those(v.aids, ok)
}

// those returns a new list of the tools for which ok returns true.
func those(tools []*tool.Tool, ok func(*tool.Tool) bool) []*tool.Tool {
	var kept []*tool.Tool
	for _, t := range tools {
		if ok(t) {
			kept = append(kept, t)
		}
	}
	return kept
}

// listed returns the tools that are listed for a caller.
func (v *view) listed(c auth.Caller) []*tool.Tool {
	return those(v.tools, func(t *tool.Tool) bool { return !t.Aid() && t.Usable(c) })
}

// offered returns the tools whose resources and prompts are available to a caller. A prompt is
// available only if the caller can call all tools named in its text in this view: otherwise the
// model would be told to use tools that it does not have.
func (v *view) offered(c auth.Caller) []*tool.Tool {
	offer := v.offer(c)
	return those(v.aids, func(t *tool.Tool) bool {
		return t.Usable(c) && !slices.ContainsFunc(t.Uses, func(name string) bool {
			return !slices.Contains(offer.Tools, name)
		})
	})
}

// offer returns what a caller can do in this view.
func (v *view) offer(c auth.Caller) Offer {
	var o Offer
	for _, t := range v.listed(c) {
		o.Tools = append(o.Tools, t.Name)
		o.Writes = o.Writes || t.Kind.Changes()
	}
	return o
}

// find returns the tool of the view with a long name, an alias, or a short name that only one tool
// has. If several tools have the short name, they are returned as several. Long names and aliases
// take precedence in the order of the view.
func (v *view) find(name string) (found *tool.Tool, several []*tool.Tool) {
	for _, t := range v.tools {
		if t.Name == name || slices.Contains(t.Aliases, name) {
			return t, nil
		}
		if t.LocalName() == name {
			several = append(several, t)
		}
	}
	if len(several) == 1 {
		return several[0], nil
	}
	return nil, several
}

// nameOf returns the name under which a tool is listed: the short one if exactly one set is named
// and the short name is unambiguous there, otherwise the long one. All names of a tool are accepted
// in calls.
func (v *view) nameOf(t *tool.Tool) string {
	if len(v.sets) != 1 {
		return t.Name
	}
	if found, _ := v.find(t.LocalName()); found != t {
		return t.Name
	}
	return t.LocalName()
}

// known reports whether any tool has this name.
func (e *endpoint) known(name string) bool {
	return slices.ContainsFunc(e.cat.Tools(), func(t *tool.Tool) bool { return t.AnswersTo(name) })
}

// sets returns the names of all sets, sorted.
func (e *endpoint) sets() []string {
	var names []string
	for _, t := range e.cat.Tools() {
		names = append(names, t.Family.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unknownSet returns the fault of a set that does not exist.
func (e *endpoint) unknownSet(name string) *fault.Fault {
	f := fault.New(fault.NotFound, "there is no such set of tools; the sets are %s, and %s",
		strings.Join(e.sets(), ", "), allSets).With("sets", e.sets())
	if near := fault.Nearest(name, e.sets()); near != "" {
		f = f.Fix("use %s/x/%s", Path, near)
	}
	return f
}

// unknownPath returns the fault of a path that is not an endpoint.
func (e *endpoint) unknownPath() *fault.Fault {
	return fault.New(fault.NotFound,
		"there is no such MCP endpoint; there are %s, %s/x/{set}[,{set}…], %s/x/%s, and the same "+
			"behind %s/readonly", Path, Path, Path, allSets, Path).With("sets", e.sets())
}

// unknownTool returns the fault of a header with the name of a tool that does not exist.
func (e *endpoint) unknownTool(name string) *fault.Fault {
	var names []string
	for _, t := range e.cat.Tools() {
		names = append(names, t.Name)
	}
	f := fault.New(fault.InvalidParameter, "X-MCP-Tools names a tool that does not exist")
	if near := fault.Nearest(name, names); near != "" {
		f = f.Fix("use %s", near)
	}
	return f
}

// list parses a header with names separated by commas; nil means that it is not sent, and an empty
// list that it names nothing. A repeated header is refused: the second one may be meant to restrict
// the first, but a proxy may join them into one list, which extends it (RFC 9110 §5.3).
func list(h http.Header, name string) ([]string, *fault.Fault) {
	values := h.Values(name)
	switch len(values) {
	case 0:
		return nil, nil
	case 1:
	default:
		return nil, fault.New(fault.InvalidParameter, "header %s must be sent once", name).
			Fix("send one header with the names that all of them have")
	}
	names := []string{}
	for _, entry := range strings.Split(values[0], ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			names = append(names, entry)
		}
	}
	return names, nil
}

// flag parses a boolean header; a missing one is false. An invalid or repeated header is refused,
// because it was sent to make a call safe. The values are those of strconv.ParseBool.
func flag(h http.Header, name string) (bool, *fault.Fault) {
	text := h.Get(name)
	if text == "" && len(h.Values(name)) < 2 {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil || len(h.Values(name)) > 1 {
		return false, fault.New(fault.InvalidParameter, "header %s must be true or false", name)
	}
	return on, nil
}
