package mcptool

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// promptKey is the member of a prompt's data that is its text.
const promptKey = "text"

// prompts are those that a request sees, by name.
func (x *exchange) prompts() []*tool.Tool {
	var all []*tool.Tool
	for _, t := range x.view.offered(x.caller) {
		if t.Prompt {
			all = append(all, t)
		}
	}
	return all
}

// prompt is the prompt of a name, nil if there is none.
func (x *exchange) prompt(name string) *tool.Tool {
	for _, t := range x.prompts() {
		if t.AnswersTo(name) {
			return t
		}
	}
	return nil
}

// listPrompts answers all prompts, on one page.
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

// promptOf is how a prompt is listed. What every tool takes is nothing that a person is asked for.
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

// offerPrompts makes the prompts known to the SDK, which gets only those that it knows.
func (x *exchange) offerPrompts(s *mcp.Server) {
	for _, t := range x.prompts() {
		for _, name := range append([]string{t.Name, t.LocalName()}, t.Aliases...) {
			s.AddPrompt(&mcp.Prompt{Name: name}, x.getPrompt)
		}
	}
}

// noPrompt is the error of a name that no prompt has; nil if one has it.
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

// getPrompt calls the tool of a prompt: its text is what the person says to the model.
func (x *exchange) getPrompt(
	ctx context.Context, r *mcp.GetPromptRequest,
) (*mcp.GetPromptResult, error) {
	t := x.prompt(r.Params.Name)
	args, err := tool.Marshal(given(t, r.Params.Arguments))
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

// given are the arguments that say something: clients with a form send what is left empty, too. All
// come as text.
func given(t *tool.Tool, all map[string]string) map[string]any {
	args := map[string]any{}
	for name, value := range all {
		if value == "" {
			continue
		}
		args[name] = value
		if a, ok := t.Arg(name); ok {
			args[name] = a.FromText([]string{value})
		}
	}
	return args
}
