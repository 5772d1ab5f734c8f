package clitool

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/tool"
)

// completionTimeout is the time limit for completion suggestions. A person waits for them at the
// prompt, and no suggestions are better than a shell that seems to hang.
const completionTimeout = 2 * time.Second

// complete returns suggestions for the next word. A word of the form name=value is suggested if
// such a word has begun or if no positional argument is left. For the path of files, the shell
// completes file names itself.
func (c *command) complete(
	cmd *cobra.Command, words []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	if c.pairs != "" {
		words = slices.DeleteFunc(slices.Clone(words), pair.MatchString)
	}
	at := min(len(words), len(c.slots)-1)
	full := len(c.slots) == 0 || len(words) > at && !c.slots[at].rest
	if a, ok := c.tool.Arg(c.pairs); ok && (full || pair.MatchString(typed)) {
		return c.offer(cmd, a, words, typed)
	}
	switch {
	case full:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case c.slots[at].name == "":
		return nil, cobra.ShellCompDirectiveDefault
	}
	a, _ := c.tool.Arg(c.slots[at].name)
	return c.offer(cmd, a, words, typed)
}

// completeFlags registers the completion of flags. The flag for files keeps the shell's own
// completion of file names. Global flags and implied arguments have none here.
func (c *command) completeFlags(cmd *cobra.Command) {
	for _, a := range c.tool.Args {
		if isGlobal(a) || c.set[a.Name] != "" || cmd.Flags().Lookup(a.Flag) == nil ||
			c.tool.Input != nil && a.Name == c.tool.Input.Arg {
			continue
		}
		completeFlag(cmd, a.Flag, c.completion(a))
	}
}

// completeFlag registers the completion of one flag. It panics if the flag does not exist or has a
// completion already, which is an error in the program.
func completeFlag(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic("clitool: " + err.Error())
	}
}

// completion returns the completion function of an argument's flag. cobra calls it in a process of
// its own, for each time that a person presses the tab key.
func (c *command) completion(of tool.Arg) cobra.CompletionFunc {
	return func(
		cmd *cobra.Command, words []string, typed string,
	) ([]string, cobra.ShellCompDirective) {
		return c.offer(cmd, of, words, typed)
	}
}

// offer returns suggestions for an argument. words are the words before it, from which the value of
// the argument that it depends on is taken: the values of a field depend on its type, for example.
func (c *command) offer(
	cmd *cobra.Command, a tool.Arg, words []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	return c.app.values(cmd, completionArg{a, c.written(a.Of, words)}, typed)
}

// written returns the value that the line gives to an argument, by a flag or a word, or "". Of
// several values of a flag, it is the last.
func (c *command) written(name string, words []string) string {
	for _, flag := range c.flags[name] {
		if len(flag.values) > 0 {
			return flag.last()
		}
	}
	for i, s := range c.slots {
		if s.name == name && i < len(words) && name != "" {
			return words[i]
		}
	}
	return ""
}

// completeVault completes the global flag for the vault: with names of vaults, or with file names
// if there are none, because the value may also be a folder.
func (a *App) completeVault(
	cmd *cobra.Command, _ []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	values, how := a.values(cmd, completionArg{Arg: tool.Arg{Complete: "vault"}}, typed)
	if len(values) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return values, how
}

// A completionArg is an argument to complete, with the value of the argument named by its Of.
type completionArg struct {
	tool.Arg
	of string
}

// values returns the suggestions for an argument: the values of its enumeration, or those of the
// tool that completes its kind. Errors are not shown; the result is then empty, because a message
// would be written into the line that the person is typing.
//
// No space follows a suggestion that is a prefix of others, such as a folder. Suggestions with
// descriptions keep their order, which is that of the tool.
func (a *App) values(
	cmd *cobra.Command, w completionArg, typed string,
) ([]string, cobra.ShellCompDirective) {
	how := cobra.ShellCompDirectiveNoFileComp
	if w.Complete == "" || w.Schema() != nil && len(w.Schema().Enum) > 0 {
		return w.Options(typed), how
	}
	done, err := a.ask(cmd, tool.CompletionRequest{Kind: w.Complete, Of: w.of, Prefix: typed})
	if err != nil {
		return nil, how
	}
	// The shell writes values to the terminal unescaped, so control characters are not allowed.
	values := slices.DeleteFunc(slices.Clone(done.Items), control.Has)
	if done.Next != "" {
		// The shell inserts the common prefix of all suggestions. There are more than these, so add
		// the typed text, which limits that prefix to it.
		values = append(values[:min(len(values), tool.MaxValues-1)], typed)
	}
	if slices.ContainsFunc(values, isOpen) || done.Next != "" {
		how |= cobra.ShellCompDirectiveNoSpace
	}
	if len(done.About) > 0 {
		how |= cobra.ShellCompDirectiveKeepOrder
	}
	return described(values, done.About), how
}

// described adds descriptions to values in the format of cobra. Descriptions are texts of notes and
// are escaped; a value without one is left unchanged. Values are never escaped, because the shell
// inserts them into the line; the caller has removed those with control characters.
func described(values []string, about map[string]string) []string {
	all := slices.Clone(values)
	for i, value := range values {
		if text := about[value]; text != "" {
			all[i] = cobra.CompletionWithDesc(value, escapeControls(text))
		}
	}
	return all
}

// isOpen reports whether a value is a prefix of other values, so that the person continues to type
// after it: a folder, or the name of a field with its equals sign.
func isOpen(value string) bool {
	return strings.HasSuffix(value, "/") || strings.HasSuffix(value, "=")
}

// ask calls the tool that completes, at the target of the command line. It waits at most for
// completionTimeout, even if the connection hangs, and creates no data directory. The goroutine
// that connects may outlive it, which does no harm, because the process ends.
func (a *App) ask(cmd *cobra.Command, u tool.CompletionRequest) (tool.CompletionPage, error) {
	target, err := a.Target(cmd)
	if err != nil {
		return tool.CompletionPage{}, err
	}
	target.Existing, u.Vault = true, target.Vault
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	type answer struct {
		done tool.CompletionPage
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		done, err := a.askAt(ctx, target, u)
		answered <- answer{done, err}
	}()
	select {
	case got := <-answered:
		return got.done, got.err
	case <-ctx.Done():
		return tool.CompletionPage{}, ctx.Err()
	}
}

// askAt connects to a target and asks for suggestions. It closes the connection before it returns.
func (a *App) askAt(ctx context.Context, t Target, u tool.CompletionRequest) (tool.CompletionPage, error) {
	inv, closer, err := a.Connect(ctx, t)
	if err != nil {
		return tool.CompletionPage{}, err
	}
	if closer != nil {
		defer closer.Close() // nothing was written
	}
	return tool.Complete(ctx, inv, a.Tools, u)
}

// completeHelp completes the names of commands after `help`, word by word. An unknown word has no
// completions.
func completeHelp(
	c *cobra.Command, words []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	at := c.Root()
	for _, word := range words {
		if at = find(at, word); at == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	return names(at), cobra.ShellCompDirectiveNoFileComp
}
