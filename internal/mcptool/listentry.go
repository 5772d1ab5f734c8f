package mcptool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// vaultArg is the argument that clients repeat in the header Mcp-Param-Vault, so that proxies can
// route and limit by vault without reading bodies (CONTRACT §6).
const (
	vaultArg    = "vault"
	vaultMark   = "Vault"
	vaultHeader = "Mcp-Param-" + vaultMark
)

// page returns the list entry of a tool: its name, its summary, the schema of its arguments, and
// hints on what it does. A list is part of the context of every model, so an entry is as short as
// it can be.
func page(t *tool.Tool) *mcp.Tool { return pageWithout(t, nil, false) }

// shortPage returns the list entry of a tool for Path, where the size of the list is limited
// (CONTRACT §6). It omits rarely used arguments, which are still accepted; therefore the schema
// allows other arguments. The full entry is listed at the path of the tool's family.
func shortPage(t *tool.Tool) *mcp.Tool { return pageWithout(t, nil, true) }

// readingPage returns the list entry of a tool for a caller that may make only its reading calls:
// the argument that distinguishes them is limited to the values of such calls. It is built for each
// request, because such callers are rare.
func readingPage(t *tool.Tool, short bool) *mcp.Tool {
	p := pageWithout(t, nil, short)
	s := &jsonschema.Schema{}
	if json.Unmarshal(p.InputSchema.(json.RawMessage), s) == nil && s.Properties[t.Reads.Arg] != nil {
		arg := s.Properties[t.Reads.Arg].CloneSchemas()
		arg.Enum = nil
		for _, value := range t.Reads.Values {
			arg.Enum = append(arg.Enum, value)
		}
		s.Properties[t.Reads.Arg] = arg
		p.InputSchema = marshaled(t, s)
	}
	p.Annotations.ReadOnlyHint, p.Annotations.IdempotentHint = true, true
	return p
}

// pageWithout returns the list entry of a tool without some of its arguments. short is for the list
// of Path.
func pageWithout(t *tool.Tool, hidden []string, short bool) *mcp.Tool {
	destructive, openWorld := t.Kind == tool.Destroy, false
	return &mcp.Tool{
		Name:        t.Name,
		Title:       t.Title,
		Description: t.Prose().Summary,
		InputSchema: inputSchema(t, hidden, short),
		Annotations: &mcp.ToolAnnotations{
			Title:           t.Title,
			ReadOnlyHint:    !t.Kind.Changes(),
			DestructiveHint: &destructive,
			IdempotentHint:  t.Idempotent || !t.Kind.Changes(),
			OpenWorldHint:   &openWorld,
		},
	}
}

// inputSchema returns the schema of the arguments for a model. It omits `envelope`, which is
// accepted: a model needs only one form of answer. In a short list it also omits rare arguments,
// the members of optional objects, and the description of the vault.
func inputSchema(t *tool.Tool, hidden []string, short bool) json.RawMessage {
	s := without(t.InputSchema(), func(a tool.Arg) bool {
		return short && a.Rare || a.Name == "envelope" || slices.Contains(hidden, a.Name)
	}, t)
	if short {
		s.AdditionalProperties = nil
		abridge(s)
		if vault, ok := s.Properties[vaultArg]; ok {
			vault = vault.CloneSchemas()
			vault.Description = "" // the endpoint's instructions describe it once
			s.Properties[vaultArg] = vault
		}
	}
	return marshaled(t, s)
}

// abridge replaces the optional members of a schema by their outlines, and abridges the required
// ones. It changes s itself, and copies the members that it changes.
func abridge(s *jsonschema.Schema) {
	for name, member := range s.Properties {
		if !slices.Contains(s.Required, name) {
			s.Properties[name] = outline(member)
		} else if member.Properties != nil {
			member = member.CloneSchemas()
			member.AdditionalProperties = nil
			abridge(member)
			s.Properties[name] = member
		}
	}
}

// outline returns the schema of an argument without the members of objects. The description of the
// argument is sufficient in a short list, and the tool's own page has the members (CONTRACT §6). It
// does not change s.
func outline(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Items != nil && s.Items.Properties != nil {
		s = s.CloneSchemas()
		s.Items = outline(s.Items)
		return s
	}
	if s.Properties == nil {
		return s
	}
	return &jsonschema.Schema{Type: s.Type, Types: s.Types, Description: s.Description}
}

// without removes the arguments for which hide returns true from a tool's schema s, which it
// changes and returns.
func without(s *jsonschema.Schema, hide func(tool.Arg) bool, t *tool.Tool) *jsonschema.Schema {
	for _, a := range t.Args {
		if hide(a) {
			delete(s.Properties, a.Name)
		}
	}
	s.PropertyOrder = slices.DeleteFunc(s.PropertyOrder, func(name string) bool {
		return s.Properties[name] == nil
	})
	return s
}

// marshaled returns the JSON of a schema in the form for lists. It panics if the schema does not
// marshal, which is an error in the program. The vault argument is marked as repeated in a header.
func marshaled(t *tool.Tool, s *jsonschema.Schema) json.RawMessage {
	for name, arg := range s.Properties {
		s.Properties[name] = plain(arg)
	}
	if vault, ok := s.Properties[vaultArg]; ok {
		vault.Extra = map[string]any{"x-mcp-header": vaultMark}
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("mcptool: the schema of %s does not marshal: %v", t.Name, err))
	}
	return data
}

// plain returns a copy of a schema in which every value has one type, the first that is not null.
// Other types are accepted, as aliases are, but a model needs only one; and some clients, including
// the SDK's, cannot parse a list of types and then send no headers. Size limits are omitted too,
// because the list must be short and a refusal reports them. The members of objects and the
// elements of lists are treated in the same way.
func plain(s *jsonschema.Schema) *jsonschema.Schema {
	s = s.CloneSchemas()
	for _, t := range s.Types {
		if t != "null" {
			s.Type, s.Types = t, nil
			break
		}
	}
	if s.Type != "array" {
		s.Items = nil
	}
	if s.Type != "string" {
		s.Pattern = ""
	}
	s.MinLength, s.MaxLength, s.MaxItems = nil, nil, nil
	s.MaxProperties, s.PropertyNames = nil, nil
	if s.Items != nil {
		s.Items = plain(s.Items)
	}
	for name, inner := range s.Properties {
		s.Properties[name] = plain(inner)
	}
	return s
}

// promptKey is the key of the text in a prompt's data.
const promptKey = "text"

// prompts returns the prompts in the view of a request, in the order of the view. It leaves out
// those whose tools the caller cannot call; see view.offered.
func (x *exchange) prompts() []*tool.Tool {
	var all []*tool.Tool
	for _, t := range x.view.offered(x.caller) {
		if t.Prompt {
			all = append(all, t)
		}
	}
	return all
}

// prompt returns the prompt with a name, or nil.
func (x *exchange) prompt(name string) *tool.Tool {
	for _, t := range x.prompts() {
		if t.AnswersTo(name) {
			return t
		}
	}
	return nil
}

// listPrompts returns all prompts, on one page.
func (x *exchange) listPrompts(ctx context.Context, r *mcp.ListPromptsRequest) (mcp.Result, error) {
	if r.Params != nil && r.Params.Cursor != "" {
		return nil, x.noCursor()
	}
	out := &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{}}
	for _, t := range x.prompts() {
		out.Prompts = append(out.Prompts, promptOf(t))
	}
	private(ctx, r, &out.Cacheable)
	return out, nil
}

// promptOf returns the list entry of a prompt. It omits the shared arguments, which a person need
// not fill in.
func promptOf(t *tool.Tool) *mcp.Prompt {
	p := &mcp.Prompt{Name: t.LocalName(), Title: t.Title, Description: t.Prose().Summary}
	for _, a := range t.Args {
		if !a.Shared {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{
				Name: a.Name, Description: a.Doc, Required: a.Required,
			})
		}
	}
	return p
}

// offerPrompts registers the prompts in the SDK, which only gets prompts that are registered, under
// each of their names.
func (x *exchange) offerPrompts(s *mcp.Server) {
	for _, t := range x.prompts() {
		for _, name := range append([]string{t.Name, t.LocalName()}, t.Aliases...) {
			s.AddPrompt(&mcp.Prompt{Name: name}, x.getPrompt)
		}
	}
}

// noPrompt returns the error of a name that no prompt has, or nil if one has it. The fix is the
// most similar name.
func (x *exchange) noPrompt(name string) error {
	if x.prompt(name) != nil {
		return nil
	}
	var names []string
	for _, t := range x.prompts() {
		names = append(names, t.LocalName())
	}
	f := fault.New(fault.NotFound, "there is no such prompt")
	if near := fault.Nearest(name, names); near != "" {
		f = f.Fix("use %s", near)
	}
	return x.failed(jsonrpc.CodeInvalidParams, f)
}

// getPrompt calls the tool of a prompt and returns its text as a message of the user. A failed call
// is an error of the protocol, because a prompt is chosen by a person and not by a model.
func (x *exchange) getPrompt(
	ctx context.Context, r *mcp.GetPromptRequest,
) (*mcp.GetPromptResult, error) {
	t := x.prompt(r.Params.Name)
	args, err := given(t, r.Params.Arguments)
	if err != nil {
		return nil, x.failed(jsonrpc.CodeInternalError, fault.Of(err))
	}
	text, err := x.dataOf(ctx, t, args, promptKey)
	if err != nil {
		f := fault.Of(err)
		return nil, x.failed(errorCode(f), f)
	}
	return &mcp.GetPromptResult{
		Description: t.Prose().Summary,
		Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
	}, nil
}

// given returns the arguments that are not empty, converted by their schemas. Clients with a form
// also send empty fields, and all values as text. An unknown argument is kept as text, so that the
// catalogue reports it.
func given(t *tool.Tool, all map[string]string) (map[string]json.RawMessage, error) {
	args := map[string]json.RawMessage{}
	for name, value := range all {
		if value == "" {
			continue
		}
		if a, ok := t.Arg(name); ok {
			args[name] = a.FromText([]string{value})
			continue
		}
		var err error
		if args[name], err = tool.Marshal(value); err != nil {
			return nil, err
		}
	}
	return args, nil
}
