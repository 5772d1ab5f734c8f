package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"rookery/internal/auditlog"
	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

const (
	// How much one commit takes in at most.
	maxAdopted      = 500
	maxAdoptedBytes = 8 << 20
)

// An Adopted says what Adopt took in.
type Adopted struct {
	Created  []string `json:"created,omitempty"`  // notes and other files of a vault that the log did not have
	Replaced []string `json:"replaced,omitempty"` // those that the log had with another text
	Left     []string `json:"left,omitempty"`     // files that cannot be taken in, and stay as they are
}

// Adopt takes the files of a folder into the log of a vault, whose table was lost: what the log does
// not have, or has with another text, for the folder is newer. What the folder does not have stays in
// the log, and is written to the folder again when somebody asks for it; so nothing is lost. Lines of
// the audit log that the log of the vault does not tell are taken in too, and with them the ids and
// times of what they tell of. The vault must have no Follower yet.
func Adopt(ctx context.Context, v *repo.Vault, files Files, c repo.Call) (Adopted, error) {
	idx, err := v.Read(ctx)
	if err != nil {
		return Adopted{}, err
	}
	a := adoption{vault: v, files: files, call: c, idx: idx}
	if err := a.audit(ctx); err != nil {
		return a.done, err
	}
	if err := a.collect(ctx); err != nil {
		return a.done, err
	}
	return a.done, a.passed(ctx)
}

// An adoption is an Adopt on its way.
type adoption struct {
	vault *repo.Vault
	files Files
	call  repo.Call
	idx   *index.Index
	done  Adopted

	batch []file
	size  int
}

// A file is one that is to be taken in.
type file struct {
	path vault.Path
	text []byte
}

// audit compares the audit log with what the log tells, and takes in what it tells beyond.
func (a *adoption) audit(ctx context.Context) error {
	log, err := auditlog.Whole(ctx, a.files)
	if err != nil {
		return err
	}
	return a.auditOf(ctx, log)
}

// auditOf takes in what lines of an audit log tell beyond the log of the vault.
func (a *adoption) auditOf(ctx context.Context, rest []byte) error {
	for lines, err := range a.vault.AuditLog(ctx) {
		if err != nil {
			return err
		}
		beyond, same := bytes.CutPrefix(rest, lines)
		if !same {
			return nil // all is told, or it is another's, or was changed: it is written anew
		}
		rest = beyond
	}
	return a.tell(ctx, rest)
}

// tell takes in the lines of an audit log, as many with each commit as one file may have. A line that
// is longer, or not whole, cannot be told again.
func (a *adoption) tell(ctx context.Context, log []byte) error {
	for len(log) > 0 {
		piece := log[:min(len(log), repo.MaxNote)]
		piece = piece[:bytes.LastIndexByte(piece, '\n')+1]
		if len(piece) == 0 {
			a.done.Left = append(a.done.Left, vault.AuditLog)
			return nil
		}
		log = log[len(piece):]
		a.add(file{vault.AuditLog, piece})
		if err := a.commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// collect takes in every file that differs: the settings first, by which the notes are read.
func (a *adoption) collect(ctx context.Context) error {
	for _, path := range []string{vault.SchemaFile, vault.ConfigRaven, vault.ConfigRookery} {
		if err := a.consider(ctx, path); err != nil {
			return err
		}
	}
	for o, err := range a.files.List(ctx, "") {
		if err != nil {
			return fmt.Errorf("list the folder of a vault: %w", err)
		}
		k := vault.Path(o.Key).Kind()
		if k != vault.KindNote && k != vault.KindFolder {
			continue
		}
		if err := a.consider(ctx, o.Key); err != nil {
			return err
		}
	}
	return a.commit(ctx)
}

// consider takes in a file, if the log does not have it as it is.
func (a *adoption) consider(ctx context.Context, key string) error {
	path, err := vault.ParseFile(key)
	if err != nil || vault.CleanPath(key) != key {
		a.leave(key)
		return nil
	}
	text, _, err := a.files.Get(ctx, key, 0, -1)
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return nil
	case errors.Is(err, blob.ErrForeign):
		a.leave(key)
		return nil
	case err != nil:
		return unreadable(key, err)
	case len(text) > repo.MaxNote || !utf8.Valid(text):
		a.leave(key)
		return nil
	}
	if f, ok := a.idx.File(key); ok && f.Digest == index.DigestOf(text) {
		return nil
	}
	if len(a.batch) == maxAdopted || a.size+len(text) > maxAdoptedBytes {
		if err := a.commit(ctx); err != nil {
			return err
		}
	}
	a.add(file{path, text})
	return nil
}

// leave notes that a file is not taken in. What lies in a folder whose name begins with a dot is none
// of a vault's, and not worth a word.
func (a *adoption) leave(key string) {
	if key[0] != '.' {
		a.done.Left = append(a.done.Left, key)
	}
}

func (a *adoption) add(f file) {
	a.batch = append(a.batch, f)
	a.size += len(f.text)
}

// commit takes a batch in. A file that the vault refuses, such as a twin of another by case, is left;
// the others are taken in without it.
func (a *adoption) commit(ctx context.Context) error {
	var created, replaced, left []string
	_, err := a.vault.Update(ctx, a.call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		created, replaced, left = nil, nil, nil
		for _, f := range a.batch {
			_, known := tx.Before().File(string(f.path))
			err := tx.Put(ctx, f.path, f.text)
			switch {
			case fault.Is(err, fault.DuplicateID):
				left = append(left, string(f.path))
			case err != nil:
				return nil, err
			case isAudit(string(f.path)):
			case known:
				replaced = append(replaced, string(f.path))
			default:
				created = append(created, string(f.path))
			}
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	a.done.Created = append(a.done.Created, created...)
	a.done.Replaced = append(a.done.Replaced, replaced...)
	a.done.Left = append(a.done.Left, left...)
	a.batch, a.size = nil, 0
	return nil
}

// passed moves the cursor of the files to where they were before: what was taken in since is in them
// already.
func (a *adoption) passed(ctx context.Context) error {
	if err := a.vault.Advance(ctx, repo.FilesCursor, repo.Cursor{Seq: a.idx.Version()}); err != nil {
		return err
	}
	return a.auditAnew(ctx)
}

// auditAnew writes the audit log anew: what it told beyond it tells again as a part of the commits that
// took it in, in the month of these.
func (a *adoption) auditAnew(ctx context.Context) error {
	now, err := a.vault.Read(ctx)
	if err != nil {
		return err
	}
	return auditlog.Replace(ctx, a.vault, a.files, now.Version())
}
