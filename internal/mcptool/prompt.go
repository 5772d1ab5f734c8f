package mcptool

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

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
