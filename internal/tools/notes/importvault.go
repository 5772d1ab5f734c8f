package notes

import (
	"bytes"
	"context"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/convert"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A vaultFile is an imported file of a vault: a note, a file of settings or an audit log. Its bytes
// are not changed.
type vaultFile struct {
	path          vault.Path
	text          []byte
	alreadyLogged bool // an audit log that adds nothing to the vault's own
}

// importVault imports the files of another vault at their paths: all of them, or none. The notes
// keep their ids and, through the audit log, their times.
//
// The audit log of an export contains the commits of the notes, with their times. It is imported as
// a file of the vault, which the index reads; so notes that are imported with it keep their dates.
func (f tools) importVault(
	ctx context.Context, c auth.Caller, in importIn, files []convert.File,
) (importOut, error) {
	if err := in.rejectNoteArgs("files of a vault keep their paths and texts"); err != nil {
		return importOut{}, err
	}
	all, left, err := vaultFiles(files)
	if err != nil {
		return importOut{}, err
	}
	v, err := f.Vault(ctx, c, in.Vault.Vault)
	if err != nil {
		return importOut{}, err
	}
	if err := markLogged(ctx, v, all); err != nil {
		return importOut{}, err
	}
	out, err := mutation.Draft(ctx, f.Source, mutation.Request{
		Caller: c, Vault: in.Vault.Vault, Mutation: &in.Mutation,
	}, func(ctx context.Context, tx *repo.Tx, out *importOut) error {
		out.DryRun = in.DryRun
		return stageVault(ctx, tx, all, out)
	})
	if err == nil {
		out.leaveOut(left)
	}
	return out, err
}

// vaultFiles returns the files that can be part of a vault, and the names of the others. It returns
// all problems as one fault: an invalid name, a text that is not UTF-8, or a file that is too
// large. If no file is part of a vault, that is INVALID_PARAMETER.
//
// Files that are not part of any vault, such as pictures, are listed in the answer, and not
// refused.
func vaultFiles(files []convert.File) (all []vaultFile, left []string, err error) {
	var problems []*fault.Fault
	for _, f := range files {
		if vault.Path(f.Path).Kind() == vault.KindNone {
			left = append(left, f.Path)
			continue
		}
		path, err := vault.ParseFile(vault.CleanPath(f.Path))
		if err == nil {
			err = vault.CheckNew(path)
		}
		switch {
		case err != nil:
		case !utf8.Valid(f.Data):
			err = fault.New(fault.InvalidParameter, "the file is not UTF-8")
		case len(f.Data) > repo.MaxNote:
			err = fault.New(fault.NoteTooLarge,
				"the file has %d bytes; a note has at most %d", len(f.Data), repo.MaxNote)
		}
		if err != nil {
			problems = append(problems, fault.Of(err).At(f.Path, 0).With("argument", "files"))
			continue
		}
		all = append(all, vaultFile{path: path, text: f.Data})
	}
	if len(all)+len(problems) == 0 {
		return nil, nil, fault.New(fault.InvalidParameter, "there are no files of a vault: the names of "+
			"notes end in .md").
			With("argument", "files")
	}
	if f := fault.Join(commonCode(problems), problems); f != nil {
		return nil, nil, f
	}
	return all, left, nil
}

// markLogged marks the audit logs whose lines are all in the vault's own audit log already. They
// are skipped, so that an import of a vault into itself changes nothing.
func markLogged(ctx context.Context, v *repo.Vault, files []vaultFile) error {
	var logs [][]byte
	var of []*vaultFile
	for i := range files {
		if f := &files[i]; f.path.Kind() == vault.KindAudit {
			logs, of = append(logs, f.text), append(of, f)
		}
	}
	if len(logs) == 0 {
		return nil
	}
	told, err := v.AuditTold(ctx, logs)
	for i := range told {
		of[i].alreadyLogged = told[i]
	}
	return err
}

// stageVault stages the files. A file that exists with the same text is skipped. If any exists with
// another text, it returns DUPLICATE_ID with all of them. Audit logs are files like the others
// here; the index reads them.
func stageVault(ctx context.Context, tx *repo.Tx, files []vaultFile, out *importOut) error {
	out.Imported = make([]importedNote, 0, len(files))
	var problems []*fault.Fault
	var paths []string
	skipped := 0
	for _, f := range files {
		old, there, err := tx.Text(ctx, f.path)
		if err != nil {
			return err
		}
		if f.alreadyLogged || there && bytes.Equal(old, f.text) {
			skipped++
			continue
		}
		if there {
			problems = append(problems, fault.New(fault.DuplicateID, "%s exists with a different text", f.path).
				With("argument", "files").At(string(f.path), 0))
			continue
		}
		if err := tx.Put(ctx, f.path, f.text); err != nil {
			return err
		}
		paths = append(paths, string(f.path))
		out.Imported = append(out.Imported, importedNote{string(f.path), string(f.path)})
	}
	if f := fault.Join(fault.DuplicateID, problems); f != nil {
		// A merge would change notes of the vault, so all conflicts are reported and nothing is
		// written.
		return f.Fix("import into an empty vault, or use vault import with mode replace or skip")
	}
	out.Count = len(out.Imported)
	out.Note("skipped", skipped)
	warnQuarantined(tx, &out.Aside, paths)
	return nil
}
