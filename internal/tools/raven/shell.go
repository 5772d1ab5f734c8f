package raven

import (
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// call returns the call of raven_new with these arguments.
func (in newIn) call() fault.Call {
	args := fault.Args{"type": in.Type, "title": in.Title}
	if in.Path != "" {
		args["path"] = in.Path
	}
	if len(in.Fields) > 0 {
		pairs := []string{} // empty texts, which the type of the field reads
		for _, name := range slices.Sorted(maps.Keys(in.Fields)) {
			pairs = append(pairs, name+"=")
		}
		args["fields"] = pairs
	}
	if in.Content != "" {
		args["content"] = in.Content
	}
	return fault.NewCall("raven_new", args)
}

// command returns the same call as a command line for a POSIX shell. Arguments are quoted.
//
// It is for people and for clients that run the command line; call is for those that call tools.
func (in newIn) command() string {
	words := []string{"rookery object create", tool.ShellWord(in.Type), "--title", tool.ShellQuote(in.Title)}
	if in.Path != "" {
		words = append(words, "--path", tool.ShellQuote(in.Path))
	}
	for _, name := range slices.Sorted(maps.Keys(in.Fields)) {
		words = append(words, "--field", tool.ShellWord(name+"="))
	}
	if in.Content != "" {
		words = append(words, "--content", tool.ShellQuote(in.Content))
	}
	return strings.Join(append(words, "--json"), " ")
}
