package checkout_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/repo"
)

// TestRules checks each sentence of reference/log.md §5, and those of §4 about the checkout, on
// every kind of file system. The rules about `.rookery/id`, the place of the database and read-only
// folders are tested in internal/vaultdir; names that differ only by case or normalization are
// tested in folding_test.go.
func TestRules(t *testing.T) {
	for _, rule := range []struct {
		words string
		holds func(t *testing.T, s *served)
	}{
		{"base is the earlier text which is nearest to what was found", nearestIsBase},
		{"ties to the newest", tiesToTheNewest},
		{"found exactly as one of its earlier texts is a reversal", isReversal},
		{"counts like a removal in the guard", countsLikeRemoval},
		{"deleted outside but changed in the log since: the note stays", stays},
		{"more than 20 notes and 10 % of a vault is held whole", isHeldWhole},
		{"its paths are not checked out", notCheckedOut},
		{"accept ends it", acceptEnds},
		{"discard ends it", discardEnds},
		{"nothing but a word ends it", onlyAWordEnds},
		{"frontmatter merges key by key", keyByKey},
		{"one key changed to two values is an overlap", keyOverlap},
		{"the rest line by line", lineByLine},
		{"overlaps keep both: ours in the note, theirs in a copy", keepBoth},
		{"put exchanges atomically", exchangesAtomically},
		{"what it displaced is compared at once", comparedAtOnce},
		{"looked at again, for an editor may still be writing into it", lookedAtAgain},
		{"never holds the cursor", holdsNoCursor},
		{"the digest of the outside text, which the checkout may then replace", mayReplace},
		{"a checkout's deletion takes in what it did not write", deletionTakesIn},
		{"nothing is written into the folder but what is the vault's", writesNothingElse},
	} {
		t.Run(rule.words, func(t *testing.T) {
			t.Parallel()
			onEveryGround(t, rule.holds)
		})
	}
}

func nearestIsBase(t *testing.T, s *served) {
	now := song
	s.write(t, "a.md", now)
	old := now
	for i := range 7 { // a week of commits
		now = strings.Replace(now, "# Song\n", fmt.Sprintf("# Song\n\nday %d\n", i), 1)
		s.write(t, "a.md", now)
	}
	s.save(t, "a.md", old+"mine\n")
	s.reindex(t)
	s.agree(t, map[string]string{"a.md": now + "mine\n"})
}

func tiesToTheNewest(t *testing.T, s *served) {
	s.write(t, "a.md", song+"one more\n")
	s.write(t, "a.md", song+"two more\n")
	s.write(t, "a.md", song+"one more\ntwo more\n")
	s.save(t, "a.md", song)
	s.reindex(t)
	s.agree(t, map[string]string{"a.md": song + "one more\n"}) // "two more" was removed, compared with the newer text
}

func isReversal(t *testing.T, s *served) {
	for _, text := range []string{song, song + "one more\n", song + "two more\n"} {
		s.write(t, "a.md", text)
	}
	s.pass(time.Minute)
	s.save(t, "a.md", song)
	s.reindex(t)
	s.agree(t, map[string]string{"a.md": song})
	s.kept(t, map[string]string{"1": song + "one more\n", "2": song + "two more\n"})
}

func countsLikeRemoval(t *testing.T, s *served) {
	s.fill(t, 30, "")
	s.fill(t, 30, "and more\n")
	before := s.inLog(t)
	s.pass(time.Minute)
	for i := range 10 {
		s.remove(t, fmt.Sprintf("n/%02d.md", i))
	}
	for i := 10; i < 20; i++ {
		s.save(t, fmt.Sprintf("n/%02d.md", i), fmt.Sprintf("# %d\n\ntext\n", i))
	}
	s.save(t, "n/29.md", "# 29\n\na third text\n")
	_, err := s.folder.Sweep(t.Context())
	require.NoError(t, err)
	s.save(t, "n/20.md", "# 20\n\ntext\n") // the twenty-first
	s.reindex(t)
	held := s.control(t).Held
	require.NotNil(t, held)
	require.Equal(t, []int{10, 11, 1}, []int{held.Removed, held.Reverted, held.Changed})
	require.Equal(t, before, s.inLog(t))
}

func stays(t *testing.T, s *served) {
	s.write(t, "a.md", song)
	s.write(t, "b.md", song)
	s.remove(t, "a.md")
	s.remove(t, "b.md")
	_, err := s.folder.Sweep(t.Context())
	require.NoError(t, err)
	s.write(t, "a.md", song+"since\n")
	s.reindex(t)
	s.agree(t, map[string]string{"a.md": song + "since\n"})
	s.kept(t, map[string]string{"b.md": song})
}

func isHeldWhole(t *testing.T, s *served) {
	s.fill(t, 205, "")
	take := func(from, to int) {
		for i := from; i < to; i++ {
			s.remove(t, fmt.Sprintf("n/%02d.md", i))
		}
	}
	take(0, 20) // 20 notes
	s.reindex(t)
	require.Nil(t, s.control(t).Held)
	require.Len(t, s.inLog(t), 185)
	for i := range 25 { // 210 in all
		s.save(t, fmt.Sprintf("m/%d.md", i), "text\n")
	}
	s.reindex(t)
	take(20, 41) // 21 notes, and 10 %
	s.reindex(t)
	require.Nil(t, s.control(t).Held)
	require.Len(t, s.inLog(t), 189)
	take(41, 62) // 21 notes, and more than 10 %
	s.save(t, "new.md", "beside it\n")
	s.save(t, "m/0.md", "changed\n")
	s.reindex(t)
	require.Len(t, s.inLog(t), 189, "all of it is held, not only what is taken away")
	held := s.control(t).Held
	require.Equal(t, []int{21, 0, 1, 1},
		[]int{held.Removed, held.Reverted, held.Changed, held.Created})
	require.Equal(t, repo.Pending, freshness(t, s.vault))
}

// half creates a held batch: half of 50 notes is removed, one is changed, and one is new.
func half(t *testing.T, s *served) (before map[string]string) {
	t.Helper()
	s.fill(t, 50, "")
	before = s.inLog(t)
	for i := range 25 {
		s.remove(t, fmt.Sprintf("n/%02d.md", i))
	}
	s.save(t, "n/30.md", "mine\n")
	s.save(t, "n/new.md", "new\n")
	s.reindex(t)
	require.Equal(t, 27, s.control(t).Held.Count())
	return before
}

func notCheckedOut(t *testing.T, s *served) {
	half(t, s)
	found := s.inFolder(t)
	s.write(t, "n/05.md", "ours\n")
	s.write(t, "n/30.md", "ours\n")
	s.reindex(t)
	require.Equal(t, found, s.inFolder(t))
	s.write(t, "n/40.md", "ours\n")
	require.Equal(t, "ours\n", s.file(t, "n/40.md"), "others go on")
	s.save(t, "n/41.md", "theirs\n")
	s.reindex(t)
	require.Equal(t, "theirs\n", text(t, s.vault, "n/41.md"))
}

func acceptEnds(t *testing.T, s *served) {
	before := half(t, s)
	s.answer(t, checkout.Accept)
	want := with(before, map[string]string{"n/30.md": "mine\n", "n/new.md": "new\n"})
	for i := range 25 {
		delete(want, fmt.Sprintf("n/%02d.md", i))
	}
	s.agree(t, want)
	require.Nil(t, s.control(t).Held)
	s.kept(t, before)
}

func discardEnds(t *testing.T, s *served) {
	before := half(t, s)
	s.answer(t, checkout.Discard)
	s.agree(t, before)
	require.Nil(t, s.control(t).Held)
	require.Equal(t, "mine\n", s.file(t, ".trash/n/30.md"))
	require.Equal(t, "new\n", s.file(t, ".trash/n/new.md"))
	s.kept(t, map[string]string{"n/30.md": "mine\n", "n/new.md": "new\n"})
}

// onlyAWordEnds puts half of the held removals back by hand, and checks that the other half is not
// removed, although it would be too small to be held.
func onlyAWordEnds(t *testing.T, s *served) {
	before := half(t, s)
	for i := range 15 {
		path := fmt.Sprintf("n/%02d.md", i)
		s.save(t, path, before[path])
	}
	s.reindex(t)
	require.Equal(t, before, s.inLog(t))
	require.Equal(t, 10, s.control(t).Held.Removed)
	for i := 15; i < 25; i++ {
		path := fmt.Sprintf("n/%02d.md", i)
		s.save(t, path, before[path])
	}
	s.reindex(t)
	s.agree(t, with(before, map[string]string{"n/30.md": "mine\n", "n/new.md": "new\n"}))
	require.Nil(t, s.control(t).Held, "nothing is taken away any more")
}

const fields = "---\ntitle: Song\nkey: C\ntempo: 90\n---\nla\n"

func keyByKey(t *testing.T, s *served) {
	s.write(t, "a.md", fields)
	s.save(t, "a.md", "---\nmine: 1\ntempo: 120\ntitle: Song\nkey: C\n---\nla\n")
	_, err := s.folder.Sweep(t.Context())
	require.NoError(t, err)
	s.write(t, "a.md", "---\nours: 2\ntitle: Song\ntempo: 90\n---\nla\n")
	s.reindex(t)
	s.agree(t, map[string]string{"a.md": "---\nours: 2\ntitle: Song\ntempo: 120\nmine: 1\n---\nla\n"})
}

func keyOverlap(t *testing.T, s *served) {
	s.write(t, "a.md", fields)
	theirs := strings.Replace(fields, "tempo: 90", "tempo: 120", 1)
	s.save(t, "a.md", theirs)
	_, err := s.folder.Sweep(t.Context())
	require.NoError(t, err)
	ours := strings.Replace(fields, "tempo: 90", "tempo: 60", 1)
	s.write(t, "a.md", ours)
	s.reindex(t)
	name := "a.conflict-" + repo.Version(s.vault.Known().Version()) + ".md"
	s.agree(t, map[string]string{"a.md": ours, name: theirs})
}

func lineByLine(t *testing.T, s *served) {
	s.write(t, "a.md", song)
	s.save(t, "a.md", strings.NewReplacer("one\n", "", "five", "FIVE").Replace(song))
	_, err := s.folder.Sweep(t.Context())
	require.NoError(t, err)
	s.write(t, "a.md", strings.NewReplacer("three", "3\n3").Replace(song))
	s.reindex(t)
	s.agree(t, map[string]string{
		"a.md": strings.NewReplacer("one\n", "", "five", "FIVE", "three", "3\n3").Replace(song),
	})
}

func keepBoth(t *testing.T, s *served) {
	s.write(t, "deep/a.md", song)
	theirs := strings.NewReplacer("two", "my two", "five", "my five").Replace(song)
	s.save(t, "deep/a.md", theirs)
	_, err := s.folder.Sweep(t.Context())
	require.NoError(t, err)
	s.write(t, "deep/a.md", strings.Replace(song, "two", "our two", 1))
	s.reindex(t)
	name := "deep/a.conflict-" + repo.Version(s.vault.Known().Version()) + ".md"
	s.agree(t, map[string]string{
		"deep/a.md": strings.NewReplacer("two", "our two", "five", "my five").Replace(song), name: theirs,
	})
	before := s.vault.Known().Version()
	s.reindex(t)
	require.Equal(t, before, s.vault.Known().Version())
}

// exchangesAtomically reads a note while it is written. The file exists all the time, and is always
// complete. On a system that cannot exchange two files, it may be missing for a moment.
func exchangesAtomically(t *testing.T, s *served) {
	texts := map[string]bool{}
	for i := range 30 {
		texts[strings.Repeat(fmt.Sprintf("line %d\n", i), 1000)] = true
	}
	s.write(t, "a.md", strings.Repeat("line 0\n", 1000))
	done, odd := make(chan struct{}), make(chan string, 1)
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			data, err := os.ReadFile(s.path("a.md"))
			absent := os.IsNotExist(err) && strings.Contains(s.ground.name, "without")
			if !absent && (err != nil || !texts[string(data)]) {
				select {
				case odd <- fmt.Sprintf("%v, %d bytes", err, len(data)):
				default:
				}
			}
		}
	})
	for i := range 30 {
		s.write(t, "a.md", strings.Repeat(fmt.Sprintf("line %d\n", i), 1000))
	}
	close(done)
	reader.Wait()
	require.Empty(t, odd)
}

// comparedAtOnce saves a file in the moment before the exchange.
func comparedAtOnce(t *testing.T, s *served) {
	s.write(t, "a.md", song)
	s.files.mu.Lock()
	s.files.before = func() { s.save(t, "a.md", song+"mine\n") }
	s.files.mu.Unlock()
	s.write(t, "a.md", strings.Replace(song, "one", "ONE", 1))
	require.Equal(t, song+"mine\n", s.file(t, "a.md"), "it is not overwritten")
	s.reindex(t)
	s.agree(t, map[string]string{"a.md": strings.Replace(song, "one", "ONE", 1) + "mine\n"})
	s.kept(t, map[string]string{"a.md": song + "mine\n"})
}

// lookedAtAgain is an editor that has its file open while the checkout replaces it, and then saves
// into the open file. The save is found by the next start at the latest. A replaced file that is
// not written again is no edit.
func lookedAtAgain(t *testing.T, s *served) {
	s.write(t, "a.md", song)
	s.write(t, "b.md", song)
	file, err := os.OpenFile(s.path("a.md"), os.O_WRONLY, 0)
	require.NoError(t, err)
	ours := strings.Replace(song, "one", "ONE", 1)
	s.write(t, "a.md", ours)
	s.write(t, "b.md", ours)
	_, err = file.WriteString(song + "mine\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	s.reindex(t)
	before := s.vault.Known().Version()
	s.restart(t)
	s.agree(t, map[string]string{"a.md": ours + "mine\n", "b.md": ours})
	require.Equal(t, before+1, s.vault.Known().Version())
	s.restart(t)
	require.Equal(t, before+1, s.vault.Known().Version(), "it is taken in once")
}

func holdsNoCursor(t *testing.T, s *served) {
	s.write(t, "a.md", song)
	s.save(t, "a.md", "mine\n")
	s.write(t, "a.md", song+"ours\n")
	require.Equal(t, "mine\n", s.file(t, "a.md"), "it is left")
	require.Contains(t, s.control(t).Noticed.Paths, "a.md", "and marked")
	s.write(t, "b.md", "b\n")
	last := s.vault.Known().Version()
	s.folder.Close()
	require.GreaterOrEqual(t, cursor(t, s.vault, "checkout"), last)
}

func mayReplace(t *testing.T, s *served) {
	s.write(t, "a.md", song)
	s.save(t, "a.md", song+"mine\n")
	_, err := s.folder.Sweep(t.Context())
	require.NoError(t, err)
	s.write(t, "a.md", strings.Replace(song, "one", "ONE", 1))
	s.reindex(t)
	want := strings.Replace(song, "one", "ONE", 1) + "mine\n"
	s.agree(t, map[string]string{"a.md": want})
	c, err := s.vault.Commit(t.Context(), s.vault.Known().Version())
	require.NoError(t, err)
	require.Equal(t, "reindex", c.Tool)
	require.Equal(t, song+"mine\n", string(c.Notes[0].Theirs))
}

func deletionTakesIn(t *testing.T, s *served) {
	s.write(t, "a.md", song)
	s.save(t, "a.md", song+"mine\n")
	require.NoError(t, put(t.Context(), s.vault, "a.md", nil))
	require.Equal(t, song+"mine\n", s.file(t, "a.md"))
	s.reindex(t)
	s.agree(t, map[string]string{"a.md": song + "mine\n"})
}

func writesNothingElse(t *testing.T, s *served) {
	s.save(t, "mine.md", "mine\n")
	s.save(t, ".obsidian/app.json", "{}\n")
	s.save(t, "picture.png", "png\n")
	s.reindex(t)
	s.write(t, "ours.md", "ours\n")
	s.write(t, ".trash/old.md", "old\n")
	s.save(t, "ours.md", "theirs\n")
	s.reindex(t)
	s.folder.Close()
	require.NoError(t, s.disk.Close())
	want := []string{
		".obsidian", ".obsidian/app.json", ".raven", ".raven/audit.log", ".trash", ".trash/old.md",
		"mine.md", "ours.md", "picture.png",
	}
	require.Equal(t, want, s.paths(t))
	require.Equal(t, map[string]string{"mine.md": "mine\n", "ours.md": "theirs\n"},
		s.inLog(t))
}
