package team

import (
	"bytes"
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// maxImport is the maximum number of notes of one call (CONTRACT §4, team). All of them become one
// commit.
const maxImport = 1000

// A vaultImportIn is the input of team_vault_import. Mode decides about a file that exists with
// another text: create refuses it with DUPLICATE_ID, replace overwrites it, and skip keeps it.
type vaultImportIn struct {
	tool.Vault
	// the files: path relative to the vault, and text
	Notes []importNote `json:"notes"`
	// for an existing file with another text: create is an error, replace overwrites it, skip keeps
	// it
	Mode string `json:"mode,omitempty" enum:"create,replace,skip" default:"create"`
	tool.Mutation
}

// An importNote is one imported file. IfVersion is the version at which the caller read the file;
// it protects a replaced file from the loss of a later change.
type importNote struct {
	Path      string `json:"path" size:"id"`
	Text      string `json:"text" size:"text"`
	IfVersion string `json:"if_version,omitempty"`
}

// A vaultImportOut is the output of team_vault_import. Skipped counts files that were not stored:
// those with the same text, those that mode skip keeps, and known audit logs. Version is that of
// the vault after the import.
type vaultImportOut struct {
	tool.Aside `json:"-"`
	DryRun     bool   `json:"dry_run,omitempty"`
	Created    int    `json:"created"`
	Replaced   int    `json:"replaced"`
	Skipped    int    `json:"skipped"`
	Version    string `json:"version"`
}

// vaultImport returns the tool that imports files into a vault. It stores texts as they are. A note
// whose frontmatter does not parse is stored too, with a warning.
func (f tools) vaultImport() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_vault_import", Family: Family, Title: "Import notes",
		Role: auth.Editor, Kind: tool.Write, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/vaults/{vault}/contents"},
		Commands: []tool.Command{{Words: "vault import"}},
		Input: &tool.Files{
			Arg: "notes", MaxFiles: maxImport, MaxBytes: tool.MaxBody - 256<<10,
			Before: &tool.Before{
				Flag: "create", Doc: "create the vault if it does not exist",
				Tool: "team_vault_create", Args: map[string]string{"name": "vault"},
			},
		},
	}, f.importVault)
}

// importVault imports the files of the call: all of them, or none. The call may write protected
// paths, such as settings and schemas (see eventlog.Call.Unprotected), because an import must be able
// to restore all files of an export.
func (f tools) importVault(
	ctx context.Context, c auth.Caller, in vaultImportIn,
) (vaultImportOut, error) {
	call, err := mutation.Call(c, &in.Mutation, Family)
	call.Unprotected = true
	if err != nil {
		return vaultImportOut{}, err
	}
	files, err := in.files()
	if err != nil {
		return vaultImportOut{}, err
	}
	v, err := f.vault(ctx, c, in.Vault.Vault)
	if err != nil {
		return vaultImportOut{}, err
	}
	job := importJob{vault: v, mode: in.Mode, files: files}
	return mutation.ChangeVault(ctx, v, call, mutation.Change[vaultImportOut]{Targets: job.targets, Draft: job.run})
}

// An importFile is a file with a valid path and text, as importNote.check returns it.
type importFile struct {
	path          vault.Path
	text          []byte
	base          uint64 // the version that the caller read; 0: not given
	alreadyLogged bool   // an audit log that adds nothing to the vault's own
}

// files checks the imported files and returns them. It returns all problems as one fault. Two files
// whose paths differ only by case or by Unicode normalization are DUPLICATE_ID, because they would
// be one file on some systems.
func (in *vaultImportIn) files() ([]importFile, error) {
	if len(in.Notes) == 0 {
		return nil, fault.New(fault.InvalidParameter, "notes must name at least one file").
			With("argument", "notes")
	}
	if len(in.Notes) > maxImport {
		return nil, fault.New(fault.BatchTooLarge, "one call imports at most %d notes, not %d",
			maxImport, len(in.Notes)).Fix("split them over several calls")
	}
	var files []importFile
	var problems []*fault.Fault
	seen := map[string]string{}
	for _, n := range in.Notes {
		f, err := n.check()
		if err != nil {
			problems = append(problems, fault.Of(err))
			continue
		}
		if other, twice := seen[vault.Fold(string(f.path))]; twice {
			problems = append(problems, fault.New(fault.DuplicateID,
				"%s is given twice, or differs only by case or normalization from %s",
				f.path, other))
		}
		seen[vault.Fold(string(f.path))] = string(f.path)
		files = append(files, f)
	}
	return files, fault.Join(Family.Several, problems).Err()
}

// check validates the path, the encoding, the size and the version of a file. It reads nothing from
// the vault.
func (n importNote) check() (importFile, error) {
	path, err := vault.ParseFile(n.Path)
	if err == nil {
		err = vault.CheckAdded(path)
	}
	if err != nil {
		return importFile{}, err
	}
	if !utf8.ValidString(n.Text) {
		return importFile{}, fault.New(fault.InvalidValue, "%s is not UTF-8", path)
	}
	if len(n.Text) > repo.MaxNote {
		return importFile{}, fault.New(fault.NoteTooLarge,
			"%s has %d bytes; a note has at most %d", path, len(n.Text), repo.MaxNote)
	}
	f := importFile{path: path, text: []byte(n.Text)}
	if n.IfVersion != "" {
		var ok bool
		if f.base, ok = eventlog.ParseVersion(n.IfVersion); !ok {
			return f, fault.New(fault.InvalidParameter,
				"if_version of %s must be a version such as %q", path, "v42")
		}
	}
	return f, nil
}

// An importJob imports files into a vault: all of them, or none.
//
// It is created once for each call. Its function run can be called several times, and reads only
// the transaction and the files.
type importJob struct {
	vault *repo.Vault
	mode  string // create, replace or skip: what to do if a file exists with another text
	files []importFile
}

// targets returns the paths of the existing files that the import would change. Files with the same
// text are omitted, and in mode skip all existing files. The paths are those that if_version of the
// call protects.
func (j importJob) targets(ctx context.Context, tx *repo.Tx) ([]vault.Path, error) {
	var all []vault.Path
	for _, f := range j.files {
		old, exists, err := tx.Text(ctx, f.path)
		if err != nil {
			return nil, err
		}
		if exists && j.mode != "skip" && !bytes.Equal(old, f.text) {
			all = append(all, f.path)
		}
	}
	return all, nil
}

// run stages all files. Problems of single files are collected and returned as one fault; an
// internal error is returned at once. So a caller learns about all files that exist already in one
// call.
//
// The version in the output is that of the commit or, if nothing is stored, that of the vault
// before the call.
func (j importJob) run(ctx context.Context, tx *repo.Tx, out *vaultImportOut) error {
	var problems []*fault.Fault
	if err := j.markLogged(ctx); err != nil {
		return err
	}
	for _, f := range j.files {
		err := j.stage(ctx, tx, f, out)
		switch why := fault.Of(err); {
		case err == nil:
		case why.HTTP() >= 500:
			return err // the problem is not in the file
		default:
			problems = append(problems, why)
		}
	}
	if f := fault.Join(Family.Several, problems); f != nil {
		if len(problems) > 1 && fault.Is(problems[0], fault.DuplicateID) {
			f.Code = fault.DuplicateID
		}
		return f
	}
	quarantined(tx, j.files, out)
	out.DryRun = tx.DryRun()
	out.Version = eventlog.Version(tx.Seq())
	if out.Created+out.Replaced == 0 || out.DryRun {
		out.Version = eventlog.Version(tx.Before().Version())
	}
	return nil
}

// stage stages one file, and counts it in the output. A file with the same text is skipped in every
// mode, so an import can be repeated.
//
// A known audit log is counted as skipped too. The check of the version comes after the counting,
// which does no harm: with a fault, the output is not used.
func (j importJob) stage(
	ctx context.Context, tx *repo.Tx, f importFile, out *vaultImportOut,
) error {
	old, exists, err := tx.Text(ctx, f.path)
	if err != nil {
		return err
	}
	switch {
	case f.alreadyLogged, exists && bytes.Equal(old, f.text), exists && j.mode == "skip":
		out.Skipped++
		return nil
	case exists && j.mode != "replace":
		return fault.New(fault.DuplicateID, "%s exists with a different text", f.path).
			With("id", f.path.ID()).Fix("use mode replace or skip")
	case exists:
		out.Replaced++
	default:
		out.Created++
	}
	if err := unchangedSince(tx, f); err != nil {
		return err
	}
	return tx.Put(ctx, f.path, f.text)
}

// unchangedSince returns CONFLICT if the file changed after the version that the caller read. It
// returns nil if the caller gave no version, or if there is no such file.
func unchangedSince(tx *repo.Tx, f importFile) error {
	now, ok := tx.Before().File(string(f.path))
	if f.base == 0 || !ok || now.Version <= f.base {
		return nil
	}
	return fault.New(fault.Conflict, "%s changed after %s: its latest version is %s",
		f.path, eventlog.Version(f.base), eventlog.Version(now.Version)).
		With("latest_version", eventlog.Version(now.Version))
}

// markLogged marks the audit logs among the files whose lines are all in the vault's own audit log
// already: those of an export, or of the folder, of this vault. They are skipped, because they
// would add nothing. The audit logs of other vaults are imported like other files.
func (j importJob) markLogged(ctx context.Context) error {
	var logs [][]byte
	var of []*importFile
	for i := range j.files {
		if f := &j.files[i]; f.path.Kind() == vault.KindAudit {
			logs, of = append(logs, f.text), append(of, f)
		}
	}
	if len(logs) == 0 {
		return nil
	}
	told, err := j.vault.AuditTold(ctx, logs)
	for i := range told {
		of[i].alreadyLogged = told[i]
	}
	return err
}

// quarantined adds a warning for each imported note whose frontmatter does not parse. The note is
// stored, and its text can be read.
func quarantined(tx *repo.Tx, files []importFile, out *vaultImportOut) {
	for _, f := range files {
		n, ok := tx.Index().Note(string(f.path))
		if !ok || n.Quarantine() == nil {
			continue
		}
		out.Warn("NOTE_QUARANTINED",
			fmt.Sprintf("%s does not parse; it is kept as text", f.path),
			map[string]any{"path": f.path, "line": n.Quarantine().Line})
	}
}
