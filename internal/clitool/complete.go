package clitool

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rookery/internal/control"
	"rookery/internal/tool"
)

// patience is how long a person who has pressed Tab waits at most.
const patience = 2 * time.Second

// complete offers the values of the argument that the next word is for. Words of the form
// name=value have no place among the others: one is offered where it has begun, or where all places
// are taken.
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

// completeFlags offers the values of flags, and files only where a path is wanted: for the flag of
// the argument that files are for.
func (c *command) completeFlags(cmd *cobra.Command) {
	for _, a := range c.tool.Args {
		if isGlobal(a) || c.set[a.Name] != "" || cmd.Flags().Lookup(a.Flag) == nil ||
			c.tool.Input != nil && a.Name == c.tool.Input.Arg {
			continue
		}
		completeFlag(cmd, a.Flag, c.completion(a))
	}
}

// completeFlag offers the values of one flag.
func completeFlag(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic("clitool: " + err.Error())
	}
}

// completion offers the values of an argument that is a flag.
func (c *command) completion(of tool.Arg) cobra.CompletionFunc {
	return func(
		cmd *cobra.Command, words []string, typed string,
	) ([]string, cobra.ShellCompDirective) {
		return c.offer(cmd, of, words, typed)
	}
}

// offer offers the values of an argument, beside the words that are written.
func (c *command) offer(
	cmd *cobra.Command, a tool.Arg, words []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	return c.app.values(cmd, wanted{a, c.written(a.Of, words)}, typed)
}

// written returns what the line has for an argument, as a word or a flag; empty if it has nothing.
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

// completeVault offers the names of vaults for the global flag, and files where there are none: it
// may name a folder as well.
func (a *App) completeVault(
	cmd *cobra.Command, _ []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	values, how := a.values(cmd, wanted{Arg: tool.Arg{Complete: "vault"}}, typed)
	if len(values) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return values, how
}

// A wanted is an argument whose values are wanted, and what its Of is on the line.
type wanted struct {
	tool.Arg
	of string
}

// values are what an argument may become: the few values that its schema has, else those that a tool
// completes it with. What goes wrong says nothing: whoever is typing sees no values, and no error.
func (a *App) values(
	cmd *cobra.Command, w wanted, typed string,
) ([]string, cobra.ShellCompDirective) {
	how := cobra.ShellCompDirectiveNoFileComp
	if w.Complete == "" || w.Schema() != nil && len(w.Schema().Enum) > 0 {
		return w.Options(typed), how
	}
	done, err := a.ask(cmd, tool.Unfinished{Kind: w.Complete, Of: w.of, Prefix: typed})
	if err != nil {
		return nil, how
	}
	// What the shell would write as it is must not steer the terminal.
	values := slices.DeleteFunc(slices.Clone(done.Items), control.Has)
	if done.Next != "" {
		// The shell writes what all values have in common. There are more than these, so that is
		// what is typed, and no more.
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

// described adds to the values what is known about them, as the shell takes it.
func described(values []string, about map[string]string) []string {
	all := slices.Clone(values)
	for i, value := range values {
		if text := about[value]; text != "" {
			all[i] = cobra.CompletionWithDesc(value, harmless(text))
		}
	}
	return all
}

// isOpen reports whether a value is the beginning of others.
func isOpen(value string) bool {
	return strings.HasSuffix(value, "/") || strings.HasSuffix(value, "=")
}

// ask asks the tools for values, where the command line points. It waits no longer than a person
// does, whatever hangs, and makes nothing where there is nothing.
func (a *App) ask(cmd *cobra.Command, u tool.Unfinished) (tool.Completed, error) {
	target, err := a.Target(cmd)
	if err != nil {
		return tool.Completed{}, err
	}
	target.Existing, u.Vault = true, target.Vault
	ctx, cancel := context.WithTimeout(cmd.Context(), patience)
	defer cancel()
	type answer struct {
		done tool.Completed
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
		return tool.Completed{}, ctx.Err()
	}
}

func (a *App) askAt(ctx context.Context, t Target, u tool.Unfinished) (tool.Completed, error) {
	inv, closer, err := a.Connect(ctx, t)
	if err != nil {
		return tool.Completed{}, err
	}
	if closer != nil {
		defer closer.Close() // nothing was written
	}
	return tool.Complete(ctx, inv, a.Tools, u)
}

// completeHelp offers the commands below those that are written.
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
