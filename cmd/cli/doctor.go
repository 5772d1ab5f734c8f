package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A doctor is the command that examines a data directory, a folder or a stack. The checks
// themselves are in packages localapp, repo and awsops; this file chooses the checks and shows the
// findings. It changes nothing.
//
// full and file are the flags --full and --config, and aws is --cloud; cloud has the flags about
// the stack.
type doctor struct {
	app   *clitool.App
	full  bool
	file  string
	aws   bool
	cloud cloud
}

func (d *doctor) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the local data directory or a folder, and suggest fixes",
		Long: "Check the local data directory, or with --vault DIR a served folder, and suggest " +
			"fixes: the disk,\nthe database, and the log, payloads, cursors, files and notes of " +
			"each vault. Nothing is changed.\nWhile a server has the directory open, doctor " +
			"asks that server.\n\nIf commands go to a server, because of rookery login or " +
			"ROOKERY_SERVER, check whether it answers and\naccepts the token, and whether the " +
			"token expires soon; also check the local data directory, if there\nis one.\n\nWith " +
			"--cloud, check a stack in AWS instead: whether the API passes on the headers that " +
			"MCP clients\nneed, and whether functions, table, bucket and queues are configured " +
			"as in the template.\n\nThe exit code is 0 unless something is broken; warnings do " +
			"not change it.",
		Example: "rookery doctor --data ./data\nrookery doctor --data ./data --full --json\n" +
			"rookery doctor --vault ./notes\nrookery doctor --cloud --stack rookery",
		Args: cobra.NoArgs,
		RunE: d.run,
	}
	clitool.Uses(c, "data", "vault", "token", "json", "bare", "envelope")
	c.Flags().BoolVar(&d.full, "full", false, "compare all stored data with its digests")
	d.cloud.flags(c)
	c.Flags().BoolVar(&d.aws, "cloud", false, "check the stack in AWS that --stack names")
	c.Flags().StringVar(&d.file, "config", "", "configuration file of the server: its data "+
		"directory, and its issuers")
	return c
}

// run examines the place that commands use. If they go to a server, it checks whether this server
// accepts the caller, and then the local directory too if there is one, because a person may have
// forgotten which of the two has the notes. With the file of a server it examines that server's
// data directory, unless a flag names another.
//
// --server is refused, because doctor needs the disk and not only the API. A server in the
// environment or in the configuration is not refused: the person asks about it.
//
// A broken check becomes the fault of the answer, so the exit code is that of the error that a call
// would get. Warnings leave it 0.
func (d *doctor) run(c *cobra.Command, _ []string) error {
	if d.aws {
		return d.runCloud(c)
	}
	if d.cloud.stack != "" {
		return fault.New(fault.InvalidParameter, "--stack names a stack in AWS").Fix("add --cloud")
	}
	target, at, err := connector{d.app}.local(c)
	if err != nil {
		return err
	}
	if f := c.Root().PersistentFlags().Lookup("server"); f != nil && f.Changed {
		return fault.New(fault.InvalidParameter, "doctor checks a directory on this machine").
			Fix("run it where the server runs: rookery doctor --data DIR")
	}
	hosted, err := loadConfig(d.app, d.file)
	if err != nil {
		return err
	}
	if target.Data == "" && target.Folder == "" {
		at.Data = cmp.Or(hosted.Data, at.Data)
	}
	address, err := connector{d.app}.server(target)
	if err != nil {
		return err
	}
	var found []repo.Finding
	if address != "" {
		found = append(found, d.login(c.Context(), target, address))
	}
	if address == "" || exists(at) == nil {
		of := localapp.Examination{
			Data: at.Data, Folder: at.Folder, State: at.State, Vault: target.Vault, Full: d.full, Server: hosted,
		}
		of.Token = func(ctx context.Context, server string) (string, error) {
			return connector{d.app}.token(ctx, target, server)
		}
		found = append(found, localapp.Examine(c.Context(), of)...)
	}
	place(found, target)
	return d.app.Finish(c, clitool.Outcome{
		Data:  map[string]any{"checks": found},
		Text:  tableOf(found),
		Fault: worst(found),
	})
}

// reindexing is the prefix of the command in findings that compares the files of a vault. The
// checks do not know with which flags doctor was called, so they write the command without a place.
const reindexing = "rookery reindex"

// place adds the flags for the vault and its place to the commands in findings, so that a person
// can copy a fix and run it. A directory in the environment needs no flag. It changes found.
func place(found []repo.Finding, t clitool.Target) {
	for i, f := range found {
		var flags string
		switch {
		case t.Folder != "":
			flags = " --vault " + tool.ShellWord(t.Folder)
		case f.Vault != "":
			flags = " --vault " + tool.ShellWord(f.Vault)
		}
		if t.Data != "" && !t.InEnvironment("data") {
			flags += " --data " + tool.ShellWord(t.Data)
		}
		found[i].Fix = strings.ReplaceAll(f.Fix, reindexing, reindexing+flags)
	}
}

// runCloud examines a stack in AWS. It does not look at the machine.
func (d *doctor) runCloud(c *cobra.Command) error {
	s, err := d.cloud.open(c.Context())
	if err != nil {
		return err
	}
	found := s.Examine(c.Context())
	return d.app.Finish(c, clitool.Outcome{
		Data: map[string]any{"checks": found}, Text: tableOf(found), Fault: worst(found),
	})
}

// worst returns the fault of the first finding of a broken check; nil if there is none. Its code
// and fix are those of the finding, and its message has the number of broken checks if there are
// several. The table shows all of them.
func worst(found []repo.Finding) *fault.Fault {
	var first *repo.Finding
	broken := 0
	for i, f := range found {
		if f.State != repo.Broken {
			continue
		}
		if broken++; first == nil {
			first = &found[i]
		}
	}
	if first == nil {
		return nil
	}
	f := fault.New(first.Code, "%s: %s", first.Check, first.Message)
	if broken > 1 {
		f = fault.New(first.Code, "%d checks found something broken; the first is %s: %s", broken,
			first.Check, first.Message)
	}
	if first.Fix != "" {
		f = f.Fix("%s", first.Fix)
	}
	return f
}

// tableOf returns the findings as a table, one line each: the state, the check, the vault and the
// message. The fix is on the line below, in the column of the messages.
func tableOf(found []repo.Finding) string {
	var cells, b strings.Builder
	for _, f := range found {
		of := f.Vault
		if f.Tenant != "" {
			of = f.Tenant + "/" + f.Vault
		}
		fmt.Fprintf(&cells, "%s\t%s\t%s\t%s\n", f.State, f.Check, of, onOneLine(f.Message))
		if f.Fix != "" {
			fmt.Fprintf(&cells, "\t\t\ttry: %s\n", onOneLine(f.Fix))
		}
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, err := w.Write([]byte(cells.String()))
	if err = errors.Join(err, w.Flush()); err != nil {
		panic(err) // never: a strings.Builder returns no errors
	}
	return b.String()
}

// onOneLine returns a text on one line, for a cell of the table. A line break or a tab in a message
// would break the columns.
func onOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
