package localapp_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// movedVault returns a folder of notes that refer to each other, with a file that is not a note.
func movedVault() map[string]string {
	return map[string]string{
		"old/only.md":   "# Only\n\n![](pic.png)\n",
		"old/pic.png":   "\x89PNG",
		"deep/in/it.md": "# It\n",
		"box/one.md":    "---\ntags: [go]\n---\nTo [[two]].\n",
		"box/two.md":    "---\ntags: [go]\n---\nTo [[box/one]].\n",
		"use.md":        "# Use\n\nOf [[old/only]], [[deep/in/it]], [[box/one]] and [[box/two]].\n\nThe end.\n",
	}
}

// spellings returns the names in a folder, as they are on the disk.
func (p person) spellings(dir string) []string {
	p.Helper()
	entries, err := os.ReadDir(p.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(p, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// moveTo moves a note.
func moveTo(t *testing.T, via tool.Invoker, source, destination string) {
	t.Helper()
	must(t, via, "raven_move", args{"source": source, "destination": destination})
}

// TestFilesFollowMoves checks single and bulk moves in a folder: the files are at the new paths,
// empty folders are removed, files that are not notes stay, and names that differ by case are
// spelled as in the move.
func TestFilesFollowMoves(t *testing.T) {
	t.Parallel()
	p := newPerson(t, movedVault())
	app := p.open("v")
	via, stop := serve(t, app)
	moveTo(t, via, "deep/in/it", "it")
	require.Nil(t, p.spellings("v/deep"), "folders that became empty are gone")
	moveTo(t, via, "old/only", "new/only")
	require.Equal(t, []string{"pic.png"}, p.spellings("v/old"), "a file that is no note stays")
	moveTo(t, via, "new/only", "new/Only")
	require.Equal(t, []string{"Only.md"}, p.spellings("v/new"))
	moveTo(t, via, "new/Only", "New/only")
	files := folder(t, p.path("v"))
	require.Equal(t, "# Only\n\n![](../old/pic.png)\n", files["New/only.md"])
	require.NotContains(t, files, "new/Only.md")

	bulk := args{"query": "type:page .tags==go", "destination": "all/", "dry_run": true}
	bulk["plan_token"] = planToken(t, must(t, via, "raven_move", bulk))
	delete(bulk, "dry_run")
	must(t, via, "raven_move", bulk)
	require.Nil(t, p.spellings("v/box"))
	require.Equal(t, []string{"one.md", "two.md"}, p.spellings("v/all"))
	files = folder(t, p.path("v"))
	require.Equal(t, "# Use\n\nOf [[new/only]], [[it]], [[all/one]] and [[all/two]].\n\nThe end.\n", files["use.md"])
	require.Contains(t, files["all/two.md"], "[[all/one]]")
	notes := p.texts("v")
	stop()
	p.close(app)

	app = p.open("v")
	defer p.close(app)
	require.Empty(t, app.Changes(), "a start takes nothing in where nobody changed anything")
	require.Equal(t, notes, p.texts("v"))
}

// planToken returns the plan token of a dry run.
func planToken(t *testing.T, a answer) string {
	t.Helper()
	var out struct {
		Token string `json:"plan_token"`
	}
	require.NoError(t, json.Unmarshal(a.Data, &out))
	require.NotEmpty(t, out.Token)
	return out.Token
}

// texts returns the notes in a folder by path, without those that disappear meanwhile.
func (p person) texts(dir string) map[string]string {
	texts := map[string]string{}
	_ = filepath.WalkDir(p.path(dir), func(path string, d fs.DirEntry, err error) error { // files that disappear are omitted
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") {
			return nil
		}
		if data, err := os.ReadFile(path); err == nil {
			rel, _ := filepath.Rel(p.path(dir), path) // it is below
			texts[filepath.ToSlash(rel)] = string(data)
		}
		return nil
	})
	return texts
}

// holds reports whether a file of a folder contains a text.
func holds(files map[string]string, text string) bool {
	for _, has := range files {
		if strings.Contains(has, text) {
			return true
		}
	}
	return false
}

// TestMovesBesideEdits checks notes that a person edits, renames and creates in the folder while
// tools move notes: every text is in a file and in a note at the end, and notes that the person did
// not change are moved.
func TestMovesBesideEdits(t *testing.T) {
	t.Parallel()
	files := movedVault()
	bulk := func(t *testing.T, via tool.Invoker) args {
		in := args{"query": "type:page .tags==go", "destination": "all/", "dry_run": true}
		in["plan_token"] = planToken(t, must(t, via, "raven_move", in))
		delete(in, "dry_run")
		return in
	}
	for name, c := range map[string]struct {
		edit func(person)
		move func(*testing.T, tool.Invoker)
		text string // of the person
		want string // a note that is there afterwards
	}{
		"the moved note": {
			func(p person) { p.write("v/old/only.md", files["old/only.md"]+"\nby hand\n") },
			func(t *testing.T, via tool.Invoker) { moveTo(t, via, "old/only", "new/only") }, "by hand", "new/only",
		},
		"a note that refers to it": {
			func(p person) { p.write("v/use.md", strings.Replace(files["use.md"], "The end.", "by hand", 1)) },
			func(t *testing.T, via tool.Invoker) { moveTo(t, via, "old/only", "new/only") }, "by hand", "new/only",
		},
		"the line of the reference": {
			func(p person) { p.write("v/use.md", strings.Replace(files["use.md"], "Of", "by hand", 1)) },
			func(t *testing.T, via tool.Invoker) { moveTo(t, via, "old/only", "new/only") }, "by hand", "new/only",
		},
		"case only": {
			func(p person) { p.write("v/old/only.md", files["old/only.md"]+"\nby hand\n") },
			func(t *testing.T, via tool.Invoker) {
				require.Eventually(t, func() bool { // until the edit is in the vault, it is CONFLICT
					_, err := call(t.Context(), via, "raven_move", args{"source": "old/only", "destination": "old/Only"})
					return err == nil
				}, time.Minute, 100*time.Millisecond)
			}, "by hand", "old/Only",
		},
		"a note where it goes": {
			func(p person) { p.write("v/new/only.md", "by hand\n") },
			func(t *testing.T, via tool.Invoker) {
				_, _ = call(t.Context(), via, "raven_move", args{"source": "old/only", "destination": "new/only"})
			},
			"by hand", "new/only",
		},
		"a rename by hand": {
			func(p person) {
				require.NoError(p, os.Rename(p.path("v/old/only.md"), p.path("v/old/by-hand.md")))
			},
			func(t *testing.T, via tool.Invoker) { moveTo(t, via, "deep/in/it", "old/it") }, "# Only", "old/by-hand",
		},
		"all of a query": {
			func(p person) {
				p.write("v/box/one.md", files["box/one.md"]+"\nby hand\n")
				p.write("v/box/three.md", "---\ntags: [go]\n---\n")
			},
			func(t *testing.T, via tool.Invoker) {
				if _, err := call(t.Context(), via, "raven_move", bulk(t, via)); err != nil {
					require.True(t, fault.Is(err, fault.Conflict), err)
					must(t, via, "raven_move", bulk(t, via))
				}
			}, "by hand", "all/one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t, files)
			app := p.open("v")
			defer p.close(app)
			via, stop := serve(t, app)
			defer stop()
			c.edit(p)
			c.move(t, via)
			require.Eventually(t, func() bool {
				all, notes := p.texts("v"), noteTexts(t, via)
				_, is := notes[c.want+".md"]
				return is && holds(all, c.text) && maps.Equal(all, notes) && statsOf(t, via, nil).Freshness == "fresh"
			}, time.Minute, 20*time.Millisecond)
			require.Equal(t, "\x89PNG", folder(t, p.path("v"))["old/pic.png"])
		})
	}
}

// noteTexts returns the texts of the notes of the vault "v", by path.
func noteTexts(t *testing.T, via tool.Invoker) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, id := range ids(t, via) {
		if a, err := call(t.Context(), via, "raven_read", args{"path": id}); err == nil {
			texts[id+".md"] = intoText(a)
		}
	}
	return texts
}
