package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/backup"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/vault"
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

// A pathCommand is the command that prints the folder of a vault's notes, for use in scripts and
// editors. It opens no database and needs no lock, so it works beside a server.
type pathCommand struct{ app *clitool.App }

func (p *pathCommand) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "path",
		Short: "Show the folder of a vault's notes on this machine",
		Long: "Show the path of the notes of a vault in the local data directory, or of a " +
			"folder that is itself the\nvault (--vault DIR). A vault on a server has no folder " +
			"here.",
		Example: "rookery path --vault notes\ncd \"$(rookery path --vault ./notes)\"",
		Args:    cobra.NoArgs,
		RunE:    p.run,
	}
	clitool.Uses(c, "data", "vault", "json", "bare", "envelope")
	return c
}

// run prints the absolute path of the folder. For a vault on a server it returns INVALID_PARAMETER,
// with the command that exports the notes as a fix.
func (p *pathCommand) run(c *cobra.Command, _ []string) error {
	n := connector{p.app}
	t, err := p.app.Target(c)
	if err != nil {
		return err
	}
	server, err := n.server(t)
	if err != nil {
		return err
	}
	if server != "" {
		return fault.New(fault.InvalidParameter, "the vault is on a server and has no folder on "+
			"this machine").
			Fix("name a local data directory: --data DIR").Fix("read its notes: rookery vault export DIR")
	}
	dir, err := n.notesOf(t)
	if err != nil {
		return err
	}
	return p.app.Finish(c, clitool.Outcome{Data: map[string]any{"path": dir}, Text: dir + "\n"})
}

// notesOf returns the absolute path of the folder of a local vault's notes. For a folder that is
// itself a vault, it is that folder. For a data directory, it is tenants/local/vaults/NAME/notes,
// so the name of the vault must be known; there is no default vault here. The folder must exist:
// NOT_FOUND otherwise. The name is checked before it becomes part of a path.
func (n connector) notesOf(t clitool.Target) (string, error) {
	if t.Folder != "" {
		dir, err := filepath.Abs(t.Folder)
		if err == nil {
			_, err = os.Stat(dir)
		}
		if err != nil {
			return "", fault.New(fault.NotFound, "there is no such folder").Because(err)
		}
		return dir, nil
	}
	if t.Vault == "" {
		return "", fault.New(fault.MissingRequired, "no vault is named").With("argument", "vault").
			Fix("name one: --vault NAME, or set ROOKERY_VAULT").Fix("list the vaults: rookery vault list")
	}
	if err := vault.CheckName(t.Vault); err != nil {
		return "", err
	}
	data, err := n.dataDir(t.Data)
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(filepath.Join(data, "tenants", auth.Local, "vaults", t.Vault, "notes"))
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return "", fault.New(fault.NotFound, "no vault %q has notes in this data directory", t.Vault).
			Fix("list the vaults: rookery vault list").Because(err)
	}
	return dir, nil
}
