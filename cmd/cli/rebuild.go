package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// A rebuilder is the command that rebuilds vaults whose database is lost. It is the last resort
// after a loss without a backup: the segments of the log and the notes are files beside the
// database, and both survive it.
type rebuilder struct{ app *clitool.App }

// command returns the command. It must not run beside a server: localapp.Rebuild needs the lock of
// the database, and is refused while another process has the directory open.
func (r *rebuilder) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild vaults whose database is lost",
		Long: "Rebuild vaults from their files when the database is lost: each from the " +
			"segments of its log, with\nits whole history, and then from the other files of its " +
			"folder. Without segments, a new vault is\ncreated from the notes, with the ids and " +
			"times in the audit log; it has no memories, because these\nare only in the log. " +
			"Vaults in the database and all notes remain unchanged.\n\nWith --vault DIR, " +
			"rebuild the vault of a served folder.",
		Example: "rookery rebuild --data ./data\nrookery rebuild --vault ./notes",
		Args:    cobra.NoArgs,
		RunE:    r.run,
	}
	clitool.Uses(c, "data", "vault", "json", "bare", "envelope")
	return c
}

// run rebuilds the vaults, and prints the source of each. It refuses a server that --server
// names, as `backup` does. The list in the JSON answer is empty, not null, if nothing was lost.
func (r *rebuilder) run(c *cobra.Command, _ []string) error {
	target, cfg, err := connector{r.app}.local(c)
	if err != nil {
		return err
	}
	if from := target.From["server"]; target.Server != "" && !target.InEnvironment("server") {
		return fault.New(fault.InvalidParameter, "rebuild changes a directory on this machine, "+
			"but %s names a server", from).Fix("run it where the server runs: rookery rebuild --data DIR")
	}
	made, err := localapp.Rebuild(c.Context(), cfg)
	if err != nil {
		return err
	}
	if made == nil {
		made = []tenant.Rebuilt{}
	}
	return r.app.Finish(c, clitool.Outcome{
		Data: map[string]any{"vaults": made}, Text: rebuiltText(made),
	})
}

// rebuiltText returns the text for people: a line for each rebuilt vault with its source, its new
// version and the number of files, then the paths that were left unchanged. It mentions if memories
// are missing, because they cannot be recovered from notes.
func rebuiltText(made []tenant.Rebuilt) string {
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
			b.WriteString("  without memories: they were only in the log\n")
		}
		for _, path := range v.Left {
			fmt.Fprintf(&b, "  unchanged: %s\n", path)
		}
	}
	return b.String()
}
