package localapp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/tool"
)

// answersFile has the answers that /docs shows, by tool: those to the first example of each tool's document on the demo
// vault, shortened. TestExamplesRun writes it with -update.
var answersFile = filepath.Join("testdata", "answers.json")

// recordedAnswers reads answersFile.
func recordedAnswers(t *testing.T) map[string]any {
	t.Helper()
	data, err := os.ReadFile(answersFile)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(data, &all))
	return all
}

// shownAnswer returns an answer as /docs shows it: indented JSON.
func shownAnswer(t *testing.T, answer any) string {
	t.Helper()
	if answer == nil {
		return ""
	}
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	require.NoError(t, to.Encode(answer))
	return strings.TrimSpace(out.String())
}

// An answering records the first answer of a tool that is no error.
type answering struct {
	to     tool.Invoker
	name   string
	answer json.RawMessage
}

// Invoke implements tool.Invoker. It calls the tool, and records its answer.
func (a *answering) Invoke(ctx context.Context, name string, in json.RawMessage) (json.RawMessage, error) {
	out, err := a.to.Invoke(ctx, name, in)
	if name == a.name && err == nil && a.answer == nil {
		a.answer = out
	}
	return out, err
}

// over returns a Connect whose invokers record for a.
func (a *answering) over(connect func(clitool.Target) tool.Invoker) func(clitool.Target) tool.Invoker {
	return func(to clitool.Target) tool.Invoker {
		a.to = connect(to)
		return a
	}
}

// settled removes the warnings that the index is not up to date: whether there are any depends on
// the moment of the call.
func settled(answer any) any {
	envelope, ok := answer.(map[string]any)
	if !ok {
		return answer
	}
	warnings, _ := envelope["warnings"].([]any)
	warnings = slices.DeleteFunc(warnings, func(w any) bool {
		warning, _ := w.(map[string]any)
		code, _ := warning["code"].(string)
		return strings.HasPrefix(code, "INDEX_")
	})
	if len(warnings) == 0 {
		delete(envelope, "warnings")
	} else {
		envelope["warnings"] = warnings
	}
	return envelope
}

// The sizes of an answer that /docs shows.
const (
	shownItems   = 2   // of a list, and of an object with many members
	shownMembers = 30  // of an object
	shownText    = 160 // bytes of a text
)

// shortened returns a JSON value whose lists and texts are shortened, with a mark where something
// was removed.
func shortened(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if names := slices.Sorted(maps.Keys(v)); len(names) > shownMembers {
			for _, name := range names[shownItems:] {
				delete(v, name)
			}
			v["…"] = fmt.Sprintf("%d more", len(names)-shownItems)
		}
		for name := range v {
			v[name] = shortened(v[name])
		}
	case []any:
		for i := range v {
			v[i] = shortened(v[i])
		}
		if len(v) > shownItems+1 {
			return append(v[:shownItems:shownItems], fmt.Sprintf("… %d more", len(v)-shownItems))
		}
	case string:
		if len(v) > shownText {
			return strings.ToValidUTF8(v[:shownText], "") + " …"
		}
	}
	return v
}

// shapeOf returns the paths of a JSON value, each with its type, in order; the items of a list are one path.
func shapeOf(v any) []string {
	all := map[string]bool{}
	var walk func(v any, path string)
	walk = func(v any, path string) {
		switch v := v.(type) {
		case map[string]any:
			for name := range v {
				walk(v[name], path+"."+name)
			}
		case []any:
			for i := range v {
				walk(v[i], path+"[]")
			}
		default:
			all[fmt.Sprintf("%s %T", path, v)] = true
		}
	}
	walk(v, "")
	return slices.Sorted(maps.Keys(all))
}

// compareAnswers compares the shapes of answers with those of the file. Values differ from run to
// run, such as random ids. With -update it writes the answers whose shape has changed.
func compareAnswers(t *testing.T, fresh map[string]any) {
	t.Helper()
	recorded := recordedAnswers(t)
	if *update {
		for name, answer := range fresh {
			if was, ok := recorded[name]; ok && slices.Equal(shapeOf(was), shapeOf(answer)) {
				fresh[name] = was
			}
		}
		require.NoError(t, os.WriteFile(answersFile, []byte(shownAnswer(t, fresh)+"\n"), 0o644))
		recorded = fresh
	}
	for name, answer := range fresh {
		require.Equal(t, shapeOf(recorded[name]), shapeOf(answer), "the answer of %s in %s is out of date: make docs", name, answersFile)
	}
	require.Len(t, recorded, len(fresh), "%s has a tool that is gone: make docs", answersFile)
}
