package checkout_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// reindex ingests the edits of the folder.
func reindex(t *testing.T, folder *checkout.Checkout, pending checkout.Pending) checkout.IngestResult {
	t.Helper()
	taken, err := folder.Reindex(t.Context(), checkout.IngestOptions{Pending: pending})
	require.NoError(t, err)
	return taken
}

// remove removes a file, as another program does.
func (p *place) remove(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.Remove(filepath.Join(p.dir, path)))
}

// text returns the text of a note in the log; "(none)" if there is none.
func text(t *testing.T, v *repo.Vault, path string) string {
	t.Helper()
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	f, ok := idx.File(path)
	if !ok {
		return "(none)"
	}
	found, err := v.Text(t.Context(), f.Body)
	require.NoError(t, err)
	return string(found)
}

const song = "---\ntitle: Song\n---\n# Song\n\none\ntwo\nthree\nfour\nfive\n"

// TestTakenIn checks the edits of one file, in combination with writes to the log: each ends as
// reference/log.md §5 says, in the log and in the folder.
func TestTakenIn(t *testing.T) {
	for _, c := range []struct {
		name   string
		ours   string // written to the log before the edit is ingested; "": nothing
		theirs string // written to the file; "(none)": the file is removed
		want   string
		copy   string // text of the copy beside it
	}{
		{"changed", "", "# Song\n\nmine\n", "# Song\n\nmine\n", ""},
		{"emptied", "", "", "", ""},
		{"taken away", "", "(none)", "(none)", ""},
		{"both, apart", strings.Replace(song, "one", "ONE", 1), strings.Replace(song, "five", "FIVE", 1),
			strings.NewReplacer("one", "ONE", "five", "FIVE").Replace(song), ""},
		{"both, the same line", strings.Replace(song, "two", "our two", 1),
			strings.Replace(song, "two", "my two", 1), strings.Replace(song, "two", "our two", 1),
			strings.Replace(song, "two", "my two", 1)},
		{"both, the same change", strings.Replace(song, "two", "2", 1), strings.Replace(song, "two", "2", 1),
			strings.Replace(song, "two", "2", 1), ""},
		{"two fields", strings.Replace(song, "title: Song", "title: Song\nkey: C", 1),
			strings.Replace(song, "title: Song", "title: Song\ntempo: 90", 1),
			strings.Replace(song, "title: Song", "title: Song\nkey: C\ntempo: 90", 1), ""},
		{"taken away, changed here since", song + "six\n", "(none)", song + "six\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, nil)
			v, folder := p.open(t)
			write(t, v, "a.md", song)
			if c.theirs == "(none)" {
				p.remove(t, "a.md")
			} else {
				p.edit(t, "a.md", c.theirs)
			}
			_, err := folder.Sweep(t.Context())
			require.NoError(t, err)
			if c.ours != "" {
				write(t, v, "a.md", c.ours)
			}
			taken := reindex(t, folder, "")
			require.Equal(t, c.want, text(t, v, "a.md"))
			require.Equal(t, c.want, p.file(t, "a.md"))
			require.Equal(t, c.copy != "", taken.Conflicts == 1)
			if c.copy != "" {
				name := "a.conflict-" + eventlog.Version(v.Known().Version()) + ".md"
				require.Equal(t, c.copy, text(t, v, name))
				require.Equal(t, c.copy, p.file(t, name))
			}
			p.inStep(t, v)
			require.Equal(t, repo.Fresh, freshness(t, v))
			before := v.Known().Version()
			reindex(t, folder, "")
			require.Equal(t, before, v.Known().Version(), "it is taken in once")
			write(t, v, "a.md", "and on\n")
			require.Equal(t, "and on\n", p.file(t, "a.md"))
		})
	}
}

// TestNearestBase is a laptop that was asleep for a while and saves its old copy: the changes that
// others made meanwhile remain.
func TestNearestBase(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	now := song
	write(t, v, "a.md", now)
	old := now
	for i := range 10 {
		now = strings.Replace(now, "# Song\n", fmt.Sprintf("# Song\n\nday %d\n", i), 1)
		write(t, v, "a.md", now)
	}
	p.edit(t, "a.md", old+"mine\n")
	reindex(t, folder, "")
	require.Equal(t, now+"mine\n", text(t, v, "a.md"))
	require.Equal(t, now+"mine\n", p.file(t, "a.md"))
	p.pass(time.Minute)
	p.edit(t, "a.md", old)
	reindex(t, folder, "")
	require.Equal(t, old, text(t, v, "a.md"), "a text as it was once is a reversal")
}

// TestEditorThatReadsNothingAgain is an editor that saves its text again and again without reading
// the merged file: no change of others is undone.
func TestEditorThatReadsNothingAgain(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", song)
	buffer, want := song, song
	for i := range 5 {
		ours := fmt.Sprintf("ours %d\nand a second line of it\nand a third\n", i)
		want = strings.Replace(want, "# Song\n", "# Song\n\n"+ours, 1)
		write(t, v, "a.md", strings.Replace(text(t, v, "a.md"), "# Song\n", "# Song\n\n"+ours, 1))
		buffer += fmt.Sprintf("mine %d\n", i)
		want += fmt.Sprintf("mine %d\n", i)
		p.edit(t, "a.md", buffer)
		require.Zero(t, reindex(t, folder, "").Conflicts)
		require.Equal(t, want, text(t, v, "a.md"))
		require.Equal(t, want, p.file(t, "a.md"))
		p.edit(t, "a.md", buffer)
		reindex(t, folder, "")
		require.Equal(t, want, text(t, v, "a.md"), "what it had saved already says nothing new")
	}
}

// TestAlone edits without others: the last save is the text of the note, even if it is more similar
// to an earlier save, and no copy is created.
func TestAlone(t *testing.T) {
	const long = "and a long paragraph, on which they think twice\n\n"
	for _, saves := range [][]string{
		{"# Plan\n\nWe meet at noon.\n", "# Plan\n\nWe meet at the harbour on Saturday, when the ferry is in.\n",
			"# Plan\n\nWe meet at night.\n"},
		{song, song + long, song + "a line\n"},
		{song, song + long, song + long + "more\n", strings.Replace(song, "one", "One", 1) + "more\n"},
	} {
		p := newPlace(t, nil)
		v, folder := p.open(t)
		for _, save := range saves {
			p.edit(t, "a.md", save)
			require.Zero(t, reindex(t, folder, "").Conflicts)
			require.Equal(t, save, text(t, v, "a.md"))
			require.Equal(t, save, p.file(t, "a.md"))
		}
	}
}

// TestInsists checks that repeated saves of an editor that has not read the merged file do not undo
// the change of the log, and that such a save does when the merged text has been in the file long
// enough to be seen.
func TestInsists(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", song)
	mine := song + "mine\n"
	p.edit(t, "a.md", mine)
	_, err := folder.Sweep(t.Context())
	require.NoError(t, err)
	merged := strings.Replace(song, "one", "ONE", 1) + "mine\n"
	write(t, v, "a.md", strings.Replace(song, "one", "ONE", 1))
	for _, want := range []string{merged, merged, merged, mine} {
		if want == mine {
			p.pass(time.Minute)
		}
		p.edit(t, "a.md", mine)
		reindex(t, folder, "")
		require.Equal(t, want, text(t, v, "a.md"))
		require.Equal(t, want, p.file(t, "a.md"))
	}
}

// TestFoundInTheFolder checks that new files become notes, and that files that cannot be notes are
// reported and not changed.
func TestFoundInTheFolder(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	for path, text := range map[string]string{
		"new.md": "new\n", "deep/er/new.md": "deep\n", "schema.yaml": "types: {}\n",
		".obsidian/app.md": "no\n", ".trash/old.md": "no\n", "deep/.git/x.md": "no\n", "picture.png": "no\n",
		"what?.md": "no\n", "latin.md": "\xe9t\xe9\n", "huge.md": strings.Repeat("x", repo.MaxNote+1),
	} {
		p.edit(t, path, text)
	}
	require.NoError(t, os.Symlink("new.md", filepath.Join(p.dir, "link.md")))
	conflict(t, v, "new.md")
	taken := reindex(t, folder, "")
	require.Equal(t, 3, taken.Created)
	idx := p.inStep(t, v)
	require.Equal(t, 2, idx.Totals().Notes)
	reindex(t, folder, "")
	control, err := v.Control(t.Context())
	require.NoError(t, err)
	require.Equal(t, []repo.LeftFile{
		{Path: "huge.md", Why: repo.LeftSize}, {Path: "latin.md", Why: repo.LeftEncoding},
		{Path: "link.md", Why: repo.LeftForeign}, {Path: "what?.md", Why: repo.LeftName},
	}, control.Left.Files)
	conflict(t, v, "latin.md")
	write(t, v, "new.md", "ours\n")
	require.Equal(t, "ours\n", p.file(t, "new.md"))
}

// TestMoved checks that a note whose file is moved keeps its identity.
func TestMoved(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	for i := range 50 {
		write(t, v, fmt.Sprintf("old/%d.md", i), fmt.Sprintf("# %d\n\nbuy @due(2026-01-01)\n", i))
	}
	ids := map[string][]string{}
	for n := range v.Known().Notes("") {
		ids[n.Title] = n.TraitIDs()
	}
	require.NoError(t, os.Rename(filepath.Join(p.dir, "old"), filepath.Join(p.dir, "new")))
	taken := reindex(t, folder, "")
	require.Equal(t, 50, taken.Moved)
	require.Nil(t, taken.Held, "to move is not to take away")
	idx := p.inStep(t, v)
	require.Equal(t, 50, idx.Totals().Notes)
	for n := range idx.Notes("") {
		require.True(t, strings.HasPrefix(n.Path, "new/"))
		require.Equal(t, ids[n.Title], n.TraitIDs())
	}
}

// many creates a vault with n notes.
func many(t *testing.T, v *repo.Vault, n int) {
	t.Helper()
	for i := range n {
		write(t, v, fmt.Sprintf("n/%02d.md", i), fmt.Sprintf("# %d\n\ntext\n", i))
	}
}

// TestGuard checks that edits which would remove much wait for a decision, and the effect of each
// decision.
func TestGuard(t *testing.T) {
	for _, word := range []checkout.Pending{checkout.Accept, checkout.Discard, "", "later"} {
		t.Run(string(word), func(t *testing.T) {
			p := newPlace(t, nil)
			v, folder := p.open(t)
			many(t, v, 40)
			before := v.Known().Version()
			for i := range 25 {
				p.remove(t, fmt.Sprintf("n/%02d.md", i))
			}
			p.edit(t, "n/30.md", "mine\n")
			p.edit(t, "n/new.md", "new\n")
			taken := reindex(t, folder, "")
			require.Equal(t, 25, taken.Held.Removed)
			require.Equal(t, 1, taken.Held.Changed)
			require.Equal(t, 1, taken.Held.Created)
			require.Equal(t, before, v.Known().Version(), "nothing of it is taken in")
			require.Equal(t, repo.Pending, freshness(t, v))

			p.edit(t, "n/31.md", "beside it\n")
			reindex(t, folder, "")
			require.Equal(t, "beside it\n", text(t, v, "n/31.md"), "others go on")
			write(t, v, "n/05.md", "ours\n")
			require.Equal(t, "(none)", p.file(t, "n/05.md"), "what is held is not checked out")

			if word != "later" {
				taken = reindex(t, folder, word)
			}
			switch word {
			case checkout.Accept:
				require.Equal(t, 24, taken.Removed)
				require.Equal(t, 1, taken.Restored, "the log had changed it since")
				require.Equal(t, 17, p.inStep(t, v).Totals().Notes)
			case checkout.Discard:
				require.Equal(t, 27, taken.Restored)
				require.Equal(t, 40, p.inStep(t, v).Totals().Notes)
				require.Equal(t, "(none)", p.file(t, "n/new.md"))
				require.Equal(t, "mine\n", p.file(t, ".trash/n/30.md"))
				require.Equal(t, "new\n", p.file(t, ".trash/n/new.md"))
			default:
				require.Equal(t, 25, taken.Held.Removed)
				folder.Close()
				v, folder = p.open(t)
				require.Equal(t, 25, reindex(t, folder, "").Held.Removed, "also after a restart")
				if word == "later" {
					taken = reindex(t, folder, checkout.Accept)
					require.Equal(t, 24, taken.Removed)
					require.Equal(t, "ours\n", p.file(t, "n/05.md"), "it was changed since")
					return
				}
				for i := range 25 {
					p.edit(t, fmt.Sprintf("n/%02d.md", i), text(t, v, fmt.Sprintf("n/%02d.md", i)))
				}
				require.Nil(t, reindex(t, folder, "").Held, "what is put back waits for nothing")
				return
			}
			require.Equal(t, repo.Fresh, freshness(t, v))
		})
	}
}

// TestRemovalAfterWhatIsHeld checks a note that was created after a batch was held, and removed
// while no process served the folder: it is removed when the batch is accepted, and not taken for a
// note that the log changed.
func TestRemovalAfterWhatIsHeld(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	many(t, v, 40)
	for i := range 25 {
		p.remove(t, fmt.Sprintf("n/%02d.md", i))
	}
	require.Equal(t, 25, reindex(t, folder, "").Held.Removed)
	p.edit(t, "n/new.md", "new\n")
	require.Equal(t, 1, reindex(t, folder, "").Created)

	folder.Close()
	p.remove(t, "n/new.md")
	v, folder = p.open(t)
	require.Equal(t, 26, reindex(t, folder, "").Held.Removed)
	taken := reindex(t, folder, checkout.Accept)
	require.Equal(t, 26, taken.Removed)
	require.Zero(t, taken.Restored)
	require.Equal(t, 15, p.inStep(t, v).Totals().Notes)
}

// TestAcceptsWhatWasSeen checks that a decision applies to the edits that were held when it was
// made: later edits that remove as much wait for a decision of their own. The log records who
// decided.
func TestAcceptsWhatWasSeen(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	many(t, v, 90)
	takeAway := func(from, to int) {
		for i := from; i < to; i++ {
			p.remove(t, fmt.Sprintf("n/%02d.md", i))
		}
	}
	takeAway(0, 30)
	require.Equal(t, 30, reindex(t, folder, "").Held.Removed)
	takeAway(30, 60)
	taken, err := folder.Reindex(t.Context(), checkout.IngestOptions{
		Pending: checkout.Accept, Who: eventlog.Who{Principal: "freya"},
	})
	require.NoError(t, err)
	require.Equal(t, 30, taken.Removed)
	require.Equal(t, 30, taken.Held.Removed)
	last, err := v.Commit(t.Context(), v.Known().Version())
	require.NoError(t, err)
	require.Equal(t, "freya", last.Who.Principal)
	require.Equal(t, 30, reindex(t, folder, checkout.Accept).Removed)
}

// TestByItself checks that all of this happens in the background, without a call.
func TestByItself(t *testing.T) {
	p := newPlace(t, nil)
	v, _ := p.open(t)
	write(t, v, "a.md", "ours\n")
	p.edit(t, "a.md", "theirs\n")
	require.Eventually(t, func() bool { return text(t, v, "a.md") == "theirs\n" }, waitLong, waitStep)
}

const (
	waitLong = 120e9
	waitStep = 50e6
)

// TestReadForTheFirstTime checks that notes which existed before the folder was served have the
// times of their files and no lines in the audit log, and that later changes have lines.
func TestReadForTheFirstTime(t *testing.T) {
	p := newPlace(t, nil)
	p.edit(t, "a.md", "# A\n\nbuy @due(2026-01-01)\n")
	old := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
	require.NoError(t, os.Chtimes(filepath.Join(p.dir, "a.md"), old, old))
	v, folder := p.open(t)
	require.NoError(t, folder.Ready(t.Context()))
	n, ok := p.inStep(t, v).Note("a.md")
	require.True(t, ok)
	require.Equal(t, old, n.Created)
	require.Equal(t, old, n.Modified)
	require.Empty(t, auditOf(t, v))
	p.edit(t, "b.md", "# B\n")
	reindex(t, folder, "")
	require.Contains(t, auditOf(t, v), `"op":"reindex","file":"b.md",`)
	folder.Close()
	p.edit(t, "c.md", "# C\n")
	v, folder = p.open(t)
	require.NoError(t, folder.Ready(t.Context()))
	require.Contains(t, auditOf(t, v), `"file":"c.md"`)
}

// TestTrashOfAnother checks that a file of another program in a folder with the name of our trash
// is kept, and that our files there get other names.
func TestTrashOfAnother(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", song)
	p.edit(t, ".trash/a.md", "theirs\n")
	_, err := v.Update(t.Context(), eventlog.Call{Tool: "test"},
		func(ctx context.Context, tx *repo.Tx) (any, error) {
			at, err := tx.Trash(ctx, "a.md", []byte(song))
			require.Equal(t, vault.Path(".trash/a.v3.md"), at)
			return nil, err
		})
	require.NoError(t, err)
	reindex(t, folder, "")
	require.Equal(t, "theirs\n", p.file(t, ".trash/a.md"))
	require.Equal(t, song, p.file(t, ".trash/a.v3.md"))
	require.Equal(t, repo.Fresh, freshness(t, v))
}
