package clitool

import "github.com/spf13/cobra"

// tokenFlag is the flag for a token, which all commands and login have.
const tokenFlag = "token"

// warnToken warns about a token on the command line, before every command. "-" reads it from
// standard input, and is no token. A command with a flag of its own of that name, such as login, is
// checked too.
func (a *App) warnToken(c *cobra.Command, _ []string) {
	f := c.Flags().Lookup(tokenFlag)
	if f == nil || !f.Changed {
		return
	}
	if text := f.Value.String(); text != "" && text != "-" {
		a.WarnToken()
	}
}

// WarnToken prints a warning about a token on the command line: other users of the machine can see
// it in the list of processes, and the shell stores it in its history.
func (a *App) WarnToken() {
	p := a.printer(forPeople)
	p.line("warning: ", yellow, "a token on the command line is visible in the process list, "+
		"and stays in the history of the shell")
	p.fixes([]string{"set ROOKERY_TOKEN, or log in with the token on standard input (--token -)"})
}
