package checkout_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Two spellings of one name: composed, as every path of a vault is, and as macOS writes it.
const (
	composed   = "caf\u00e9"
	decomposed = "cafe\u0301"
)

// moves returns the moves in a commit, from old to new paths.
func moves(t *testing.T, v *repo.Vault, seq uint64) map[string]string {
	t.Helper()
	c, err := v.Commit(t.Context(), seq)
	require.NoError(t, err)
	all := map[string]string{}
	for _, n := range c.Notes {
		if n.From != "" {
			all[n.From] = n.Path
		}
	}
	return all
}

// respell moves a note in the log to another spelling of its name, as an agent does.
func (s *served) respell(t *testing.T, from, to, text string) error {
	t.Helper()
	_, err := s.vault.Update(t.Context(), repo.Call{Tool: "test"},
		func(ctx context.Context, tx *repo.Tx) (any, error) {
			if err := tx.Remove(ctx, vault.Path(from)); err != nil {
				return nil, err
			}
			return nil, tx.Put(ctx, vault.Path(to), []byte(text))
		})
	return err
}

// TestCaseOnlyMoveByHand checks that a move which changes only the case, of a note or of a folder,
// is one rename, even if the text was changed too, and that it removes nothing.
func TestCaseOnlyMoveByHand(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		s.write(t, "Note.md", "one\n")
		s.write(t, "Work/a.md", "a\n")
		s.write(t, "Work/deep/b.md", "b\n")
		s.rename(t, "Note.md", "NOTE.md")
		s.rename(t, "Work", "work")
		s.save(t, "work/a.md", "a\nand more\n")
		before := s.vault.Known().Version()
		s.reindex(t)
		s.agree(t, map[string]string{
			"NOTE.md": "one\n", "work/a.md": "a\nand more\n", "work/deep/b.md": "b\n",
		})
		require.Equal(t, before+1, s.vault.Known().Version())
		require.Equal(t, map[string]string{
			"Note.md": "NOTE.md", "Work/a.md": "work/a.md", "Work/deep/b.md": "work/deep/b.md",
		}, moves(t, s.vault, before+1))
		require.Empty(t, s.left(t))
		s.reindex(t)
		require.Equal(t, before+1, s.vault.Known().Version(), "it is taken in once")
		s.write(t, "NOTE.md", "two\n")
		require.Equal(t, "two\n", s.inFolder(t)["NOTE.md"])
	})
}

// TestCaseOnlyMoveOfMany checks that the guard does not count such moves, because a move removes
// nothing.
func TestCaseOnlyMoveOfMany(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		s.fill(t, 40, "")
		s.rename(t, "n", "N")
		s.reindex(t)
		require.Nil(t, s.control(t).Held)
		want := map[string]string{}
		for i := range 40 {
			want[fmt.Sprintf("N/%02d.md", i)] = fmt.Sprintf("# %d\n\ntext\n", i)
		}
		s.agree(t, want)
		require.Empty(t, s.left(t))
	})
}

// TestCaseOnlyMoveInTheLog checks that a note which an agent renames to another spelling has this
// spelling in the folder.
func TestCaseOnlyMoveInTheLog(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		s.write(t, "Note.md", "one\n")
		s.write(t, "Work/a.md", "a\n")
		require.NoError(t, s.respell(t, "Note.md", "note.md", "one\n"))
		require.NoError(t, s.respell(t, "Work/a.md", "work/a.md", "a, by an agent\n"))
		want := map[string]string{"note.md": "one\n", "work/a.md": "a, by an agent\n"}
		s.agree(t, want)
		before := s.vault.Known().Version()
		s.reindex(t)
		s.agree(t, want)
		require.Equal(t, before, s.vault.Known().Version(), "nobody did anything outside")
		require.Empty(t, s.left(t))
	})
}

// TestCaseOnlyMoveInTheLogOfPartOfAFolder checks a file system on which a folder cannot have two
// spellings: the spelling of the existing folder becomes that of all its notes in the vault.
func TestCaseOnlyMoveInTheLogOfPartOfAFolder(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		s.write(t, "Work/a.md", "a\n")
		s.write(t, "Work/b.md", "b\n")
		require.NoError(t, s.respell(t, "Work/a.md", "work/a.md", "a\n"))
		want := map[string]string{"work/a.md": "a\n", "Work/b.md": "b\n"}
		if s.ground.folds {
			want = map[string]string{"Work/a.md": "a\n", "Work/b.md": "b\n"}
		}
		s.reindex(t)
		s.agree(t, want)
		before := s.vault.Known().Version()
		s.reindex(t)
		s.agree(t, want)
		require.Equal(t, before, s.vault.Known().Version())
		require.Empty(t, s.left(t))
	})
}

// TestCaseOnlyMoveInTheLogOfAnEditedNote checks that a note does not get another spelling while its
// file has an edit that is not ingested yet: the file would block the new name, or become a second
// file with a similar name.
func TestCaseOnlyMoveInTheLogOfAnEditedNote(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		s.write(t, "Note.md", song)
		s.edit(t, "Note.md", song+"mine\n")
		err := s.respell(t, "Note.md", "note.md", song)
		require.True(t, fault.Is(err, fault.Conflict), "%v", err)
		require.ErrorContains(t, err, "Note.md")
		s.reindex(t)
		s.agree(t, map[string]string{"Note.md": song + "mine\n"})
		require.NoError(t, s.respell(t, "Note.md", "note.md", song+"mine\n"))
		s.reindex(t)
		s.agree(t, map[string]string{"note.md": song + "mine\n"})
		require.Empty(t, s.left(t))
	})
}

// TestTwinsAreQuarantined checks that of two files whose names differ only by case or normalization
// one is a note, that the other is reported and not changed, and that none is mistaken for the
// other. Only a file system that does not fold names can have both.
func TestTwinsAreQuarantined(t *testing.T) {
	for _, c := range []struct{ name, note, twin string }{
		{"case", "Note.md", "NOTE.md"},
		{"case, later in the alphabet", "Note.md", "note.md"},
		{"case of a folder", "Work/a.md", "work/a.md"},
		{"normalization", composed + ".md", decomposed + ".md"},
		{"normalization of a folder", composed + "/a.md", decomposed + "/a.md"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServed(t, grounds()[0])
			s.serve(t, checkout.Options{})
			s.write(t, c.note, "the note\n")
			s.edit(t, c.twin, "the twin\n")
			told := []repo.LeftFile{{Path: c.twin, Why: repo.LeftTwin, Twin: c.note}}
			for range 2 {
				s.reindex(t)
				require.Equal(t, map[string]string{c.note: "the note\n"}, s.inLog(t))
				require.Equal(t, map[string]string{
					c.note: "the note\n", c.twin: "the twin\n",
				}, s.inFolder(t))
				require.Equal(t, told, s.left(t))
				require.Equal(t, 1, s.control(t).Left.Twins)
			}
			s.edit(t, c.twin, "the twin, edited\n")
			s.edit(t, c.note, "the note, edited\n")
			s.reindex(t)
			s.write(t, c.note, "the note, by an agent\n")
			require.Equal(t, map[string]string{
				c.note: "the note, by an agent\n", c.twin: "the twin, edited\n",
			}, s.inFolder(t))
			require.Equal(t, told, s.left(t))
			s.restart(t)
			require.Equal(t, told, s.left(t))
			s.remove(t, c.twin)
			s.reindex(t)
			s.agree(t, map[string]string{c.note: "the note, by an agent\n"})
			require.Empty(t, s.left(t))
		})
	}
}

// TestTwinThatStaysAlone checks that the skipped file of such a pair is ingested when the other is
// removed.
func TestTwinThatStaysAlone(t *testing.T) {
	for _, c := range []struct{ note, twin, name string }{
		{"Note.md", "NOTE.md", "NOTE.md"},
		{composed + ".md", decomposed + ".md", composed + ".md"},
	} {
		s := newServed(t, grounds()[0])
		s.serve(t, checkout.Options{})
		s.write(t, c.note, "the note\n")
		s.edit(t, c.twin, "the twin\n")
		s.reindex(t)
		s.remove(t, c.note)
		s.reindex(t)
		require.Equal(t, map[string]string{c.name: "the twin\n"}, s.inLog(t))
		require.Equal(t, map[string]string{c.twin: "the twin\n"}, s.inFolder(t))
		require.Empty(t, s.left(t))
		s.kept(t, map[string]string{c.note: "the note\n"})
	}
}

// TestTwinsFromTheStart checks that of such a pair which is found at the start, one is a note and
// the other is reported.
func TestTwinsFromTheStart(t *testing.T) {
	for _, c := range [][]string{{"Note.md", "note.md"}, {composed + ".md", decomposed + ".md"}} {
		s := newServed(t, grounds()[0])
		s.edit(t, c[0], "one\n")
		s.edit(t, c[1], "two\n")
		s.serve(t, checkout.Options{}.Hurried(10))
		require.Equal(t, map[string]string{c[0]: "one\n"}, s.inLog(t))
		require.Equal(t, map[string]string{c[0]: "one\n", c[1]: "two\n"}, s.inFolder(t))
		require.Len(t, s.left(t), 1)
		require.Equal(t, c[1], s.left(t)[0].Path)
	}
}

// TestDecomposedNames checks that files from macOS become notes with composed names, that writes of
// the log go to the existing file under its name, and that another spelling of the same name
// changes nothing.
func TestDecomposedNames(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		s.edit(t, decomposed+".md", "one\n")
		s.edit(t, decomposed+"s/a.md", "a\n")
		s.reindex(t)
		note, in, beside := composed+".md", composed+"s/a.md", composed+"s/b.md"
		s.write(t, note, "two\n")
		s.write(t, in, "b\n")
		s.write(t, beside, "beside\n")
		want := map[string]string{note: "two\n", in: "b\n", beside: "beside\n"}
		require.Equal(t, want, s.inLog(t))
		require.Equal(t, map[string]string{
			decomposed + ".md": "two\n", decomposed + "s/a.md": "b\n", decomposed + "s/b.md": "beside\n",
		}, s.inFolder(t))
		s.restart(t)
		require.Equal(t, want, s.inLog(t))

		before := s.vault.Known().Version()
		s.rename(t, decomposed+".md", note)
		s.rename(t, decomposed+"s", composed+"s")
		s.reindex(t)
		s.agree(t, want)
		require.Equal(t, before, s.vault.Known().Version(), "every name is what it was")
		require.Empty(t, s.left(t))
		s.edit(t, in, "mine\n")
		s.reindex(t)
		s.write(t, note, "three\n")
		s.agree(t, with(want, map[string]string{in: "mine\n", note: "three\n"}))
		s.remove(t, note)
		s.reindex(t)
		s.agree(t, map[string]string{in: "mine\n", beside: "beside\n"})
	})
}

// TestFoldersThatDifferByNormalization checks that two such folders are distinguished: the files in
// each are notes, if their names are unique.
func TestFoldersThatDifferByNormalization(t *testing.T) {
	s := newServed(t, grounds()[0])
	s.serve(t, checkout.Options{})
	s.write(t, composed+"/a.md", "a\n")
	s.edit(t, decomposed+"/b.md", "b\n")
	s.reindex(t)
	s.reindex(t)
	require.Equal(t, map[string]string{composed + "/a.md": "a\n", composed + "/b.md": "b\n"}, s.inLog(t))
	s.write(t, composed+"/a.md", "A\n")
	s.write(t, composed+"/b.md", "B\n")
	require.Equal(t, map[string]string{composed + "/a.md": "A\n", decomposed + "/b.md": "B\n"},
		s.inFolder(t))
	require.Empty(t, s.left(t))
}

// TestNoteMadeWhereAFileOfAnotherCaseIs creates a note where a file was just created whose name
// differs only by case. If the file system folds names, that file blocks the note.
func TestNoteMadeWhereAFileOfAnotherCaseIs(t *testing.T) {
	for _, names := range [][2]string{{"Note.md", "note.md"}, {"note.md", "Note.md"}} {
		onEveryGround(t, func(t *testing.T, s *served) {
			file, note := names[0], names[1]
			s.edit(t, file, "theirs\n")
			err := put(t.Context(), s.vault, note, []byte("ours\n"))
			if s.ground.folds {
				require.True(t, fault.Is(err, fault.Conflict), "%v", err)
				s.reindex(t)
				s.agree(t, map[string]string{file: "theirs\n"})
				require.Empty(t, s.left(t))
				before := s.vault.Known().Version()
				s.reindex(t)
				require.Equal(t, before, s.vault.Known().Version())
				require.Empty(t, s.left(t))
				return
			}
			require.NoError(t, err)
			s.reindex(t)
			require.Equal(t, map[string]string{note: "ours\n"}, s.inLog(t))
			require.Equal(t, map[string]string{note: "ours\n", file: "theirs\n"}, s.inFolder(t))
			require.Equal(t, []repo.LeftFile{{Path: file, Why: repo.LeftTwin, Twin: note}}, s.left(t))
		})
	}
}

// TestSavedUnderAnotherSpelling checks that a text which is written to another spelling of a note's
// name is an edit of the note, if the file system folds names.
func TestSavedUnderAnotherSpelling(t *testing.T) {
	for _, g := range grounds()[1:] {
		t.Run(g.name, func(t *testing.T) {
			s := newServed(t, g)
			s.serve(t, s.watched())
			s.write(t, "Note.md", "one\n")
			file, err := os.OpenFile(s.path("NOTE.md"), os.O_WRONLY|os.O_TRUNC, 0)
			require.NoError(t, err)
			_, err = file.WriteString("two\n")
			require.NoError(t, err)
			require.NoError(t, file.Close())
			require.Eventually(t, func() bool { return text(t, s.vault, "Note.md") == "two\n" },
				waitLong, waitStep)
			s.agree(t, map[string]string{"Note.md": "two\n"})
			require.Empty(t, s.left(t))
		})
	}
}

// TestDiscardOfCaseOnlyMoves checks that discarding a batch restores the spellings too, in any
// order of the names.
func TestDiscardOfCaseOnlyMoves(t *testing.T) {
	for _, names := range [][2]string{{"Note.md", "NOTE.md"}, {"NOTE.md", "Note.md"}} {
		onEveryGround(t, func(t *testing.T, s *served) {
			s.fill(t, 40, "")
			s.write(t, names[0], "one\n")
			want := s.inLog(t)
			for i := range 25 {
				s.remove(t, fmt.Sprintf("n/%02d.md", i))
			}
			s.rename(t, names[0], names[1])
			s.reindex(t)
			require.Equal(t, 25, s.control(t).Held.Removed)
			s.answer(t, checkout.Discard)
			s.agree(t, want)
			s.reindex(t)
			s.agree(t, want)
			require.Nil(t, s.control(t).Held)
			require.Empty(t, s.left(t))
		})
	}
}
