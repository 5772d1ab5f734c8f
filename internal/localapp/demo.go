package localapp

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// demo contains the notes of the demo vault.
//
//go:embed demo
var demo embed.FS

// demoVault is the name of the demo vault.
const demoVault = "demo"

// Demo creates the vault `demo` with its notes if the tenant has no vault. If the demo vault exists
// but has no notes, because an earlier process ended in between, it adds them. It calls the tools
// that an agent would call, so the vault has an ordinary history.
func (a *App) Demo(ctx context.Context) error {
	ctx = auth.WithCaller(ctx, auth.LocalCaller())
	empty, err := a.emptyDemo(ctx)
	if err != nil || !empty {
		return err
	}
	notes, err := demoNotes()
	if err != nil {
		return err
	}
	args, err := json.Marshal(map[string]any{"vault": demoVault, "mode": "skip", "notes": notes})
	if err != nil {
		return err
	}
	_, err = a.Catalogue.Invoke(ctx, "team_vault_import", args)
	return err
}

// emptyDemo reports whether there is a demo vault without commits after its first one. It creates
// the demo vault if the tenant has no vault. A demo vault in the trash stays there: a person who
// has deleted it does not want it.
func (a *App) emptyDemo(ctx context.Context) (bool, error) {
	names, err := access.NewDirectory(a.teams).Vaults(ctx, auth.LocalCaller(), true)
	if err != nil {
		return false, err
	}
	if len(names) == 0 {
		args := json.RawMessage(`{"name":"` + demoVault + `"}`)
		_, err = a.Catalogue.Invoke(ctx, "team_vault_create", args)
		if fault.Is(err, fault.DuplicateID) {
			return false, nil
		}
		return err == nil, err
	}
	if len(names) > 1 || names[0] != demoVault {
		return false, nil
	}
	t, err := a.teams.Tenant(ctx, auth.Local)
	if err != nil {
		return false, err
	}
	v, err := t.Vault(ctx, demoVault)
	if err != nil {
		return false, err
	}
	idx, err := v.Read(ctx)
	return err == nil && idx.Version() <= 1, err
}

// demoNotes returns the files of the demo vault as arguments of team_vault_import: their paths and
// texts, in the order of the paths.
func demoNotes() ([]map[string]string, error) {
	files, err := fs.Sub(demo, "demo")
	if err != nil {
		return nil, err
	}
	var notes []map[string]string
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		notes = append(notes, map[string]string{"path": path, "text": string(text)})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the demo vault: %w", err)
	}
	return notes, nil
}
