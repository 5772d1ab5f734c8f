package raven

import (
	"maps"
	"slices"
	"strings"

	"rookery/internal/tool"
)

// command is the command line of a call that makes an object. A POSIX shell reads it as it is.
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
