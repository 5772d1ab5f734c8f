package localapp

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"

	"rookery/internal/auth"
	"rookery/internal/fault"
)

// demo is the vault that a newcomer tries things on.
//
//go:embed demo
var demo embed.FS

// Demo makes the vault `demo`, if the tenant has no vault at all.
func (a *App) Demo(ctx context.Context) error {
	ctx = auth.WithCaller(ctx, auth.LocalCaller())
	names, err := a.vaults(ctx, auth.LocalCaller())
	if err != nil || len(names) > 0 {
		return err
	}
	notes, err := demoNotes()
	if err != nil {
		return err
	}
	_, err = a.Catalogue.Invoke(ctx, "team_vault_create", json.RawMessage(`{"name":"demo"}`))
	if fault.Is(err, fault.DuplicateID) {
		return nil // it is in the trash: somebody has seen enough of it
	}
	if err != nil {
		return err
	}
	args, err := json.Marshal(map[string]any{"vault": "demo", "mode": "skip", "notes": notes})
	if err != nil {
		return err
	}
	_, err = a.Catalogue.Invoke(ctx, "team_vault_import", args)
	return err
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
