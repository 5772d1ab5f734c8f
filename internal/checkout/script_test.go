package checkout_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A scene is a served folder of 60 notes in 4 folders, in which a script is run.
type scene struct {
	*served
	start  map[string]string
	gitDir string // of the repository, where that is elsewhere
}

// notesOf returns the texts of the notes at the start. Those of one folder are parts of one song.
func notesOf(n int) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("%c/%02d.md", 'a'+i%4, i)] = fmt.Sprintf("# Note %d\n\none\ntwo\nthree %d\n", i, i)
	}
	return all
}

// A way is how the folder is followed while a script runs.
type way struct {
	name    string
	watched bool
	clients int // they write meanwhile, to notes of their own
}

func ways() []way {
	return []way{{"watched", true, 0}, {"swept", false, 0}, {"watched, beside clients", true, 2}}
}

// play runs a test for one way, drawn by a seed, or for every way with ROOKERY_SOAK. prepare adds
// to the folder, before it is served, whatever the script needs.
func play(t *testing.T, prepare func(t *testing.T, s *scene), script func(t *testing.T, s *scene)) {
	t.Helper()
	playAt(t, 10, prepare, script)
}

// playAt is play at a higher speed. It must not be too high for a test that relies on related
// changes being less than the debounce time apart.
func playAt(
	t *testing.T, hurry int, prepare func(*testing.T, *scene), script func(*testing.T, *scene),
) {
	t.Parallel()
	for _, w := range sampled(drawn(t), ways()) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := &scene{served: newServed(t, grounds()[0]), start: notesOf(60)}
			for path, text := range s.start {
				s.save(t, path, text)
			}
			if prepare != nil {
				prepare(t, s)
			}
			o := checkout.Options{}
			if w.watched {
				o = s.watched()
			}
			s.serve(t, o.Hurried(hurry))
			s.agree(t, s.start)
			stop := s.beside(t, w.clients)
			defer stop()
			script(t, s)
		})
	}
}

// beside lets clients write until stop is called, and then requires that each of their notes has
// the text that they wrote last.
func (s *scene) beside(t *testing.T, clients int) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	var all sync.WaitGroup
	last := make([]string, clients)
	for i := range clients {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				case <-time.After(time.Duration(5+rand.IntN(20)) * time.Millisecond):
				}
				text := fmt.Sprintf("client %d, line %d\n", i, n)
				if err := put(t.Context(), s.vault, s.ofClient(i), []byte(text)); err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
				last[i] = text
			}
		})
	}
	return func() {
		close(done)
		all.Wait()
		if t.Failed() {
			return
		}
		for i, want := range last {
			require.Equal(t, want, text(t, s.vault, s.ofClient(i)))
			require.Equal(t, want, s.file(t, s.ofClient(i)))
		}
	}
}

func (s *scene) ofClient(i int) string { return fmt.Sprintf("clients/%d.md", i) }

// run runs a program in the folder.
func (s *scene) run(t *testing.T, program string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: %v", program, err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s: %s", program, strings.Join(args, " "), out)
}

// git runs Git in the folder, which is a repository.
func (s *scene) git(t *testing.T, args ...string) {
	t.Helper()
	if s.gitDir != "" {
		args = append([]string{"--git-dir=" + s.gitDir, "--work-tree=."}, args...)
	}
	s.run(t, "git", append([]string{
		"-c", "user.name=freya", "-c", "user.email=freya@example.com", "-c", "init.defaultBranch=main",
		"-c", "commit.gpgsign=false", "-c", "core.autocrlf=false", "-c", "gc.auto=0",
		"-c", "advice.detachedHead=false",
	}, args...)...)
}

// mine returns the notes of a set that no client writes.
func mine(notes map[string]string) map[string]string {
	notes = maps.Clone(notes)
	maps.DeleteFunc(notes, func(path, _ string) bool { return strings.HasPrefix(path, "clients/") })
	return notes
}

// becomes waits until the vault has these notes, in addition to those of clients, and then requires
// that the folder has them too.
func (s *scene) becomes(t *testing.T, want map[string]string) {
	t.Helper()
	require.Eventually(t, func() bool { return maps.Equal(want, mine(s.inLog(t))) },
		waitLong, waitStep, "the vault does not come to what it should be")
	require.Eventually(t, func() bool { return maps.Equal(want, mine(s.inFolder(t))) },
		waitLong, waitStep, "the folder does not come to what it should be")
	require.Eventually(t, func() bool { return s.control(t).Held == nil && len(s.left(t)) == 0 },
		waitLong, waitStep, "something is held or left")
}

// holds waits until a batch is held that removes and reverts so many notes, and requires that none
// of it is in the vault.
func (s *scene) holds(t *testing.T, removed, reverted int) {
	t.Helper()
	require.Eventually(t, func() bool {
		h := s.control(t).Held
		return h != nil && h.Removed == removed && h.Reverted == reverted
	}, waitLong, waitStep, "no such batch is held: %+v", s.control(t).Held)
	require.Equal(t, s.start, mine(s.inLog(t)))
}

// otherBranch makes the folder a repository with another branch, in which gone notes are removed,
// 10 are changed and 5 are new. The branch main is checked out at the end.
func otherBranch(gone int) func(t *testing.T, s *scene) {
	return func(t *testing.T, s *scene) {
		s.git(t, "init", "-q")
		s.git(t, "add", "-A")
		s.git(t, "commit", "-q", "-m", "all")
		s.git(t, "checkout", "-q", "-b", "other")
		for path, text := range s.onOther(gone) {
			if text == "(none)" {
				s.remove(t, path)
			} else {
				s.save(t, path, text)
			}
		}
		s.git(t, "add", "-A")
		s.git(t, "commit", "-q", "-m", "other")
		s.git(t, "checkout", "-q", "main")
	}
}

// branchElsewhere is otherBranch for a repository whose own files are outside the folder, so that
// nothing in the folder shows that Git changed it.
func branchElsewhere(gone int) func(t *testing.T, s *scene) {
	return func(t *testing.T, s *scene) {
		s.gitDir = filepath.Join(t.TempDir(), "repository")
		otherBranch(gone)(t, s)
	}
}

// TestCheckoutThatGitTellsOf checks that a checkout of a branch is one commit that names Git as its
// cause, because Git changed its own files in the same moment, and so is the checkout of main.
func TestCheckoutThatGitTellsOf(t *testing.T) {
	playAt(t, 5, otherBranch(30), func(t *testing.T, s *scene) {
		s.git(t, "checkout", "-q", "other")
		s.becomes(t, with(s.start, s.onOther(30)))
		told := 0
		for c, err := range s.vault.Commits(t.Context(), s.taken()+1) {
			require.NoError(t, err)
			for _, n := range c.Notes {
				if strings.Contains(string(n.Events), `"cause":"git checkout"`) {
					told++
				}
			}
		}
		require.GreaterOrEqual(t, told, 30, "the commit says what it is")
		s.git(t, "checkout", "-q", "main")
		s.becomes(t, s.start)
	})
}

// onOther returns the differences of the other branch.
func (s *scene) onOther(gone int) map[string]string {
	changes := map[string]string{}
	for i := range gone {
		changes[fmt.Sprintf("%c/%02d.md", 'a'+i%4, i)] = "(none)"
	}
	for i := 45; i < 55; i++ {
		path := fmt.Sprintf("%c/%02d.md", 'a'+i%4, i)
		changes[path] = strings.Replace(s.start[path], "two", "two, on the other branch", 1)
	}
	for i := range 5 {
		changes[fmt.Sprintf("new/%d.md", i)] = fmt.Sprintf("new %d\n", i)
	}
	return changes
}

// texts returns the changes of a set that are not removals.
func texts(changes map[string]string) map[string]string {
	changes = maps.Clone(changes)
	maps.DeleteFunc(changes, func(_, text string) bool { return text == "(none)" })
	return changes
}

// TestCheckoutOfABranchThatTakesMuchAway checks that a batch of a branch without 30 of 60 notes is
// held as a whole, with its changed and new notes. After the checkout of main nothing is held, and
// no commit was made.
func TestCheckoutOfABranchThatTakesMuchAway(t *testing.T) {
	playAt(t, 5, branchElsewhere(30), func(t *testing.T, s *scene) {
		s.git(t, "checkout", "-q", "other")
		s.holds(t, 30, 0)
		s.git(t, "checkout", "-q", "main")
		s.becomes(t, s.start)
		for c, err := range s.vault.Commits(t.Context(), s.taken()+1) {
			require.NoError(t, err)
			require.NotEqual(t, "reindex", c.Tool, "nothing was taken in")
		}
	})
}

// taken returns the version at which the vault began to be followed: one commit ingested the start.
func (s *scene) taken() uint64 { return 2 }

// TestCheckoutOfABranchThatIsAccepted checks that the vault has the state of the branch after the
// decision accept. After the checkout of main the removed notes exist again, as new ones, and the
// changed ones are reversals, ten of which are too few to be held.
func TestCheckoutOfABranchThatIsAccepted(t *testing.T) {
	playAt(t, 5, branchElsewhere(30), func(t *testing.T, s *scene) {
		s.git(t, "checkout", "-q", "other")
		s.holds(t, 30, 0)
		s.answer(t, checkout.Accept)
		s.becomes(t, with(s.start, s.onOther(30)))
		s.git(t, "checkout", "-q", "main")
		s.becomes(t, s.start)
		s.kept(t, s.start)
		s.kept(t, texts(s.onOther(30)))
	})
}

// TestCheckoutOfABranchThatIsDiscarded checks that the folder has the state of the vault after the
// decision discard, and that texts that only the branch had are in the trash.
func TestCheckoutOfABranchThatIsDiscarded(t *testing.T) {
	playAt(t, 5, branchElsewhere(30), func(t *testing.T, s *scene) {
		s.git(t, "checkout", "-q", "other")
		s.holds(t, 30, 0)
		s.answer(t, checkout.Discard)
		s.becomes(t, s.start)
		for path, text := range texts(s.onOther(30)) {
			require.Equal(t, text, s.file(t, ".trash/"+path))
		}
		s.kept(t, texts(s.onOther(30)))
	})
}

// TestCheckoutThereAndBackAtOnce checks that two checkouts within the debounce time have no effect.
func TestCheckoutThereAndBackAtOnce(t *testing.T) {
	play(t, otherBranch(10), func(t *testing.T, s *scene) {
		s.git(t, "checkout", "-q", "other")
		s.git(t, "checkout", "-q", "main")
		s.save(t, "z.md", "a mark behind it\n")
		s.becomes(t, with(s.start, map[string]string{"z.md": "a mark behind it\n"}))
	})
}

// TestCheckoutOfABranchThatTakesLittleAway checks that a branch without ten notes is synced,
// because the guard holds only more, and so is the checkout of main.
func TestCheckoutOfABranchThatTakesLittleAway(t *testing.T) {
	playAt(t, 3, otherBranch(10), func(t *testing.T, s *scene) {
		s.git(t, "checkout", "-q", "other")
		s.becomes(t, with(s.start, s.onOther(10)))
		s.git(t, "checkout", "-q", "main")
		s.becomes(t, s.start)
		s.kept(t, texts(s.onOther(10)))
	})
}

// TestSlowCheckout is a checkout that takes several times the debounce time. Its first changes are
// synced while it runs; its removals wait for each other, so that they are held together.
func TestSlowCheckout(t *testing.T) {
	playAt(t, 2, nil, func(t *testing.T, s *scene) {
		changes := s.onOther(30)
		last, widest := time.Now(), time.Duration(0)
		for path, text := range changes {
			if text == "(none)" {
				s.remove(t, path)
				widest, last = max(widest, time.Since(last)), time.Now()
			} else {
				s.save(t, path, text)
			}
			time.Sleep(70 * time.Millisecond) // the test needs a long duration
		}
		if widest > 500*time.Millisecond {
			t.Skipf("the machine was too busy: nothing was removed for %s", widest)
		}
		require.Eventually(t, func() bool {
			h := s.control(t).Held
			return h != nil && h.Removed == 30
		}, waitLong, waitStep, "it is not held as one")
		require.Subset(t, slices.Collect(maps.Keys(s.inLog(t))), slices.Collect(maps.Keys(s.start)))
	})
}

// TestStash checks git stash, which restores files, so its edits are reversals of ingested changes;
// git stash pop undoes that. They are too few to be held, and are ingested at once.
func TestStash(t *testing.T) {
	play(t, otherBranch(0), func(t *testing.T, s *scene) {
		changes := map[string]string{"a/00.md": "(none)", "b/01.md": "another text\n"}
		s.remove(t, "a/00.md")
		s.save(t, "b/01.md", "another text\n")
		s.becomes(t, with(s.start, changes))
		s.git(t, "stash", "-q")
		s.becomes(t, s.start)
		s.git(t, "stash", "pop", "-q")
		s.becomes(t, with(s.start, changes))
	})
}

// TestStashOfMuch checks that more than 20 notes with earlier texts are held.
func TestStashOfMuch(t *testing.T) {
	playAt(t, 5, otherBranch(0), func(t *testing.T, s *scene) {
		changed := maps.Clone(s.start)
		for path, text := range changed {
			changed[path] = text + "and more\n"
			s.save(t, path, changed[path])
		}
		s.becomes(t, changed)
		s.git(t, "stash", "-q")
		s.start = changed
		s.holds(t, 0, 60)
		s.git(t, "stash", "pop", "-q")
		s.becomes(t, changed)
	})
}

// TestOlderCopy copies an older state over the folder, with its times, as rsync -a does: for a note
// that was changed since, it is a reversal, and many of them are held; notes newer than the copy
// remain.
func TestOlderCopy(t *testing.T) {
	playAt(t, 3, func(t *testing.T, s *scene) {
		s.run(t, "cp", "-a", s.dir, s.dir+".old")
	}, func(t *testing.T, s *scene) {
		changed := maps.Clone(s.start)
		for path, text := range s.start {
			changed[path] = text + "and more\n"
			s.save(t, path, changed[path])
		}
		changed["since.md"] = "made since\n"
		s.save(t, "since.md", "made since\n")
		s.becomes(t, changed)
		copying := []string{"cp", "-a", s.dir + ".old/.", s.dir}
		if _, err := exec.LookPath("rsync"); err == nil {
			copying = []string{"rsync", "-a", s.dir + ".old/", s.dir + "/"}
		}
		old := s.start
		s.start = changed
		s.run(t, copying[0], copying[1:]...)
		s.holds(t, 0, 60)
		s.answer(t, checkout.Accept)
		s.becomes(t, with(old, map[string]string{"since.md": "made since\n"}))
		s.kept(t, changed)
	})
}

// TestOlderCopySeenHalfway checks that a sweep that finds the first files of an older copy does not
// sync them alone. They are held together with the later ones.
func TestOlderCopySeenHalfway(t *testing.T) {
	playAt(t, 2, nil, func(t *testing.T, s *scene) {
		changed := maps.Clone(s.start)
		for path, text := range s.start {
			changed[path] = text + "and more\n"
			s.save(t, path, changed[path])
		}
		s.becomes(t, changed)
		old := slices.Sorted(maps.Keys(s.start))
		for _, path := range old[:15] {
			s.save(t, path, s.start[path])
		}
		_, err := s.folder.Sweep(t.Context())
		require.NoError(t, err)
		for _, path := range old[15:] {
			s.save(t, path, s.start[path])
		}
		s.start = changed
		s.holds(t, 0, 60)
	})
}

// TestMassRename moves all notes into another folder under other names: every note keeps its
// identity, and nothing is held, because nothing is removed.
func TestMassRename(t *testing.T) {
	play(t, nil, func(t *testing.T, s *scene) {
		want := map[string]string{}
		s.run(t, "sh", "-c", `for f in ?/*.md; do mkdir -p "all/${f%/*}" && `+
			`mv "$f" "all/${f%.md}, renamed.md"; done; rmdir a b c d`)
		for path, text := range s.start {
			want["all/"+strings.TrimSuffix(path, ".md")+", renamed.md"] = text
		}
		s.becomes(t, want)
		moved := 0
		for c, err := range s.vault.Commits(t.Context(), 1) {
			require.NoError(t, err)
			for _, n := range c.Notes {
				if n.From != "" {
					require.Equal(t, s.start[n.From], want[n.Path])
					moved++
				}
			}
		}
		require.Equal(t, 60, moved)
	})
}

// TestHalfRemoved checks that rm -rf of two of four folders is held, and that nothing is lost with
// either decision.
func TestHalfRemoved(t *testing.T) {
	for _, word := range []checkout.Pending{checkout.Accept, checkout.Discard} {
		t.Run(string(word), func(t *testing.T) {
			playAt(t, 5, nil, func(t *testing.T, s *scene) {
				s.run(t, "rm", "-rf", "a", "b")
				s.holds(t, 30, 0)
				s.answer(t, word)
				want := maps.Clone(s.start)
				if word == checkout.Accept {
					maps.DeleteFunc(want, func(path, _ string) bool { return path[0] < 'c' })
				}
				s.becomes(t, want)
				s.kept(t, s.start)
			})
		})
	}
}

// TestCaseOnlyRename checks that it is one rename.
func TestCaseOnlyRename(t *testing.T) {
	play(t, nil, func(t *testing.T, s *scene) {
		s.run(t, "mv", "a", "A")
		s.run(t, "mv", "b/01.md", "b/01x.md")
		s.run(t, "mv", "b/01x.md", "b/01X.md")
		want := map[string]string{}
		for path, text := range s.start {
			switch {
			case path[0] == 'a':
				path = "A" + path[1:]
			case path == "b/01.md":
				path = "b/01X.md"
			}
			want[path] = text
		}
		s.becomes(t, want)
	})
}

// TestNoteReplacedByADirectory checks that the note is removed and its text is in the history, and
// that the directory and its files are reported, because no note can have the name of the
// directory.
func TestNoteReplacedByADirectory(t *testing.T) {
	play(t, nil, func(t *testing.T, s *scene) {
		s.run(t, "sh", "-c", "rm a/00.md && mkdir a/00.md && echo new > a/00.md/in.md")
		want := with(s.start, map[string]string{"a/00.md": "(none)"})
		require.Eventually(t, func() bool {
			// A sweep that began before the change may forget one of them, until the next one.
			left := s.left(t)
			return maps.Equal(want, mine(s.inLog(t))) && len(left) == 2 &&
				left[0].Path == "a/00.md" && left[1].Path == "a/00.md/in.md"
		}, waitLong, waitStep)
		s.kept(t, s.start)
		err := put(t.Context(), s.vault, "a/00.md", []byte("ours\n"))
		require.True(t, fault.Is(err, fault.Conflict), "%v", err)
		s.run(t, "rm", "-r", "a/00.md")
		s.becomes(t, want)
		s.write(t, "a/00.md", "ours\n")
		s.becomes(t, with(want, map[string]string{"a/00.md": "ours\n"}))
	})
}

// TestGitKeepsHouse checks git gc, which changes only folders whose names begin with a dot and that
// contain no notes, and git clean, which removes files that are not committed, except those
// folders.
func TestGitKeepsHouse(t *testing.T) {
	play(t, otherBranch(0), func(t *testing.T, s *scene) {
		s.save(t, ".obsidian/plugin.md", "no note\n")
		s.save(t, "loose.md", "not committed\n")
		s.git(t, "gc", "-q")
		s.becomes(t, with(s.start, map[string]string{"loose.md": "not committed\n"}))
		s.git(t, "clean", "-q", "-fdx", "-e", "clients", "-e", ".raven")
		s.becomes(t, s.start)
		s.kept(t, map[string]string{"loose.md": "not committed\n"})
	})
}

// TestUnpackedOver unpacks an older state over the folder: the guard holds nothing, because none of
// the texts is an earlier text of a note.
func TestUnpackedOver(t *testing.T) {
	play(t, nil, func(t *testing.T, s *scene) {
		archive := s.dir + ".tar"
		s.run(t, "sh", "-c", `mkdir ../x && cp -r a b ../x && cd ../x && `+
			`for f in */*.md; do echo unpacked >> $f; done; echo new > new.md; tar cf `+archive+` .`)
		s.run(t, "tar", "xf", archive)
		want := with(s.start, map[string]string{"new.md": "new\n"})
		for path, text := range s.start {
			if path[0] < 'c' {
				want[path] = text + "unpacked\n"
			}
		}
		s.becomes(t, want)
	})
}

// TestFolderMovedIn moves a folder with 300 notes in, out, and in again. The removal is held, and
// after the last move nothing is.
func TestFolderMovedIn(t *testing.T) {
	playAt(t, 5, nil, func(t *testing.T, s *scene) {
		want := maps.Clone(s.start)
		s.run(t, "mkdir", "-p", "../in/deep")
		for i := range 300 {
			path := fmt.Sprintf("in/deep/%03d.md", i)
			want[path] = fmt.Sprintf("in %d\n", i)
			s.save(t, "../"+path, want[path])
		}
		s.run(t, "mv", "../in", ".")
		s.becomes(t, want)
		s.start = want
		s.run(t, "mv", "in", "../out")
		s.holds(t, 300, 0)
		s.run(t, "mv", "../out", "in")
		s.becomes(t, want)
	})
}

// TestNamesThatGoRound exchanges the names of two notes, and gives one note three names within a
// moment.
func TestNamesThatGoRound(t *testing.T) {
	play(t, nil, func(t *testing.T, s *scene) {
		s.run(t, "sh", "-c", "mv a/00.md x && mv b/01.md a/00.md && mv x b/01.md && "+
			"mv c/02.md c/2.md && mv c/2.md d/2.md && mv d/2.md two.md")
		s.becomes(t, with(s.start, map[string]string{
			"a/00.md": s.start["b/01.md"], "b/01.md": s.start["a/00.md"],
			"c/02.md": "(none)", "two.md": s.start["c/02.md"],
		}))
	})
}

// TestRandomScripts runs scripts of random steps. After each, it requires that the vault and the
// folder have the same notes, and that the history has every text that existed when a batch closed.
// ROOKERY_SOAK=1 runs many.
func TestRandomScripts(t *testing.T) {
	rounds := 6
	if os.Getenv("ROOKERY_SOAK") != "" {
		rounds = 300
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	play(t, nil, func(t *testing.T, s *scene) {
		r := rand.New(rand.NewPCG(seed, 1))
		for range rounds {
			for range 1 + r.IntN(8) {
				s.randomStep(t, r)
			}
			s.settles(t)
			s.kept(t, mine(s.inFolder(t)))
		}
		s.kept(t, s.start)
	})
}

// settles waits until the vault and the folder have the same notes. It accepts held batches.
func (s *scene) settles(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		if s.control(t).Held != nil {
			s.answer(t, checkout.Accept)
		}
		return maps.Equal(mine(s.inFolder(t)), mine(s.inLog(t)))
	}, waitLong, waitStep, "the vault and the folder do not come to agree")
}

// randomStep makes one random change of the folder.
func (s *scene) randomStep(t *testing.T, r *rand.Rand) {
	t.Helper()
	dir := func() string { return string(rune('a' + r.IntN(6))) }
	note := func() string { return fmt.Sprintf("%s/%02d.md", dir(), r.IntN(60)) }
	switch r.IntN(7) {
	case 0:
		s.save(t, note(), fmt.Sprintf("random %d\n", r.IntN(1000)))
	case 1:
		_ = os.Remove(s.path(note())) // if it is there
	case 2:
		to := note()
		require.NoError(t, os.MkdirAll(s.path(to[:1]), 0o700))
		_ = os.Rename(s.path(note()), s.path(to))
	case 3:
		_ = os.Rename(s.path(dir()), s.path(dir())) // to a name that does not exist, or an empty folder
	case 4:
		require.NoError(t, os.RemoveAll(s.path(dir())))
	case 5:
		s.run(t, "cp", "-R", ".", "../copy")
		require.NoError(t, os.RemoveAll(s.path("../copy/clients")))
	case 6:
		if _, err := os.Stat(s.path("../copy")); err == nil {
			s.run(t, "sh", "-c", "cp -R ../copy/? . 2>/dev/null; rm -rf ../copy")
		}
	}
}
