package team

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// The names of the files of an export that belong to no vault. The files of a vault are below the
// folder vaults/NAME/.
const (
	tenantFile = "tenant.json"
	auditFiles = "audit.jsonl"
)

// mostAudited is the maximum number of audit entries in one answer. If their lines are too long for
// an answer, fewer are read.
const mostAudited = 200

// A tenantExportIn is the input of team_tenant_export. Everything is exported, so it has only the
// token of the page.
type tenantExportIn struct {
	// meta.next_page_token of the page before
	PageToken string `json:"page_token,omitempty" means:"token" size:"token"`
}

// A tenantExportOut is the output of team_tenant_export: one page of files.
type tenantExportOut struct {
	tool.Aside `json:"-"`
	Files      []exportFile `json:"files"`
}

// An exportFile is one file of an export, or one part of a file.
type exportFile struct {
	// tenant.json, audit.jsonl, or a path under vaults/NAME/
	Path string `json:"path"`
	Text string `json:"text"`
	// for a file in several pieces: the number of this piece, from 1; concatenate them
	Part int `json:"part,omitempty"`
}

// tenantExport returns the tool that exports everything of the tenant, in pages. With the files of
// all pages, another installation can be filled: notes with team_vault_import, memories with
// memory_import.
func (f tools) tenantExport() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_tenant_export", Family: Family, Title: "Export a tenant",
		Role: auth.Admin, Kind: tool.Read, Tenant: true,
		Route:    tool.Route{Method: "GET", Path: "/tenant/contents"},
		Commands: []tool.Command{{Words: "tenant export"}},
		Output:   &tool.Files{Arg: "files"},
	}, f.exportTenant)
}

// An exportPosition is the position at which the next page of an export begins, and the content of
// the page token, as JSON. The parts of an export follow each other in this order: tenant.json
// (From), the audit entries (Part), and the vaults (Vault).
//
// Each vault is exported at one version, that of its first page, but the vaults are not exported at
// the same time. The names of the members are short because the token is repeated in each call.
type exportPosition struct {
	Began   time.Time       `json:"t"`           // time of the first page; later entries are omitted
	Tenant  uint64          `json:"s"`           // version of the tenant
	From    int             `json:"f,omitempty"` // bytes of tenant.json in the earlier pages
	Audit   *audit.Position `json:"a,omitempty"` // the last exported entry; nil: none, or all are done
	Part    int             `json:"n,omitempty"` // the next part of audit.jsonl; 0: it is done
	Vault   string          `json:"v,omitempty"` // the vault that is exported now or next
	Version uint64          `json:"w,omitempty"` // exported version of Vault; 0: none yet
	After   string          `json:"k,omitempty"` // key after which the next page of Vault begins
	Noted   bool            `json:"m,omitempty"` // the notes of Vault are done; its memories follow
	Lines   int             `json:"l,omitempty"` // lines of its memories in the earlier pages
	Piece   int             `json:"p,omitempty"` // number of the last exported part of its memories
}

// A tenantExporter builds one page of an export. Each of its methods tenant, audit and vault adds
// one page of its part, moves the position, and sets more.
type tenantExporter struct {
	team  *tenant.Tenant
	state *tenant.State  // the tenant when the page is built
	at    exportPosition // position of the next content
	out   *tenantExportOut
	more  bool // another page follows
}

// exportTenant returns one page of everything that the tenant owns. A page token contains all state
// of the export; the server keeps none. So a page can be requested again after a failure, also from
// another process.
func (f tools) exportTenant(
	ctx context.Context, c auth.Caller, in tenantExportIn,
) (tenantExportOut, error) {
	out := tenantExportOut{Files: []exportFile{}}
	t, s, seq, err := f.state(ctx, c)
	if err != nil {
		return out, err
	}
	e := &tenantExporter{team: t, state: s, out: &out, at: exportPosition{Began: t.Now(), Tenant: seq}}
	page := e.tenant
	if in.PageToken != "" {
		if page, err = e.resume(in.PageToken, seq); err != nil {
			return out, err
		}
	}
	if err := page(ctx); err != nil {
		return tenantExportOut{}, err
	}
	out.Note("version", eventlog.Version(e.at.Tenant))
	out.Note("count", len(out.Files))
	if !e.more {
		return out, nil
	}
	next, err := json.Marshal(e.at)
	out.Note("has_more", true)
	out.Note("next_page_token", tool.Token(string(next)))
	return out, err
}

// resume reads a page token and returns the function that builds its page. It returns CONFLICT if
// the tenant changed while tenant.json was exported in parts, and INVALID_PARAMETER for a token
// that no export returned. A caller can forge a token, but it can reach nothing that an honest one
// does not: the tool requires an admin of all vaults.
func (e *tenantExporter) resume(token string, seq uint64) (func(context.Context) error, error) {
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

// tenant adds a part of tenant.json. The text is generated again for each part and cut at fixed
// positions, which is why the tenant must not change in between. After its last part, the audit
// entries follow on the next page.
func (e *tenantExporter) tenant(context.Context) error {
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

// described returns tenant.json: everything in the tenant's log, which contains no secrets. The
// text is ASCII, so that it can be split at any byte. Vaults in the trash are listed, but their
// notes are not exported. The times of the last use of tokens are not in the log, and omitted.
func (e *tenantExporter) described() ([]byte, error) {
	all := struct {
		Tenant  string       `json:"tenant"`
		Version string       `json:"version"`
		Vaults  []*vaultRow  `json:"vaults"`
		Members []*memberRow `json:"members"`
		Issuers []*issuerRow `json:"issuers"`
		Tokens  []TokenRow   `json:"tokens"`
	}{
		Tenant: e.team.Name(), Version: eventlog.Version(e.at.Tenant),
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

// ascii returns a JSON text with every character outside ASCII escaped. Such characters can only be
// inside strings, where JSON allows \u escapes; one above U+FFFF becomes a pair of surrogates.
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

// audit adds a part of the audit entries, newest first. If the entries do not fit into an answer,
// it reads fewer. Entries since the start of the export are omitted, so that the export itself does
// not extend the list that it reads.
//
// The file has at least one part, so an export of a tenant without entries contains it too. After
// the last part, the position is the first active vault.
//
// The limit shrinks to the number of entries that fit, and the page is read again, so that the
// position after it is that of its last entry. A single entry is added even if it is larger than
// maxExport.
func (e *tenantExporter) audit(ctx context.Context) error {
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

// auditLines returns all entries as lines of JSON. fit is the number of leading entries whose lines
// have at most maxExport bytes together. It is 0 if already the first line is longer.
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

// following returns the name of the first active vault after name, in the order of names. ok is
// false if there is none. A vault that was created during the export is included if its name
// follows.
func (e *tenantExporter) following(name string) (string, bool) {
	for _, v := range e.state.Vaults() {
		if v.Status == eventlog.Active && v.Name > name {
			return v.Name, true
		}
	}
	return "", false
}

// vault adds a page of the current vault, at the version at which its first page was read: first
// its notes and audit log, then its memories. A vault that was deleted during the export is
// skipped. The pages of notes are those of team_vault_export, with other paths.
//
// After the notes it looks whether the vault has memories. If not, it moves on, so that there is no
// page without a file for them.
func (e *tenantExporter) vault(ctx context.Context) error {
	v, err := e.team.Vault(ctx, e.at.Vault)
	if fault.Is(err, fault.NotFound) { // deleted during the export
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

// next moves the position to the next vault, or ends the export if there is none.
func (e *tenantExporter) next() {
	e.at.Vault, e.more = e.following(e.at.Vault)
	e.at.Version, e.at.After, e.at.Noted, e.at.Lines, e.at.Piece = 0, "", false, 0, 0
}

// add adds one file or part to the page. Invalid UTF-8 is replaced by U+FFFD, because an answer is
// JSON. Only tenant.json and JSON lines are added here, and these are valid already.
func (e *tenantExporter) add(path string, text []byte, part int) {
	e.out.Files = append(e.out.Files, exportFile{
		Path: path, Text: strings.ToValidUTF8(string(text), "\uFFFD"), Part: part,
	})
}

// memoriesFile is the name of the file with the memories of a vault, in the format of
// memory_export. It is split into parts at line ends, so each part can be imported alone, in order.
const memoriesFile = "memories.jsonl"

// memories adds a part of the memories of the current vault, at the version of its exported notes.
// It reports whether more parts follow. The position in the file is the number of lines of the
// earlier parts, which are skipped without being read again. A line that alone exceeds the limit is
// a part of its own.
func (e *tenantExporter) memories(ctx context.Context, v *repo.Vault) (more bool, err error) {
	if e.at.Version == 0 {
		return false, badPlace()
	}
	idx, err := v.At(ctx, e.at.Version)
	if err != nil {
		return false, err
	}
	var lines []byte
	for item, err := range v.MemoryLines(ctx, idx.Memories(), e.at.Lines) {
		if err != nil {
			return false, err
		}
		line, err := json.Marshal(item)
		if err != nil {
			return false, fmt.Errorf("write an item of %s: %w", memoriesFile, err)
		}
		if more = len(lines) > 0 && len(lines)+len(line) > maxExport; more {
			break
		}
		lines = append(append(lines, line...), '\n')
		e.at.Lines++
	}
	if len(lines) > 0 {
		e.at.Piece++
		e.add("vaults/"+e.at.Vault+"/"+memoriesFile, lines, e.at.Piece)
	}
	return more, nil
}

// remembers reports whether the current vault has memories, at the version of its exported notes.
// It reads at most one line.
func (e *tenantExporter) remembers(ctx context.Context, v *repo.Vault) (bool, error) {
	idx, err := v.At(ctx, e.at.Version)
	if err != nil {
		return false, err
	}
	for _, err := range v.MemoryLines(ctx, idx.Memories(), 0) {
		return true, err
	}
	return false, nil
}
