package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

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
