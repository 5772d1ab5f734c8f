package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// CallOf returns the call that a command line makes, its arguments in the order of the tool's. It
// returns false for a line that calls no tool, and for text that is no command line.
func CallOf(t testing.TB, tools []*tool.Tool, line string) (fault.Call, bool) {
	t.Helper()
	words := Words(line)
	if len(words) < 2 || words[0] != "rookery" {
		return fault.Call{}, false
	}
	r := &recorder{}
	app := &clitool.App{
		Tools: tools, In: strings.NewReader(""), Out: io.Discard, Err: io.Discard,
		Connect: func(context.Context, clitool.Target) (tool.Invoker, io.Closer, error) {
			return r, nil, nil
		},
	}
	app.Run(t.Context(), words[1:])
	made := find(tools, r.name)
	if made == nil {
		return fault.Call{}, false
	}
	c := fault.Call{Tool: r.name}
	for _, a := range made.Args {
		if value, ok := r.args[a.Name]; ok {
			c.Args = append(c.Args, fault.Arg{Name: a.Name, Value: value})
		}
	}
	return c, true
}

// A recorder keeps the last call, and refuses it.
type recorder struct {
	name string
	args map[string]json.RawMessage
}

// Invoke implements tool.Invoker.
func (r *recorder) Invoke(
	_ context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	f := fault.New(fault.Unavailable, "the call is only recorded")
	r.name, r.args = name, nil
	if err := json.Unmarshal(args, &r.args); err != nil {
		return nil, err
	}
	return tool.Refusal(f, nil), f
}

// called returns the answer of a command line with its fixes as calls again: those that their command
// lines make.
func called(t testing.TB, tools []*tool.Tool, answer json.RawMessage) json.RawMessage {
	t.Helper()
	return tool.ChangeFixes(answer, func(fix string) string {
		if c, ok := CallOf(t, tools, fix); ok {
			return c.String()
		}
		return fix
	})
}

// longNamed returns the answer of a family's own MCP endpoint with the long names of tools in its
// fixes.
func longNamed(cat *tool.Catalogue, of *tool.Family, answer json.RawMessage) json.RawMessage {
	spelled, _ := tool.Respell(bytes.Clone(answer), nil, func(c fault.Call) string {
		for _, t := range cat.Tools() {
			if t.Family == of && t.LocalName() == c.Tool {
				c.Tool = t.Name
			}
		}
		return c.String()
	})
	return spelled
}

// Following is a way whose fixes are followed: each that is a call names a tool, with arguments that
// it takes, and is answered over the other way without a fault of its arguments and of what they
// name. The calls change nothing.
func Following(over, other Way, tools []*tool.Tool) Way {
	return Way{over.Name, func(t testing.TB, c Call) (json.RawMessage, bool) {
		t.Helper()
		answer, carried := over.Call(t, c)
		tool.ChangeFixes(answer, func(fix string) string {
			if try, ok := fault.ParseCall(fix); ok {
				follow(t, other, tools, try)
			}
			return fix
		})
		return answer, carried
	}}
}

func follow(t testing.TB, over Way, tools []*tool.Tool, c fault.Call) {
	t.Helper()
	made := find(tools, c.Tool)
	require.NotNil(t, made, "the fix %s names no tool", c)
	args := map[string]json.RawMessage{}
	for _, given := range c.Args {
		_, takes := made.Arg(given.Name)
		require.True(t, takes, "the fix %s has an argument that the tool does not take", c)
		args[given.Name] = given.Value
	}
	if a, plans := made.ArgFor(tool.MeansDry); plans {
		args[a.Name] = json.RawMessage("true")
	}
	answer, carried := over.Call(t, Call{c.Tool, args})
	require.True(t, carried, "the fix %s", c)
	if code := CodeOf(t, answer); code != "" {
		require.NotContains(t, []fault.Status{fault.StatusInvalidArgument, fault.StatusNotFound},
			code.Status(), "the fix %s: %s", c, answer)
	}
}
