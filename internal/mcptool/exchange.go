package mcptool

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// listTTL is the time in milliseconds for which a client may cache a list or the server's
// description: five minutes. They change with roles, headers and releases.
const listTTL = 5 * 60 * 1000

// An exchange is the state of one request: the caller and its view of the tools. The SDK may handle
// the messages of a batch concurrently; their calls run one after another.
//
// It stands between the SDK and the catalogue in both directions. The SDK gives it each message
// through receive, and calls a tool through call. It gives the catalogue the caller, and calls
// tools for resources, prompts and completions too, so all of them have the limits, the audit log
// and the faults of ordinary calls.
type exchange struct {
	*endpoint
	view   *view
	caller auth.Caller
	turn   turn
	outcome

	counted  atomic.Bool  // a message of the request was counted
	answered atomic.Int64 // total bytes of the answers of its calls so far
}

var _ tool.Invoker = (*exchange)(nil)

// Invoke implements tool.Invoker.
func (x *exchange) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	return x.do(ctx, x.cat.Request(name, args)).Result()
}

// do waits for the request's turn, calls a tool, and records the outcome for the headers and the
// status of the response. Fixes in the answer are spelled with the names of this view. If the
// answers of the request are too large together, the call is not made.
func (x *exchange) do(ctx context.Context, r tool.Request) *tool.Answer {
	end, err := x.turn.take(ctx)
	if err != nil {
		return x.notRun(err)
	}
	defer end()
	if x.answered.Load() > tool.MaxBody {
		return x.notRun(noRoom())
	}
	x.counted.Store(true)
	caller := auth.CallerOf(ctx)
	caller.Allowance = new(auth.Allowance) // each call of a request has its own
	a := x.cat.Do(auth.WithCaller(ctx, caller), r)
	x.answered.Add(int64(tool.QuotedSize(a.JSON())))
	x.spend(*caller.Allowance)
	if a.Fault != nil && x.opt.Resource.Challenge("", a.Fault, true) != "" {
		x.deny(a.Fault)
	}
	return a.Respell(x.formatCall)
}

// notRun returns the answer of a call that is not made, as the catalogue would return it.
func (x *exchange) notRun(err error) *tool.Answer {
	f := *fault.Of(err)
	f.RequestID = x.caller.RequestID
	return &tool.Answer{Fault: &f}
}

// noRoom returns the fault of a call in a batch whose earlier answers have reached the size limit.
// The answers of a batch therefore have at most twice the size of one answer: the memory for
// one request stays bounded.
func noRoom() *fault.Fault {
	return fault.New(fault.BatchTooLarge,
		"the call was not run: the answers before it in the request have more than %d bytes", tool.MaxBody).
		Fix("send it again, in a request of its own")
}

// formatCall returns a call in a fix, with the name under which the tool is listed in this view. A
// tool outside the view keeps its long name.
func (x *exchange) formatCall(c fault.Call) string {
	if t, ok := x.cat.Find(c.Tool); ok && slices.Contains(x.view.tools, t) {
		c.Tool = x.view.nameOf(t)
	}
	return c.String()
}

// server returns an MCP server for this request; this package lists and calls its tools. The
// capabilities are set explicitly, because otherwise the SDK would announce notifications of list
// changes and keep a `subscriptions/listen` request open. The SDK does the protocol: versions,
// framing, and the methods without a meaning for tools.
//
// The SDK reads only resources that are registered. One template that matches every URI is enough,
// because find decides which resources exist.
func (x *exchange) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "rookery", Title: "Rookery", Version: x.opt.Version},
		&mcp.ServerOptions{
			Instructions: x.instructions(),
			Capabilities: &mcp.ServerCapabilities{
				Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{},
				Prompts: &mcp.PromptCapabilities{}, Completions: &mcp.CompletionCapabilities{},
			},
			SetCacheable: private,
		})
	s.AddReceivingMiddleware(x.receive)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "every", URITemplate: everyURI}, x.read)
	x.offerPrompts(s)
	return s
}

// instructions returns the text for a model that connects with this request: it depends on the
// tools that the path, the headers and the role allow. It is empty without Options.Instructions.
func (x *exchange) instructions() string {
	if x.opt.Instructions == nil {
		return ""
	}
	return x.opt.Instructions(x.view.offer(x.caller))
}

// private marks an answer as cacheable for this caller only. A resource that was read must not be
// cached, because it is a note, which may change at any time.
func private(_ context.Context, r mcp.Request, c *mcp.Cacheable) {
	c.CacheScope, c.TTLMs = "private", listTTL
	if _, ok := r.(*mcp.ReadResourceRequest); ok {
		c.TTLMs = 0
	}
}

// offer registers the tools with these names in the SDK, so that they can be called. Only the tools
// that the body calls are registered, because registering all for each request would cost more than
// most calls. The SDK needs the schema only to know which arguments have headers; list returns the
// full schemas.
//
// The header of the vault argument is required, as in the protocol since 2026-07-28, only if the
// tool is called by the name under which it is listed. A client that calls it by another name, or
// does not see it in the list, cannot know about the header.
func (x *exchange) offer(s *mcp.Server, names []string) {
	listed := x.view.listed(x.caller)
	for _, name := range names {
		t, _ := x.view.find(name)
		if t == nil {
			continue
		}
		schema := anyArguments
		if takesVault(t) && x.view.nameOf(t) == name && slices.Contains(listed, t) {
			schema = vaultInHeader
		}
		s.AddTool(&mcp.Tool{Name: name, InputSchema: schema}, x.call)
	}
}

// The schemas that offer registers in the SDK.
var (
	anyArguments  = json.RawMessage(`{"type":"object"}`)
	vaultInHeader = json.RawMessage(`{"type":"object","properties":{"` + vaultArg +
		`":{"type":"string","x-mcp-header":"` + vaultMark + `"}}}`)
)

// receive handles lists and completions, refuses requests outside the view, and passes all others
// to the SDK. It first counts messages that call no tool, so that a caller over its rate gets an
// error for them too.
func (x *exchange) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		ctx = auth.WithCaller(ctx, x.caller)
		if !x.calls(r) {
			if err := x.count(ctx); err != nil {
				f := fault.Of(err)
				return nil, x.failed(errorCode(f), f)
			}
		}
		switch r := r.(type) {
		case *mcp.ListToolsRequest:
			return x.list(ctx, r)
		case *mcp.ListResourcesRequest:
			return x.listResources(ctx, r)
		case *mcp.ListResourceTemplatesRequest:
			return x.listTemplates(ctx, r)
		case *mcp.ListPromptsRequest:
			return x.listPrompts(ctx, r)
		case *mcp.CompleteRequest:
			return x.complete(ctx, r)
		case *mcp.ReadResourceRequest:
			return x.readResource(ctx, r, next, method)
		case *mcp.GetPromptRequest:
			if err := x.noPrompt(r.Params.Name); err != nil {
				return nil, err
			}
		case *mcp.CallToolRequest:
			if f := x.notServed(r.Params.Name); f != nil {
				return nil, protocolError(jsonrpc.CodeInvalidParams, f)
			}
		}
		return next(ctx, method, r)
	}
}

// list returns all tools that the caller may see, on one page. A cursor is an error. Each tool has
// the name under which this view lists it.
func (x *exchange) list(ctx context.Context, r *mcp.ListToolsRequest) (mcp.Result, error) {
	if r.Params != nil && r.Params.Cursor != "" {
		return nil, x.noCursor()
	}
	out := &mcp.ListToolsResult{Tools: []*mcp.Tool{}}
	for _, t := range x.view.listed(x.caller) {
		p := *x.page(t)
		p.Name = x.view.nameOf(t)
		out.Tools = append(out.Tools, &p)
	}
	private(ctx, r, &out.Cacheable)
	return out, nil
}

// page returns the list entry of a tool for this request. It omits arguments with which the
// caller's call would be refused. Entries for callers without such limits are built once and
// shared.
func (x *exchange) page(t *tool.Tool) *mcp.Tool {
	if hidden := t.Hidden(x.caller); len(hidden) > 0 {
		return pageWithout(t, hidden, x.view.short)
	}
	if t.OnlyReads(x.caller) {
		return readingPage(t, x.view.short)
	}
	if short := x.short[t]; x.view.short && short != nil {
		return short()
	}
	return x.pages[t]()
}

// addSlim sets `slim` in the arguments of a call, unless they set it already: at Path, mutations
// answer briefly unless asked otherwise, because an answer stays in the context of the model. It
// does nothing if the tool has no such argument.
func addSlim(t *tool.Tool, args map[string]json.RawMessage) {
	if _, asked := args[tool.SlimArg]; t.Briefs() && !asked {
		args[tool.SlimArg] = json.RawMessage("true")
	}
}

// call calls a tool. The only content of the result is the answer, also if the call fails: a model
// reads the fault and its fixes there.
func (x *exchange) call(
	ctx context.Context, r *mcp.CallToolRequest,
) (*mcp.CallToolResult, error) {
	t, _ := x.view.find(r.Params.Name)
	request := x.cat.Request(t.Name, r.Params.Arguments)
	given := request.Args
	if request.Malformed != nil {
		_ = json.Unmarshal(r.Params.Arguments, &given) // the header is compared first
	}
	if r.Extra != nil && !vaultHeaderAgrees(r.Extra.Header, t, given) {
		return nil, protocolError(mcp.CodeHeaderMismatch, fault.New(fault.InvalidParameter,
			"header %s and argument %q name different vaults", vaultHeader, vaultArg))
	}
	if x.view.short && request.Malformed == nil {
		addSlim(t, request.Args)
	}
	a := x.do(ctx, request)
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: string(a.JSON())}},
		IsError: a.Fault != nil,
	}, nil
}

// notServed returns the fault of a name that denotes no tool of this view, or several; nil if it
// denotes one. The fix of a tool that exists elsewhere is the path at which it is served.
func (x *exchange) notServed(name string) *fault.Fault {
	found, several := x.view.find(name)
	if found != nil {
		return nil
	}
	var f *fault.Fault
	if t, ok := x.cat.Find(name); len(several) > 0 {
		f = ambiguous(several)
	} else if ok {
		f = fault.New(fault.NotFound, "tool %s is not served at this path", t.Name).
			Fix("use %s/x/%s", Path, t.Family.Name)
	} else {
		f = x.unknown(name)
	}
	f.RequestID = x.caller.RequestID
	return f
}

// ambiguous returns the fault of a short name that several tools have.
func ambiguous(several []*tool.Tool) *fault.Fault {
	var names []string
	for _, t := range several {
		names = append(names, t.Name)
	}
	return fault.New(fault.InvalidParameter, "the tool's name is ambiguous: it may be %s",
		strings.Join(names, " or ")).With("matches", names)
}

// unknown returns the fault of a name that no tool has, with the most similar name among those that
// the caller can see as its fix.
func (x *exchange) unknown(name string) *fault.Fault {
	var names []string
	for _, t := range x.view.listed(x.caller) {
		names = append(names, x.view.nameOf(t))
	}
	f := fault.New(fault.NotFound, "there is no such tool")
	if near := fault.Nearest(name, names); near != "" {
		f = f.Fix("use %s", near)
	}
	return f
}

// protocolError returns a JSON-RPC error with a fault as its data, so that a client gets the code,
// the details and the fixes. code is that of the protocol.
func protocolError(code int64, f *fault.Fault) *jsonrpc.Error {
	data, err := tool.Marshal(f)
	if err != nil {
		data = nil // the message is sufficient
	}
	return &jsonrpc.Error{Code: code, Message: f.Message, Data: data}
}

// takesVault reports whether a tool has the vault argument, which a header repeats.
func takesVault(t *tool.Tool) bool {
	_, ok := t.Arg(vaultArg)
	return ok
}

// vaultHeaderAgrees reports whether the vault header, if it is sent, equals the vault argument. The
// SDK checks this only in the newest protocol, but a proxy that routes by the header does not know
// which protocol is used. A tool without the argument agrees with any header.
func vaultHeaderAgrees(h http.Header, t *tool.Tool, args map[string]json.RawMessage) bool {
	sent := h.Get(vaultHeader)
	if sent == "" || !takesVault(t) {
		return true
	}
	sent, ok := plainHeader(sent)
	var vault string
	return ok && json.Unmarshal(args[vaultArg], &vault) == nil && vault == sent
}

// count counts a message that does not call a tool. It returns an error if the caller has made too
// many requests. The remaining allowance is recorded for the headers of the response.
func (x *exchange) count(ctx context.Context) error {
	x.counted.Store(true)
	caller := x.caller
	caller.Allowance = new(auth.Allowance)
	err := x.opt.Count(ctx, caller)
	x.spend(*caller.Allowance)
	return err
}

// calls reports whether a message calls a tool. Such a message is counted by the call, and must not
// be counted twice. Reading a resource, getting a prompt, listing resources for each value, and
// completing may be calls.
func (x *exchange) calls(r mcp.Request) bool {
	switch r := r.(type) {
	case *mcp.CallToolRequest:
		t, _ := x.view.find(r.Params.Name)
		return t != nil
	case *mcp.ReadResourceRequest:
		is := x.find(r.Params.URI)
		return is != nil && is.tool != nil
	case *mcp.GetPromptRequest:
		return x.prompt(r.Params.Name) != nil
	case *mcp.ListResourcesRequest:
		return x.eachOf() != ""
	case *mcp.CompleteRequest:
		if r.Params == nil || r.Params.Ref == nil {
			return false
		}
		a, err := x.completedArg(r.Params.Ref, r.Params.Argument.Name)
		return err == nil && a.Complete != "" && len(a.Schema().Enum) == 0
	}
	return false
}
