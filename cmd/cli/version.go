package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/clitool"
)

// versionLine returns the version of the program, its platform and the version of Go, without a
// line feed. A report of a bug should contain it.
func versionLine() string {
	return fmt.Sprintf("rookery %s %s/%s %s", version(), runtime.GOOS, runtime.GOARCH,
		runtime.Version())
}

// versionCommand returns the command `version`. It does the same as the flag --version, and uses
// none of the global flags: its output is one line of text also with --json.
func versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  rookery version",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), versionLine())
			return err
		},
	}
	clitool.Uses(c)
	return c
}
