package localapp

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"

	"rookery/internal/access"
	"rookery/internal/auth"
	"rookery/internal/fault"
)

// demo is the vault that a newcomer tries things on.
//
//go:embed demo
var demo embed.FS

// demoVault is its name.
const demoVault = "demo"

// Demo makes the vault `demo`, if the tenant has no vault at all. One that was made, and whose
// notes a crash kept from coming in, gets them now.
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

// emptyDemo reports whether there is a demo vault that nobody ever wrote to, and makes it where
// there is no vault. One that is in the trash stays there: somebody has seen enough of it.
func (a *App) emptyDemo(ctx context.Context) (bool, error) {
	names, err := access.Of(a.teams).Vaults(ctx, auth.LocalCaller(), true)
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
	t, err := a.teams.Team(ctx, auth.Local)
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

// demoNotes are the files of the demo vault, as an import takes them.
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
