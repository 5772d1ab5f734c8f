package memory

import (
	"context"
	_ "embed"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

// afterFailureText is the text of the prompt, with the names in braces as its parameters.
//
//go:embed prompt_after_failure.text.md
var afterFailureText string

// An afterFailureIn is the input of the prompt. File is the file for which the work failed; it is
// optional.
type afterFailureIn struct {
	tool.Vault
	// the file for which the work failed
	File string `json:"file,omitempty" size:"id"`
}

// A promptOut is the output of the prompt: the text for the model.
type promptOut struct {
	tool.Aside `json:"-"`
	// the instructions, for a model
	Text string `json:"text"`
}

// afterFailure returns the prompt that asks a model to recall earlier work after a failure. It
// reads no memories: it only contains the call with which the model does so, by file or, without a
// file, by words. It opens the vault, so that a name with no vault is NOT_FOUND here and not in the
// call that the model makes.
func (f tools) afterFailure() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_prompt_after_failure", Short: "after_failure", Family: Family, Title: "Learn from a failure",
		Role: auth.Reader, Kind: tool.Read, Prompt: true,
		Route:    tool.Route{Method: "GET", Path: "/memory-prompts/after-failure"},
		Commands: []tool.Command{{Words: "prompt after-failure", Args: []string{"file?"}}},
		Uses:     []string{"memory_recall", "memory_store"},
	}, func(ctx context.Context, c auth.Caller, in afterFailureIn) (promptOut, error) {
		v, err := f.View(ctx, c, in.Vault.Vault)
		if err != nil {
			return promptOut{}, err
		}
		what, ask := "your task", `"query": "what you did"`
		hint := ", with the goal and the message of the error as `query`"
		if in.File != "" {
			file := strconv.Quote(in.File)
			what, ask, hint = file, `"file": `+file, ""
		}
		out := promptOut{Text: strings.NewReplacer(
			"{vault}", strconv.Quote(in.Vault.Vault), "{what}", what, "{ask}", ask, "{hint}", hint,
		).Replace(afterFailureText)}
		out.Note("version", v.Version())
		return out, nil
	})
}
