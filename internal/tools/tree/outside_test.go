package tree_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// notesIn is the folder with the notes of the vault, in the directory of a place with folders.
func notesIn(t *testing.T, dir, note string) (folder string) {
	require.Eventually(t, func() bool {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Base(path) == note {
				folder = filepath.Dir(path)
			}
			return err
		})
		return err == nil && folder != ""
	}, time.Minute, 10*time.Millisecond)
	return folder
}

// save appends a line to a file as an editor does: it reads it, and puts another one in its place.
func save(t *testing.T, path, line string) {
	text, err := os.ReadFile(path)
	assert.NoError(t, err)
	next := filepath.Join(t.TempDir(), "next")
	assert.NoError(t, os.WriteFile(next, append(text, line+"\n"...), 0o600))
	assert.NoError(t, os.Rename(next, path))
}

// TestMovesRaceWithEditors covers that two agents that move sections between two notes, one that edits a section, and an
// editor that saves one of the files lose nothing: in the end each section is there once, under its identity, with its
// text, and so is each line of the editor.
func TestMovesRaceWithEditors(t *testing.T) {
	const rounds = 6
	dir := t.TempDir()
	p := openWith(t, dir, nil, true)
	defer func() { p.close() }()
	p.fill(t, map[string]string{
		"a.md": "# A\n\n## First\n\ntext of first\n\n## Second\n\ntext of second\n\n## Edited\n\nbody 0\n\n## Log\n\nlines\n",
		"b.md": "# B\n\n## Stays\n\nstays\n", "refs.md": "[[a#first]] [[a#second]]\n",
	})
	uids, files := p.allUIDs(t), notesIn(t, dir, "a.md")
	var wg sync.WaitGroup
	for _, name := range []string{"first", "second"} {
		wg.Go(func() {
			for i := range rounds {
				a := agent{p.as("mover of "+name, "")}
				_, err := a.untilWritten(t, "move_node", uids["a#"+name].(string), args{"newParentId": []string{"b", "a"}[i%2]})
				assert.NoError(t, err)
			}
		})
	}
	wg.Go(func() {
		for i := range rounds {
			a := agent{p.as("editor of a section", "")}
			in := args{"propertyName": "body", "newValue": fmt.Sprint("body ", i+1)}
			_, err := a.untilWritten(t, "update_payload_property", uids["a#edited"].(string), in)
			assert.NoError(t, err)
		}
	})
	wg.Go(func() {
		for i := range rounds {
			save(t, filepath.Join(files, "a.md"), fmt.Sprint("line ", i))
			time.Sleep(5 * time.Millisecond)
		}
	})
	wg.Wait()
	everything := func() string {
		all := ""
		for _, text := range p.files(t) {
			all += text
		}
		return all
	}
	require.Eventually(t, func() bool {
		all := everything()
		for i := range rounds {
			if !strings.Contains(all, fmt.Sprintf("line %d\n", i)) {
				return false
			}
		}
		return true
	}, time.Minute, 20*time.Millisecond, "each line of the editor is picked up")
	all := everything()
	for _, line := range []string{"## First\n", "## Second\n", "## Edited\n", "## Log\n", "text of first\n", "text of second\n", fmt.Sprintf("body %d\n", rounds)} {
		require.Equal(t, 1, strings.Count(all, line), "%q in:\n%s", line, all)
	}
	for _, name := range []string{"first", "second"} {
		node := p.data(t, "get_node", args{"nodeId": uids["a#"+name]})["node"].(args)
		require.Contains(t, node["body"], "text of "+name)
		require.Contains(t, p.file(t, "refs.md"), "[["+node["nodeId"].(string)+"]]")
	}
}

// untilWritten makes a change of a node, again as long as others were faster.
func (a agent) untilWritten(t *testing.T, name, uid string, in args) (token string, err error) {
	return a.untilDone(func() (string, error) {
		read, err := a.ask(t, "get_node", args{"nodeId": uid})
		if err != nil {
			return "", err
		}
		in["nodeId"], in["versionToken"] = uid, read["versionToken"]
		written, err := a.ask(t, name, in)
		if err != nil {
			return "", err
		}
		return written["versionToken"].(string), nil
	})
}
