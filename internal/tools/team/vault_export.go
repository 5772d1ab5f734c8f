package team

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// maxExport is the maximum number of bytes of text in one answer. An answer has fewer bytes of a
// text whose JSON escapes would make it too large. A single file can exceed maxExport, if the
// answer has room for it.
const maxExport = 2 << 20

// maxLines is the maximum number of bytes of the audit log in one answer. The lines are JSON, of
// which each byte needs at most four bytes in an answer: quotes and backslashes in them are escaped
// again.
const maxLines = 768 << 10

// maxCommits is the maximum number of commits that one answer reads for the audit log, because each
// is read with its texts. A page that ends for this reason can have few lines, or none.
const maxCommits = 1000

// A vaultExportIn is the input of team_vault_export.
type vaultExportIn struct {
	tool.Vault
	// meta.next_page_token of the page before
	PageToken string `json:"page_token,omitempty" means:"token" size:"token"`
}

// A vaultExportOut is the output of team_vault_export: one page. Notes also lists files that are
// not notes, such as settings and schemas.
type vaultExportOut struct {
	tool.Aside `json:"-"`
	Notes      []exportNote `json:"notes"`
}

// An exportNote is one file of a vault, or one part of a file. Version is the commit that last
// changed the file; for the audit log, it is the version of the vault. Part is 0 for a file that is
// not split.
type exportNote struct {
	Path    string `json:"path"`
	Text    string `json:"text"`
	Version string `json:"version"`
	// for a file in several pieces: the number of this piece, from 1; concatenate them
	Part int `json:"part,omitempty"`
}

// vaultExport returns the tool that exports the files of a vault with its audit log, in pages.
func (f tools) vaultExport() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_vault_export", Family: Family, Title: "Export notes",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/vaults/{vault}/contents"},
		Commands: []tool.Command{{Words: "vault export"}},
		Output:   &tool.Files{Arg: "notes"},
	}, f.exportVault)
}

// firstAudit returns the position of the start of the audit log.
func firstAudit() auditPosition { return auditPosition{part: 1, from: 1} }

// auditToken is the prefix of the key of a page that begins in the audit log, which follows all
// files. No path contains its first character, so a key that is a path cannot be mistaken for it.
const auditToken = "\x00audit:"

// exportVault returns one page of the files of a vault and its audit log. All pages are of one
// version: that of the first page, which is in the page tokens.
func (f tools) exportVault(
	ctx context.Context, c auth.Caller, in vaultExportIn,
) (vaultExportOut, error) {
	after, err := tool.ReadToken("page_token", in.PageToken, Family)
	if err != nil {
		return vaultExportOut{}, err
	}
	v, err := f.vault(ctx, c, in.Vault.Vault)
	if err != nil {
		return vaultExportOut{}, err
	}
	e := export{vault: v, out: &vaultExportOut{Notes: []exportNote{}}}
	if e.at, after, err = readExportKey(after); err != nil {
		return *e.out, err
	}
	err = e.page(ctx, after)
	if e.next != "" {
		e.out.Note("has_more", true)
		e.out.Note("next_page_token", tool.Token(exportKey(e.at, e.next)))
	}
	return *e.out, err
}

// exportKey returns the key of a page token: the version of the export, a space, and the position
// at which the page begins.
func exportKey(version uint64, position string) string {
	return eventlog.Version(version) + " " + position
}

// readExportKey is the inverse of exportKey. For the empty key of the first page, the version is 0.
func readExportKey(key string) (version uint64, position string, err error) {
	if key == "" {
		return 0, "", nil
	}
	text, position, _ := strings.Cut(key, " ")
	version, ok := eventlog.ParseVersion(text)
	if !ok || version == 0 || position == "" {
		return 0, "", badPlace()
	}
	return version, position, nil
}

// An export builds one page. at is the version of the first page.
type export struct {
	vault *repo.Vault
	out   *vaultExportOut
	at    uint64 // the exported version; 0: this is the first page, and read sets it to the newest
	next  string // the key after which the next page begins; empty: this is the last page
	size  int    // bytes of text on the page
}

// page adds the content that follows the key after, which is empty for the first page. If another
// page follows, it sets next.
func (e *export) page(ctx context.Context, after string) error {
	if rest, inAudit := strings.CutPrefix(after, auditToken); inAudit {
		return e.audit(ctx, rest)
	}
	return e.files(ctx, after)
}

// read returns the index of the vault at the exported version. A page token of a version that the
// vault does not have is INVALID_PARAMETER.
func (e *export) read(ctx context.Context) (*index.Index, error) {
	if e.at > 0 {
		idx, err := e.vault.At(ctx, e.at)
		if fault.Is(err, fault.NotFound) {
			return nil, badPlace()
		}
		return idx, err
	}
	idx, err := e.vault.Read(ctx)
	if err == nil {
		e.at = idx.Version()
	}
	return idx, err
}

// files adds the files that follow a position and, if the page has no text yet, the audit log after
// them. Otherwise the audit log begins on the next page. Files come in the order of their paths;
// their texts are prefetched up to the size of a page.
//
// The check of the size before a file is read keeps a large file from being read for a page on
// which it has no room.
func (e *export) files(ctx context.Context, after string) error {
	idx, err := e.read(ctx)
	if err != nil {
		return err
	}
	e.out.Note("version", eventlog.Version(idx.Version()))
	at, err := readFilePosition(after)
	if err != nil {
		return err
	}
	e.vault.PrefetchFiles(ctx, exported(idx, at.before), maxExport)
	for f := range exported(idx, at.before) {
		if e.size+f.Size > maxExport && len(e.out.Notes) > 0 {
			e.more(at.String())
			return nil
		}
		full, err := e.file(ctx, f, &at)
		if err != nil {
			return err
		}
		if full {
			e.more(at.String())
			return nil
		}
		at = filePosition{before: f.Path}
	}
	if e.size > 0 {
		e.more(auditToken + firstAudit().String())
		return nil
	}
	return e.audit(ctx, firstAudit().String())
}

// file adds a file, or the rest of it that earlier pages do not contain. full reports that the page
// ended before the end of the file; at is then the position for the next page. It returns CONFLICT
// if the file is no longer that of the earlier parts, because its text was erased meanwhile.
//
// A file that does not fit is not split if the page has other files: it then begins the next page.
// So a file is split only if it is larger than an answer, and all its parts except the last fill a
// page alone.
func (e *export) file(ctx context.Context, f *index.File, at *filePosition) (full bool, err error) {
	if at.version != 0 && (at.path != f.Path || at.version != f.Version) {
		return false, fault.New(fault.Conflict, "%s was erased while it was exported", at.path).
			With("path", at.path).Fix("begin the export again, without page_token")
	}
	data, err := e.vault.Text(ctx, f.Body)
	if err != nil {
		return false, err
	}
	if at.skip > len(data) {
		return false, badPlace()
	}
	text := string(data[at.skip:])
	n := exportNote{Path: f.Path, Text: text, Version: eventlog.Version(f.Version), Part: at.part}
	if e.out.Fits(n) {
		e.add(n)
		return false, nil
	}
	if len(e.out.Notes) > 0 {
		return true, nil
	}
	n.Part = max(n.Part, 1)
	n.Text = text[:e.out.Fitting(text)]
	e.add(n)
	*at = filePosition{
		before: at.before, path: f.Path, version: f.Version, part: n.Part + 1, skip: at.skip + len(n.Text),
	}
	return true, nil
}

// A filePosition is the position in the files at which a page begins: after a path or, if a file is
// larger than a page, inside the file that follows. Escapes can make a file that large: each
// control character needs seven bytes in an answer.
//
// A position inside a file contains the version of the file, because the number of bytes has a
// meaning only for the text of that version.
type filePosition struct {
	before  string // the page begins after this path; empty: at the first file
	path    string // the file in which the page begins; empty: it begins with a whole file
	version uint64 // of this file, the same for all its parts
	part    int    // number of the part
	skip    int    // bytes of the file in the earlier pages
}

// insideToken is the prefix of the key of a page that begins inside a file. Its first character is
// in no path.
const insideToken = "\x00inside:"

// String returns the position as the key of a page token: the path after which the page begins or,
// inside a file, insideToken and all fields.
func (p filePosition) String() string {
	if p.version == 0 {
		return p.before
	}
	return fmt.Sprintf("%s%d %d %d %q %q", insideToken, p.part, p.skip, p.version, p.before, p.path)
}

// readFilePosition parses the output of filePosition.String. It returns INVALID_PARAMETER for other
// texts that begin with insideToken. Any other text is a path, which does not have to exist any
// more.
func readFilePosition(text string) (filePosition, error) {
	rest, inside := strings.CutPrefix(text, insideToken)
	if !inside {
		return filePosition{before: text}, nil
	}
	var p filePosition
	_, err := fmt.Sscanf(rest, "%d %d %d %q %q", &p.part, &p.skip, &p.version, &p.before, &p.path)
	if err != nil || p.part < 2 || p.skip < 1 || p.version == 0 {
		return p, badPlace()
	}
	return p, nil
}

// badPlace returns the fault for a page token that no earlier call returned: INVALID_PARAMETER.
func badPlace() error {
	return fault.New(fault.InvalidParameter, "page_token was not returned by an earlier call").
		With("argument", "page_token")
}

// exported yields the files after a path that belong into an export, in the order of paths. It
// skips audit logs, because their lines are part of the vault's own audit log, and the files in the
// trash.
func exported(idx *index.Index, after string) iter.Seq[*index.File] {
	return func(yield func(*index.File) bool) {
		for f := range idx.FilesAfter(after) {
			if vault.Path(f.Path).Kind() == vault.KindAudit || strings.HasPrefix(f.Path, vault.Trash) {
				continue
			}
			if !yield(f) {
				return
			}
		}
	}
}

// An auditPosition is the position in the audit log at which a page begins. The audit log is not a
// stored file: its lines are generated from the commits. So a position is a commit and a number of
// bytes of its lines. All parts are of one version, although the vault grows during the export.
type auditPosition struct {
	part    int    // number of the part
	from    uint64 // the commit whose lines are next
	skip    int    // bytes of these lines in the earlier pages
	version uint64 // version of the vault at the first page of the log; 0: the current one
}

// String returns the position as the key of a page token: part, from, skip and version, in decimal,
// with spaces between them.
func (p auditPosition) String() string {
	return fmt.Sprintf("%d %d %d %d", p.part, p.from, p.skip, p.version)
}

// readAuditPosition parses the output of auditPosition.String. It returns INVALID_PARAMETER for
// other texts.
func readAuditPosition(text string) (auditPosition, error) {
	var p auditPosition
	_, err := fmt.Sscanf(text, "%d %d %d %d", &p.part, &p.from, &p.skip, &p.version)
	if err != nil || p.skip < 0 {
		return p, badPlace()
	}
	return p, nil
}

// audit adds a part of the audit log that begins at a position. If commits up to the version
// remain, it sets next, even if the page has no lines.
func (e *export) audit(ctx context.Context, place string) error {
	at, err := readAuditPosition(place)
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
	e.out.Note("version", eventlog.Version(at.version))
	text, next, err := e.lines(ctx, at)
	if err != nil {
		return err
	}
	if len(text) > 0 {
		e.add(exportNote{
			Path: vault.AuditLog, Text: string(text), Version: eventlog.Version(at.version),
			Part: at.part,
		})
		next.part++
	}
	if next.from <= at.version {
		e.more(auditToken + next.String())
	}
	return nil
}

// lines returns the lines of the audit log from a position, at most maxLines bytes, and the
// position after them. The lines of one commit can be split, because a commit can have a thousand
// notes.
//
// It ends for one of four reasons: the page is full; maxCommits commits were read; the version of
// the export is reached; or there are no more commits. In each case the next position names the
// first byte that was not returned.
//
// maxLines is compared with the lines, not with the encoded answer, because its value already
// allows for the escapes.
func (e *export) lines(ctx context.Context, at auditPosition) ([]byte, auditPosition, error) {
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
		n := fitting(lines, maxLines-len(text))
		text = append(text, lines[:n]...)
		if n < len(lines) {
			next.skip += n
			return text, next, nil
		}
		next.from, next.skip = c.Seq+1, 0
	}
	return text, next, nil
}

// fitting returns how many bytes of a text fit into room bytes. It counts whole lines or, for a
// line that is longer than a page, whole characters. If a page has content already and not one line
// fits, it returns 0: the line begins the next page.
func fitting(text []byte, room int) int {
	if len(text) <= room {
		return len(text)
	}
	if end := bytes.LastIndexByte(text[:room], '\n'); end >= 0 || room < maxLines {
		return end + 1
	}
	for room > 0 && !utf8.RuneStart(text[room]) {
		room--
	}
	return room
}

// add adds a file to the page, and updates the size of the page and the count in the metadata.
func (e *export) add(n exportNote) {
	e.out.Notes = append(e.out.Notes, n)
	e.size += len(n.Text)
	e.out.Note("count", len(e.out.Notes))
}

// more records the key of the next page.
func (e *export) more(after string) { e.next = after }
