package repotest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// errRefused is the failure of a step that fails on purpose.
var errRefused = errors.New("refused on purpose")

// A step is one call of a scenario. The commit that it makes is known by its tool.
type step struct {
	tool      string
	key       string
	put       map[string]string
	remove    string
	grow      string // the name of a text that gets longer: done twice, it shows
	ifVersion uint64
	dryRun    bool
	refused   bool
	replays   string // the tool of the step whose answer it gets
}

func (s step) call() eventlog.Call {
	request := s.tool
	if s.replays != "" {
		request = s.replays
	}
	return eventlog.Call{
		Who: eventlog.Who{Principal: "tester"}, Tool: s.tool, Key: s.key, DryRun: s.dryRun,
		Request: []byte(request), IfVersion: s.ifVersion,
	}
}

// A subject is a log or a vault, as one process has it.
type subject interface {
	do(ctx context.Context, s step) (eventlog.Receipt, error)
	Commits(ctx context.Context, from uint64) iter.Seq2[*eventlog.Commit, error]
	state(ctx context.Context) (string, error) // all that a reader sees
	verify(ctx context.Context) error          // checks the chain and folds all anew
}

// A logSubject keeps the texts of the steps as records.
type logSubject struct{ *eventlog.Log[*State] }

var _ subject = logSubject{}

func (l logSubject) do(ctx context.Context, s step) (eventlog.Receipt, error) {
	return l.Update(ctx, s.call(), func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		for name, text := range s.put {
			old, ok := d.State().Texts[name]
			if ok && old.Text == text {
				continue
			}
			if err := d.Touch(old.Changed); err != nil {
				return nil, err
			}
			if err := d.Record("text", name, text); err != nil {
				return nil, err
			}
		}
		if s.remove != "" {
			if err := d.Record("text", s.remove, nil); err != nil {
				return nil, err
			}
		}
		if s.grow != "" {
			text := d.State().Texts[s.grow].Text + "+"
			if err := d.Record("text", s.grow, text); err != nil {
				return nil, err
			}
		}
		if s.refused {
			return nil, errRefused
		}
		return s.tool, nil
	})
}

func (l logSubject) state(ctx context.Context) (string, error) {
	s, err := l.Read(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintln(s.State, s.Seq, s.Time, s.Status), nil
}

func (l logSubject) verify(ctx context.Context) error {
	_, err := l.Replay(ctx, true)
	return err
}

// A vaultSubject keeps the texts of the steps as notes and, where remembers says so, as memories beside them.
type vaultSubject struct {
	*repo.Vault
	remembers bool
}

var _ subject = vaultSubject{}

func (v vaultSubject) do(ctx context.Context, s step) (eventlog.Receipt, error) {
	r, err := v.Update(ctx, s.call(), func(ctx context.Context, tx *repo.Tx) (any, error) {
		for name, text := range s.put {
			if err := tx.Put(ctx, vault.Path(name+".md"), []byte(text)); err != nil {
				return nil, err
			}
			if !v.remembers {
				continue
			}
			if err := storeMemory(tx, memoryID(name), text); err != nil {
				return nil, err
			}
		}
		if s.remove != "" {
			if err := tx.Remove(ctx, vault.Path(s.remove+".md")); err != nil {
				return nil, err
			}
			if err := tx.RemoveItem(memory.KindMemory, memoryID(s.remove)); err != nil {
				return nil, err
			}
		}
		if s.grow != "" {
			if err := grow(ctx, tx, vault.Path(s.grow+".md")); err != nil {
				return nil, err
			}
			if v.remembers {
				if err := growMemory(tx, memoryID(s.grow)); err != nil {
					return nil, err
				}
			}
		}
		if s.refused {
			return nil, errRefused
		}
		return s.tool, nil
	})
	return r.Receipt, err
}

// grow makes a note longer.
func grow(ctx context.Context, tx *repo.Tx, path vault.Path) error {
	old, _, err := tx.Text(ctx, path)
	if err != nil {
		return err
	}
	return tx.Put(ctx, path, append(bytes.Clone(old), '+'))
}

func (v vaultSubject) state(ctx context.Context) (string, error) {
	idx, err := v.Read(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintln(&b, idx.Version(), idx.Time(), idx.Totals())
	for f := range idx.Files() {
		text, err := v.Text(ctx, f.Body)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s v%d %v %q\n", f.Path, f.Version, f.Body, text)
	}
	if err := memoriesOf(ctx, v.Vault, idx.Memories(), &b); err != nil {
		return "", err
	}
	for lines, err := range v.AuditLog(ctx) {
		if err != nil {
			return "", err
		}
		b.Write(lines)
	}
	return b.String(), nil
}

func (v vaultSubject) verify(ctx context.Context) error {
	_, err := v.Rebuild(ctx, true)
	return err
}

// A kind of subject says how one is opened in a place.
type kind struct {
	name string
	open func(t *testing.T, p *place, e Engine) subject
}

var (
	logKind = kind{"log", func(t *testing.T, p *place, e Engine) subject {
		return logSubject{p.log(t, e)}
	}}
	// vaultKind has notes alone, and mixedKind memories beside them.
	mixedKind = kind{"vault", func(t *testing.T, p *place, e Engine) subject {
		return vaultSubject{p.vault(t, e, 1<<20), true}
	}}
	vaultKind = kind{"vault", func(t *testing.T, p *place, e Engine) subject {
		return vaultSubject{Vault: p.vault(t, e, 1<<20)}
	}}
)

// vault opens the vault of the place, as a process of its own would that keeps texts of so many bytes.
func (p *place) vault(t *testing.T, e Engine, texts int64) *repo.Vault {
	t.Helper()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "v", Part: Part, Table: e.Table, Bucket: e.Bucket,
		Texts: repo.NewTexts(texts), Now: p.clock.Now, ImageItems: e.Items,
	})
	require.NoError(t, err)
	return v
}
