package repotest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A change is one call of a random history. All chance in it is drawn before it is made, for its
// function may run several times.
type change struct {
	call eventlog.Call
	edit edit
}

// An edit stages what a change does.
type edit func(context.Context, *repo.Tx) error

// make makes the change. A call that is refused, because of what was drawn, is no error.
func (ch change) make(ctx context.Context, v *repo.Vault) (repo.Receipt, error) {
	receipt, err := v.Update(ctx, ch.call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		return fmt.Sprintf("answer of %d", tx.Seq()), ch.edit(ctx, tx)
	})
	drawn := errors.Is(err, errRefused) || fault.Is(err, fault.DuplicateID) ||
		fault.Is(err, fault.Conflict) || fault.Is(err, fault.InvalidValue)
	if drawn {
		err = nil
	}
	return receipt, err
}

// draw draws a change.
func (c *chronicle) draw(ctx context.Context) change {
	c.calls++
	ch := change{call: eventlog.Call{
		Who:     eventlog.Who{Principal: pick(c.r, []string{"ann", "ben"}), Request: fmt.Sprint(c.calls)},
		Tool:    "write",
		Request: fmt.Append(nil, c.calls),
	}}
	if c.r.IntN(6) == 0 {
		ch.call.Key = fmt.Sprint("key ", c.calls)
	}
	switch c.r.IntN(30) {
	case 0:
		ch.call.DryRun = true
		ch.edit = c.drawEdit()
	case 1:
		ch.edit = both(c.drawEdit(), func(context.Context, *repo.Tx) error { return errRefused })
	case 2:
		ch.call.IfVersion = 1 + c.r.Uint64N(c.version())
		ch.edit = c.drawEdit()
	case 3, 4, 5, 6:
		ch.call.Tool = "undo"
		ch.edit = c.drawUndo(ctx)
	case 7, 8:
		ch.edit = both(c.drawEdit(), both(c.drawEdit(), both(c.drawEdit(), c.drawEdit())))
	default:
		ch.edit = c.drawEdit()
	}
	return ch
}

// both does one edit and then another.
func both(one, other edit) edit {
	return func(ctx context.Context, tx *repo.Tx) error {
		if err := one(ctx, tx); err != nil {
			return err
		}
		return other(ctx, tx)
	}
}

// drawEdit draws an edit of one file, or of what is no file.
func (c *chronicle) drawEdit() edit {
	if c.r.IntN(4) == 0 {
		return c.drawMemoryEdit()
	}
	path := vault.Path(c.author.Path())
	switch c.r.IntN(24) {
	case 0, 1, 2:
		return func(ctx context.Context, tx *repo.Tx) error { return tx.Remove(ctx, path) }
	case 3, 4:
		return rename(path, vault.Path(c.author.Path()))
	case 5:
		return write(vault.SchemaFile, c.author.Schema())
	case 6:
		return write(vault.ConfigRaven, c.author.Config())
	case 7:
		return write(vault.AuditLog, c.author.Audit(c.clock.Now()))
	case 8: // over what the item of a run holds
		return write(path, c.author.Note()+noise(17<<10+c.r.IntN(2<<10), c.r.Uint64()))
	case 9, 10, 11:
		return extend(path, c.author.Line())
	case 12, 13, 14:
		return shorten(path, c.r.IntN(12))
	case 15, 16:
		return reword(path, c.author.Line())
	}
	return write(path, c.author.Note())
}

func write(path vault.Path, text string) edit {
	return func(ctx context.Context, tx *repo.Tx) error { return tx.Put(ctx, path, []byte(text)) }
}

// extend adds a line to a file, which is made if there is none.
func extend(path vault.Path, line string) edit {
	return func(ctx context.Context, tx *repo.Tx) error {
		old, _, err := tx.Text(ctx, path)
		if err != nil {
			return err
		}
		return tx.Put(ctx, path, append(bytes.Clone(old), line...))
	}
}

// shorten takes a line from a file.
func shorten(path vault.Path, line int) edit {
	return func(ctx context.Context, tx *repo.Tx) error {
		old, exists, err := tx.Text(ctx, path)
		if err != nil || !exists {
			return err
		}
		lines := strings.SplitAfter(string(old), "\n")
		line := line % len(lines)
		return tx.Put(ctx, path, []byte(strings.Join(append(lines[:line:line], lines[line+1:]...), "")))
	}
}

// reword puts a line in place of the last one of a note, and says which annotation is which.
func reword(path vault.Path, line string) edit {
	return func(ctx context.Context, tx *repo.Tx) error {
		old, exists, err := tx.Text(ctx, path)
		if err != nil || !exists {
			return err
		}
		text := strings.TrimRight(string(old), "\n")
		text = text[:strings.LastIndexByte(text, '\n')+1] + line
		return tx.PutTraits(ctx, path, []byte(text), traitsOfNote(tx, path))
	}
}

// rename moves a file, with the ids of its annotations.
func rename(from, to vault.Path) edit {
	return func(ctx context.Context, tx *repo.Tx) error {
		text, exists, err := tx.Text(ctx, from)
		if err != nil || !exists || from == to {
			return err
		}
		ids := traitsOfNote(tx, from)
		if err := tx.Remove(ctx, from); err != nil {
			return err
		}
		return tx.PutTraits(ctx, to, bytes.Clone(text), ids)
	}
}

func traitsOfNote(tx *repo.Tx, path vault.Path) []string {
	if n, ok := tx.Index().Note(string(path)); ok {
		return n.TraitIDs()
	}
	return nil
}

// drawUndo draws what undoes a commit that was made a while ago.
func (c *chronicle) drawUndo(ctx context.Context) edit {
	newest := c.version()
	r, err := c.live.Reversal(ctx, newest-c.r.Uint64N(min(newest, 12)))
	if err != nil {
		if !fault.Is(err, fault.InvalidValue) {
			c.t.Errorf("look up what undoes a commit: %v", err)
		}
		return c.drawEdit()
	}
	return func(ctx context.Context, tx *repo.Tx) error { return tx.Reverse(ctx, r) }
}
