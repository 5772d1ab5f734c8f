package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/backup"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// A backer is the group of commands that back up and restore a data directory: create, verify and
// restore. The format of a backup and the steps of each command are in packages backup and
// localapp; this file chooses the directory and prints the result.
type backer struct{ app *clitool.App }

// A backedUp is the answer of the three commands about one backup file. Data and Checks are set
// only by restore.
type backedUp struct {
	File    string           `json:"file"`
	Files   int              `json:"files"` // files in the data directory
	Bytes   int64            `json:"bytes"` // bytes of these files
	Created time.Time        `json:"created_at"`
	Release string           `json:"release"`
	Data    string           `json:"data,omitempty"`   // the directory it was restored into
	Checks  []doctor.Finding `json:"checks,omitempty"` // findings about the restored directory
}

// backupCommand returns the group with its three commands. Only create and restore have the flag
// --data; verify reads nothing but the file.
func backupCommand(app *clitool.App) *cobra.Command {
	b := &backer{app}
	c := &cobra.Command{
		Use:   "backup",
		Short: "Back up a data directory while it is in use, verify backups, restore them",
		Long: "A backup is one file with everything in a data directory: the database, the " +
			"logs, the notes, and the\ndigests of the tokens. It is consistent as of one " +
			"moment; the server keeps running. Protect it like\nthe data itself.",
	}
	create := &cobra.Command{
		Use:   "create FILE",
		Short: "Write a backup of a data directory to a new file",
		Long: "Write a backup of a data directory to a new file, and verify it. A server may " +
			"have the directory\nopen: reads continue, and writes are delayed for a moment at " +
			"most.",
		Example: "rookery backup create rookery-2026-12-01.tar.zst --data ./data",
		Args:    cobra.ExactArgs(1),
		RunE:    b.create,
	}
	verify := &cobra.Command{
		Use:     "verify FILE",
		Short:   "Read a backup, and compare every file in it with its digest",
		Example: "rookery backup verify rookery-2026-12-01.tar.zst",
		Args:    cobra.ExactArgs(1),
		RunE:    b.verify,
	}
	restore := &cobra.Command{
		Use:   "restore FILE",
		Short: "Create a new data directory from a backup",
		Long: "Create a new data directory from a backup. It is checked as by `rookery doctor --full` " +
			"before it is\nmoved to DIR, which must not exist or must be empty.",
		Example: "rookery backup restore rookery-2026-12-01.tar.zst --data ./restored",
		Args:    cobra.ExactArgs(1),
		RunE:    b.restore,
	}
	clitool.Uses(create, "data", "json", "bare", "envelope")
	clitool.Uses(verify, "json", "bare", "envelope")
	clitool.Uses(restore, "data", "json", "bare", "envelope")
	c.AddCommand(create, verify, restore)
	return c
}

// local returns the configuration of the data directory that the flags name. It refuses a folder,
// because its notes are the person's own files and are not in a data directory. It refuses a server
// that --server names, because the backup would be of another machine than the person expects. A
// server in the environment is ignored: it is the default for other commands, and a scheduled job
// should not fail because of it.
func (b *backer) local(c *cobra.Command) (localapp.Config, error) {
	target, cfg, err := connector{b.app}.local(c)
	if err != nil {
		return cfg, err
	}
	if cfg.Folder != "" {
		return cfg, fault.New(fault.InvalidParameter, "a backup needs a data directory, not a "+
			"served folder").Fix("--data DIR")
	}
	if from := target.From["server"]; target.Server != "" && !target.InEnvironment("server") {
		return cfg, fault.New(fault.InvalidParameter, "a backup needs a directory on this "+
			"machine, but %s names a server",
			from).Fix("run it where the server runs: rookery backup create FILE --data DIR")
	}
	cfg.Version = version()
	return cfg, nil
}

// create writes a backup of an existing data directory to a new file. Without the check by exists,
// a wrong --data would produce a valid backup of a new, empty directory.
func (b *backer) create(c *cobra.Command, args []string) error {
	cfg, err := b.local(c)
	if err == nil {
		err = exists(cfg)
	}
	if err != nil {
		return err
	}
	m, err := localapp.CreateBackup(c.Context(), cfg, args[0])
	if err != nil {
		return err
	}
	return b.tell(c, said(args[0], m), "backed up")
}

// verify compares the files in a backup with their digests. It changes nothing.
func (b *backer) verify(c *cobra.Command, args []string) error {
	m, err := localapp.VerifyBackup(c.Context(), args[0])
	if err != nil {
		return err
	}
	return b.tell(c, said(args[0], m), "the backup is complete:")
}

// restore creates a data directory from a backup. The directory is checked before it gets its name,
// so a backup with a failure in it creates none; the findings of the check are part of the answer.
func (b *backer) restore(c *cobra.Command, args []string) error {
	cfg, err := b.local(c)
	if err != nil {
		return err
	}
	m, found, err := localapp.RestoreBackup(c.Context(), args[0], cfg.Data)
	if err != nil {
		return err
	}
	all := said(args[0], m)
	all.Data, all.Checks = cfg.Data, found
	return b.tell(c, all, "restored and checked")
}

// said returns the answer about a backup file from its manifest.
func said(file string, m *backup.Manifest) backedUp {
	return backedUp{File: file, Files: len(m.Files), Bytes: m.Bytes(), Created: m.Created, Release: m.Release}
}

// tell prints the answer. done is the beginning of the sentence for people, which continues with
// the number of files.
func (b *backer) tell(c *cobra.Command, all backedUp, done string) error {
	text := fmt.Sprintf("%s %d files, %d bytes, as of %s\n", done, all.Files, all.Bytes,
		all.Created.Format(time.RFC3339))
	return b.app.Finish(c, clitool.Outcome{Data: all, Text: text})
}
