package clitool

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// paired returns a command line in which each word of the form name=value that follows the flag of
// an argument with named values becomes a value of that flag: `--frontmatter a=1 b=2` sets both, as
// `--frontmatter a=1 --frontmatter b=2` does. The line of a command that takes such words without a
// flag is returned unchanged, and so is one that calls no tool. Words after -- are not changed.
//
// cobra cannot do this, because a flag has one value there, so the words are rewritten before cobra
// sees them. Another flag, or a word of another form, ends the sequence.
func (a *App) paired(root *cobra.Command, args []string) []string {
	c := a.commandOf(root, args)
	if c == nil || c.pairs != "" || completes(args) {
		return args
	}
	var line []string
	flag, value := "", false // flag of the following words; whether the next word is its value
	for i, word := range args {
		switch name, _, has := strings.Cut(word, "="); {
		case word == "--":
			return append(line, args[i:]...)
		case strings.HasPrefix(word, "--"):
			flag, value = "", false
			if c.isPairsFlag(strings.TrimPrefix(name, "--")) {
				flag, value = name, !has
			}
		case value:
			value = false
		case flag != "" && pair.MatchString(word):
			word = flag + "=" + word
		default:
			flag = ""
		}
		line = append(line, word)
	}
	return line
}

// isPairsFlag reports whether a flag sets an argument with named values. Underscores in its name
// count as dashes.
func (c *command) isPairsFlag(name string) bool {
	name = string(dashed(nil, name))
	for _, a := range c.tool.Args {
		isFlag := slices.ContainsFunc(c.flags[a.Name], func(t *texts) bool {
			return string(dashed(nil, t.name)) == name
		})
		if isFlag && isFields(a) {
			return true
		}
	}
	return false
}
