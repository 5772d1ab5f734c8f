package team

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/index"
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
	PageToken string `json:"page_token,omitempty" size:"token" jsonschema:"meta.next_page_token of the page before"`
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

// firstAudit is the place where the audit log begins.
func firstAudit() auditPlace { return auditPlace{part: 1, from: 1} }

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
	err = e.page(ctx, after)
	if e.next != "" {
		e.out.Note("has_more", true)
		e.out.Note("next_page_token", tool.Token(e.next))
	}
	return *e.out, err
}

// An export fills one page.
type export struct {
	vault *repo.Vault
	out   *vaultExportOut
	at    uint64 // the version that is exported; 0: the newest, which it is then
	next  string // the key behind which the next page begins; empty: this is the last
	size  int
}

// page adds what comes behind a key.
func (e *export) page(ctx context.Context, after string) error {
	if rest, inAudit := strings.CutPrefix(after, auditToken); inAudit {
		return e.audit(ctx, rest)
	}
	return e.files(ctx, after)
}

// read is the vault at the version that is exported.
func (e *export) read(ctx context.Context) (*index.Index, error) {
	if e.at > 0 {
		return e.vault.At(ctx, e.at)
	}
	idx, err := e.vault.Read(ctx)
	if err == nil {
		e.at = idx.Version()
	}
	return idx, err
}

// files adds the files behind a path, and the audit log behind them all.
func (e *export) files(ctx context.Context, after string) error {
	idx, err := e.read(ctx)
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
		n := exportNote{Path: f.Path, Text: string(text), Version: repo.Version(f.Version)}
		if !e.out.Fits(n) && len(e.out.Notes) > 0 { // control characters take six bytes each
			e.more(last)
			return nil
		}
		e.add(n)
		last = f.Path
	}
	if e.size > 0 {
		e.more(auditToken + firstAudit().String())
		return nil
	}
	return e.audit(ctx, firstAudit().String())
}

// An auditPlace is where in the audit log a page begins.
type auditPlace struct {
	part    int    // the number of the piece
	from    uint64 // the commit whose lines come next
	skip    int    // bytes of these lines that the pages before have
	version uint64 // the vault's when the log was begun, which all pages keep to; 0: as it is now
}

func (p auditPlace) String() string {
	return fmt.Sprintf("%d %d %d %d", p.part, p.from, p.skip, p.version)
}

// readAuditPlace reads what String wrote.
func readAuditPlace(text string) (auditPlace, error) {
	var p auditPlace
	_, err := fmt.Sscanf(text, "%d %d %d %d", &p.part, &p.from, &p.skip, &p.version)
	if err != nil || p.skip < 0 {
		return p, fault.New(fault.InvalidParameter, "page_token is not one that an answer gave").
			With("argument", "page_token")
	}
	return p, nil
}

// audit adds a piece of the audit log, from a place on.
func (e *export) audit(ctx context.Context, place string) error {
	at, err := readAuditPlace(place)
	if err != nil {
		return err
	}
	if at.version == 0 {
		idx, err := e.read(ctx)
		if err != nil {
			return err
		}
		at.version = idx.Version()
	}
	e.out.Note("version", repo.Version(at.version))
	text, next, err := e.lines(ctx, at)
	if err != nil {
		return err
	}
	if len(text) > 0 {
		e.add(exportNote{
			Path: vault.AuditLog, Text: string(text), Version: repo.Version(at.version),
			Part: at.part,
		})
		next.part++
	}
	if next.from <= at.version {
		e.more(auditToken + next.String())
	}
	return nil
}

// lines are those of the audit log from a place on, as many as a page holds, and the place behind them.
// The lines of one commit may be more than that: it may have a thousand notes.
func (e *export) lines(ctx context.Context, at auditPlace) ([]byte, auditPlace, error) {
	var text []byte
	next := at
	for c, err := range e.vault.Commits(ctx, at.from) {
		if err != nil {
			return nil, at, err
		}
		if next.from = c.Seq; c.Seq > at.version || c.Seq-at.from >= maxCommits {
			return text, next, nil
		}
		lines := repo.AuditLines(c)
		lines = lines[min(next.skip, len(lines)):]
		n := fitting(lines, maxExport-len(text))
		text = append(text, lines[:n]...)
		if n < len(lines) {
			next.skip += n
			return text, next, nil
		}
		next.from, next.skip = c.Seq+1, 0
	}
	return text, next, nil
}

// fitting is how many bytes of a text fit into so much room: whole lines or, of one that is longer than
// a page, whole characters.
func fitting(text []byte, room int) int {
	if len(text) <= room {
		return len(text)
	}
	if end := bytes.LastIndexByte(text[:room], '\n'); end >= 0 || room < maxExport {
		return end + 1
	}
	for room > 0 && !utf8.RuneStart(text[room]) {
		room--
	}
	return room
}

func (e *export) add(n exportNote) {
	e.out.Notes = append(e.out.Notes, n)
	e.size += len(n.Text)
	e.out.Note("count", len(e.out.Notes))
}

func (e *export) more(after string) { e.next = after }
