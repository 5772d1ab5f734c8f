package team

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/tool"
	"rookery/internal/vault"
)

//go:embed vault_export.md
var vaultExportDoc string

// maxExport is how many bytes of text one answer holds: with their escapes they stay below 4 MiB.
const maxExport = 2 << 20

// maxCommits is how many commits of the log one answer goes through for the audit log: each has to
// be read with its texts.
const maxCommits = 1000

type vaultExportIn struct {
	tool.Vault
	PageToken string `json:"page_token,omitempty" jsonschema:"meta.next_page_token of the page before"`
}

type vaultExportOut struct {
	tool.Aside `json:"-"`
	Notes      []exportNote `json:"notes"`
}

// An exportNote is one file of a vault, or a piece of one.
type exportNote struct {
	Path    string `json:"path"`
	Text    string `json:"text"`
	Version string `json:"version"`
	Part    int    `json:"part,omitempty" jsonschema:"of a file in several pieces: which this is, from 1; put them one behind the other"`
}

func (f tools) vaultExport() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_vault_export", Family: Family, Title: "Export notes", Doc: vaultExportDoc,
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/vaults/{vault}/contents"},
		Commands: []tool.Command{{Words: "vault export"}},
		Output:   &tool.Files{Arg: "notes"},
	}, f.exportVault)
}

// auditToken begins the key of a page that begins in the audit log, behind every file.
const auditToken = "\xffaudit:"

func (f tools) exportVault(
	ctx context.Context, c auth.Caller, in vaultExportIn,
) (vaultExportOut, error) {
	after, err := tool.ReadToken(in.PageToken, Family)
	if err != nil {
		return vaultExportOut{}, err
	}
	v, err := f.vault(ctx, c, in.Vault.Vault)
	if err != nil {
		return vaultExportOut{}, err
	}
	e := export{vault: v, out: &vaultExportOut{Notes: []exportNote{}}}
	if rest, inAudit := strings.CutPrefix(after, auditToken); inAudit {
		err = e.audit(ctx, rest)
	} else {
		err = e.files(ctx, after)
	}
	return *e.out, err
}

// An export fills one page.
type export struct {
	vault *repo.Vault
	out   *vaultExportOut
	size  int
}

// files adds the files behind a path, and the audit log behind them all.
func (e *export) files(ctx context.Context, after string) error {
	idx, err := e.vault.Read(ctx)
	if err != nil {
		return err
	}
	e.out.Note("version", repo.Version(idx.Version()))
	last := after
	for f := range idx.FilesAfter(after) {
		if vault.Path(f.Path).Kind() == vault.KindAudit || strings.HasPrefix(f.Path, vault.Trash) {
			continue // its lines are part of the vault's own; and what was deleted is no file
		}
		if e.size+f.Size > maxExport && len(e.out.Notes) > 0 {
			e.more(last)
			return nil
		}
		text, err := e.vault.Text(ctx, f.Body)
		if err != nil {
			return err
		}
		e.add(exportNote{Path: f.Path, Text: string(text), Version: repo.Version(f.Version)})
		last = f.Path
	}
	if e.size > 0 {
		e.more(auditToken + "1 0 0")
		return nil
	}
	return e.audit(ctx, "1 0 0")
}

// audit adds pieces of the audit log, from a place on: the number of the next piece, the commit
// whose lines come next, and the vault's version when the log was begun, which all pages keep to.
func (e *export) audit(ctx context.Context, place string) error {
	var part int
	var from, version uint64
	if _, err := fmt.Sscanf(place, "%d %d %d", &part, &from, &version); err != nil {
		return fault.New(fault.InvalidParameter, "page_token is not one that an answer gave").
			With("argument", "page_token")
	}
	if version == 0 {
		idx, err := e.vault.Read(ctx)
		if err != nil {
			return err
		}
		version = idx.Version()
	}
	e.out.Note("version", repo.Version(version))
	var text []byte
	for c, err := range e.vault.Commits(ctx, from) {
		if err != nil {
			return err
		}
		if c.Seq > version {
			break
		}
		lines := repo.AuditLines(c)
		full := len(text) > 0 && len(text)+len(lines) > maxExport
		if full || c.Seq-from >= maxCommits {
			next := part
			if len(text) > 0 {
				next++
			}
			e.more(fmt.Sprintf("%s%d %d %d", auditToken, next, c.Seq, version))
			break
		}
		text = append(text, lines...)
	}
	if len(text) > 0 {
		e.add(exportNote{
			Path: vault.AuditLog, Text: string(text), Version: repo.Version(version), Part: part,
		})
	}
	return nil
}

func (e *export) add(n exportNote) {
	e.out.Notes = append(e.out.Notes, n)
	e.size += len(n.Text)
	e.out.Note("count", len(e.out.Notes))
}

func (e *export) more(after string) {
	e.out.Note("has_more", true)
	e.out.Note("next_page_token", tool.Token(after))
}
