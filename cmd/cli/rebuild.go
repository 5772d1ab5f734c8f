package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rookery/internal/clitool"
	"rookery/internal/fault"
	"rookery/internal/localapp"
	"rookery/internal/team"
)

// A rebuilder is the command that rebuilds vaults whose database is lost.
type rebuilder struct{ app *clitool.App }

func (r *rebuilder) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild vaults whose database is lost",
		Long: "Make vaults anew from their files, when the database is lost: each from the segments of " +
			"its log,\nwith its whole history, and then from what its folder has beside them; where there " +
			"are no\nsegments, a new vault from the notes, with the ids and times that the audit log " +
			"tells;\nit has no memories, for these are in the log alone. Vaults that the database has are left alone, and so is every note.\n\n" +
			"With --vault DIR it is the vault of a folder that is served.",
		Example: "rookery rebuild --data ./data\nrookery rebuild --vault ./notes",
		Args:    cobra.NoArgs,
		RunE:    r.run,
	}
	clitool.Uses(c, "data", "vault", "json", "bare", "envelope")
	return c
}

func (r *rebuilder) run(c *cobra.Command, _ []string) error {
	target, cfg, err := connector{r.app}.local(c)
	if err != nil {
		return err
	}
	if from := target.From["server"]; target.Server != "" && !target.InEnvironment("server") {
		return fault.New(fault.InvalidParameter, "rebuild changes a directory of this machine, and %s names "+
			"a server", from).Fix("run it where the server runs: rookery rebuild --data DIR")
	}
	made, err := localapp.Rebuild(c.Context(), cfg)
	if err != nil {
		return err
	}
	if made == nil {
		made = []team.Rebuilt{}
	}
	return r.app.Finish(c, clitool.Outcome{
		Data: map[string]any{"vaults": made}, Text: rebuiltText(made),
	})
}

// rebuiltText returns a line for each rebuilt vault.
func rebuiltText(made []team.Rebuilt) string {
	if len(made) == 0 {
		return "every vault in the folder is in the database: nothing to do\n"
	}
	var b strings.Builder
	for _, v := range made {
		from := "its notes"
		if v.FromSegments != "" {
			from = "its segments up to " + v.FromSegments
		}
		fmt.Fprintf(&b, "%s  made from %s, now %s; from the folder %d new and %d changed files\n",
			v.Name, from, v.Version, len(v.Created), len(v.Replaced))
		if v.FromSegments == "" {
			b.WriteString("  without memories of work: they are in the log, and notes do not have them\n")
		}
		for _, path := range v.Left {
			fmt.Fprintf(&b, "  left as it is: %s\n", path)
		}
	}
	return b.String()
}
