package team

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/tool"
)

//go:embed tenant_export.md
var tenantExportDoc string

// The files of an export that belong to no vault.
const (
	tenantFile = "tenant.json"
	auditFiles = "audit.jsonl"
)

// mostAudited is how many entries of the audit one answer has.
const mostAudited = 200

type tenantExportIn struct {
	PageToken string `json:"page_token,omitempty" means:"token" size:"token" jsonschema:"meta.next_page_token of the page before"`
}

type tenantExportOut struct {
	tool.Aside `json:"-"`
	Files      []exportFile `json:"files"`
}

// An exportFile is one file of an export, or a piece of one.
type exportFile struct {
	Path string `json:"path" jsonschema:"tenant.json, audit.jsonl, or a path under vaults/NAME/"`
	Text string `json:"text"`
	Part int    `json:"part,omitempty" jsonschema:"for a file in several pieces: the number of this piece, from 1; concatenate them"`
}

func (f tools) tenantExport() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_tenant_export", Family: Family, Title: "Export a tenant", Doc: tenantExportDoc,
		Role: auth.Admin, Kind: tool.Read, Tenant: true,
		Route:    tool.Route{Method: "GET", Path: "/tenant/contents"},
		Commands: []tool.Command{{Words: "tenant export"}},
		Output:   &tool.Files{Arg: "files"},
	}, f.exportTenant)
}

// An exportAt is where the next page of an export begins: in the first of these whose member says so.
type exportAt struct {
	Began   time.Time       `json:"t"`           // nothing younger is in the audit
	Tenant  uint64          `json:"s"`           // version of the tenant
	From    int             `json:"f,omitempty"` // bytes of tenant.json that the pages before have
	Audit   *audit.Position `json:"a,omitempty"` // the entry before; nil: the audit is done, or has not begun
	Part    int             `json:"n,omitempty"` // of audit.jsonl, that comes next; 0: it is done
	Vault   string          `json:"v,omitempty"` // the vault that comes next, or is under way
	Version uint64          `json:"w,omitempty"` // of it; 0: none of it was exported yet
	After   string          `json:"k,omitempty"` // the key behind which its next page begins
	Noted   bool            `json:"m,omitempty"` // all of its notes are exported: its memories come next
	Lines   int             `json:"l,omitempty"` // of its memories that the pages before have
	Piece   int             `json:"p,omitempty"` // of the file of its memories that was exported last
}

// A tenantExporting fills one page.
type tenantExporting struct {
	team  *team.Team
	state *team.State
	at    exportAt
	out   *tenantExportOut
	more  bool
}

func (f tools) exportTenant(
	ctx context.Context, c auth.Caller, in tenantExportIn,
) (tenantExportOut, error) {
	out := tenantExportOut{Files: []exportFile{}}
	t, s, seq, err := f.state(ctx, c)
	if err != nil {
		return out, err
	}
	e := &tenantExporting{team: t, state: s, out: &out, at: exportAt{Began: t.Now(), Tenant: seq}}
	page := e.tenant
	if in.PageToken != "" {
		if page, err = e.resume(in.PageToken, seq); err != nil {
			return out, err
		}
	}
	if err := page(ctx); err != nil {
		return tenantExportOut{}, err
	}
	out.Note("version", repo.Version(e.at.Tenant))
	out.Note("count", len(out.Files))
	if !e.more {
		return out, nil
	}
	next, err := json.Marshal(e.at)
	out.Note("has_more", true)
	out.Note("next_page_token", tool.Token(string(next)))
	return out, err
}

// resume reads a page token, and returns what fills its page.
func (e *tenantExporting) resume(token string, seq uint64) (func(context.Context) error, error) {
	text, err := tool.ReadToken("page_token", token, Family)
	if err != nil {
		return nil, err
	}
	if json.Unmarshal([]byte(text), &e.at) != nil {
		return nil, badPlace()
	}
	switch {
	case e.at.From > 0 && e.at.Tenant != seq:
		return nil, fault.New(fault.Conflict, "the tenant changed while it was exported").
			Fix("begin the export again")
	case e.at.From > 0:
		return e.tenant, nil
	case e.at.Part > 0:
		return e.audit, nil
	}
	return e.vault, nil
}

// tenant adds a piece of tenant.json.
func (e *tenantExporting) tenant(context.Context) error {
	text, err := e.described()
	if err != nil {
		return err
	}
	from := min(e.at.From, len(text))
	piece := text[from:min(len(text), from+maxExport)]
	e.add(tenantFile, piece, from/maxExport+1)
	if e.at.From = from + len(piece); e.at.From >= len(text) {
		e.at.From, e.at.Part = 0, 1
	}
	e.more = true
	return nil
}

// described is what tenant.json says: everything that the tenant's log knows but secrets, which it does not know.
// It is ASCII, so that it can be cut anywhere.
func (e *tenantExporting) described() ([]byte, error) {
	all := struct {
		Tenant  string       `json:"tenant"`
		Version string       `json:"version"`
		Vaults  []*vaultRow  `json:"vaults"`
		Members []*memberRow `json:"members"`
		Issuers []*issuerRow `json:"issuers"`
		Tokens  []TokenRow   `json:"tokens"`
	}{
		Tenant: e.team.Name(), Version: repo.Version(e.at.Tenant),
		Vaults: []*vaultRow{}, Members: []*memberRow{}, Issuers: []*issuerRow{}, Tokens: []TokenRow{},
	}
	for _, v := range e.state.Vaults() {
		all.Vaults = append(all.Vaults, entryRow(v))
	}
	for _, m := range e.state.Members() {
		all.Members = append(all.Members, rowOfMember(m))
	}
	for _, i := range e.state.Issuers() {
		all.Issuers = append(all.Issuers, rowOfIssuer(e.team, i))
	}
	for _, t := range e.state.Tokens() {
		all.Tokens = append(all.Tokens, rowOfToken(t, e.at.Began, time.Time{}))
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", tenantFile, err)
	}
	return ascii(append(text, '\n')), nil
}

// ascii is JSON with every other character escaped.
func ascii(text []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case r < 0x80:
			b.WriteByte(byte(r))
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b.Bytes()
}

// audit adds a piece of the audit, newest first.
func (e *tenantExporting) audit(ctx context.Context) error {
	var after audit.Position
	if e.at.Audit != nil {
		after = *e.at.Audit
	}
	var lines []byte
	var page audit.Page
	for limit := mostAudited; ; {
		var err error
		page, err = audit.List(ctx, e.team, audit.Query{Until: e.at.Began}, limit, after)
		if err != nil {
			return err
		}
		var fit int
		if lines, fit, err = auditLines(page.Entries); err != nil {
			return err
		}
		if fit == len(page.Entries) || limit == 1 {
			break
		}
		limit = max(1, fit)
	}
	if len(lines) > 0 || e.at.Part == 1 {
		e.add(auditFiles, lines, e.at.Part)
		e.at.Part++
	}
	if e.more = true; page.More {
		e.at.Audit = &page.Next
		return nil
	}
	e.at.Audit, e.at.Part = nil, 0
	e.at.Vault, e.more = e.following("")
	return nil
}

// auditLines are entries, each on a line, and how many of them fit into an answer.
func auditLines(entries []audit.Entry) (lines []byte, fit int, err error) {
	for i, entry := range entries {
		line, err := json.Marshal(entry)
		if err != nil {
			return nil, 0, fmt.Errorf("write an entry: %w", err)
		}
		if lines = append(append(lines, line...), '\n'); len(lines) <= maxExport {
			fit = i + 1
		}
	}
	return lines, fit, nil
}

// following is the active vault behind a name, if there is one.
func (e *tenantExporting) following(name string) (string, bool) {
	for _, v := range e.state.Vaults() {
		if v.Status == repo.Active && v.Name > name {
			return v.Name, true
		}
	}
	return "", false
}

// vault adds a page of a vault, as it was at the version at which its first page was read.
func (e *tenantExporting) vault(ctx context.Context) error {
	v, err := e.team.Vault(ctx, e.at.Vault)
	if fault.Is(err, fault.NotFound) { // it went while the tenant was exported
		e.next()
		return nil
	}
	if err != nil {
		return err
	}
	if e.at.Noted {
		if e.more, err = e.memories(ctx, v); err == nil && !e.more {
			e.next()
		}
		return err
	}
	x := export{vault: v, out: &vaultExportOut{Notes: []exportNote{}}, at: e.at.Version}
	if err := x.page(ctx, e.at.After); err != nil {
		return err
	}
	e.at.Version = x.at
	for _, n := range x.out.Notes {
		e.out.Files = append(e.out.Files, exportFile{
			Path: "vaults/" + e.at.Vault + "/" + n.Path, Text: n.Text, Part: n.Part,
		})
	}
	if e.at.After, e.more = x.next, true; x.next != "" {
		return nil
	}
	if e.at.Noted, err = e.remembers(ctx, v); err == nil && !e.at.Noted {
		e.next()
	}
	return err
}

// next goes on to the next vault.
func (e *tenantExporting) next() {
	e.at.Vault, e.more = e.following(e.at.Vault)
	e.at.Version, e.at.After, e.at.Noted, e.at.Lines, e.at.Piece = 0, "", false, 0, 0
}

func (e *tenantExporting) add(path string, text []byte, part int) {
	e.out.Files = append(e.out.Files, exportFile{
		Path: path, Text: strings.ToValidUTF8(string(text), "\uFFFD"), Part: part,
	})
}
