package tree_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkTools makes calls on a vault of 10,000 notes and 100,000 nodes, in folders of 100 notes. What is counted is
// all that a call costs in the process, from its JSON to that of its answer.
func BenchmarkTools(b *testing.B) {
	p := open(b, nil)
	for dir := range 100 {
		files := map[string]string{}
		for i := range 100 {
			text := fmt.Sprintf("---\nstatus: s%d\n---\n\n# N\n\ntext\n", i%10)
			files[fmt.Sprintf("f%03d/n%02d.md", dir, i)] = text + strings.Repeat("\n## S\n\ntext\n", 9)
		}
		p.put(b, files)
	}
	token := p.token(b)
	for _, c := range []struct {
		name, tool string
		in         args
	}{
		{"get_node", "get_node", args{"nodeId": "f050/n50#s-5"}},
		{"get_view of 200", "get_view", args{"rootNodeId": "/", "limit": 200}},
		{"get_subtree of 1000 in pages of 200", "get_subtree", args{"nodeId": "f050/", "limit": 200}},
		{"toggle_node", "toggle_node", args{"nodeId": "f050/", "versionToken": token}},
		{"select_nodes over all", "select_nodes", args{"queryDsl": "status = s3 AND path startswith f001"}},
		{"select_nodes by title over all", "select_nodes", args{"queryDsl": "title = none"}},
		{"select_nodes below a folder of 100", "select_nodes", args{"queryDsl": "status = s3", "rootNodeId": "f050/"}},
	} {
		c.in["vault"], c.in["envelope"] = "v", false
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				p.pages(b, "tree_"+c.tool, c.in)
			}
		})
	}
}

// BenchmarkStructure makes the changes of the structure that reference/tree.md and the issue have figures for: a section
// moves in a note, 1,000 notes with 5,000 references move with their folder, and 1,000 children are sorted.
func BenchmarkStructure(b *testing.B) {
	b.Run("a field of a note", func(b *testing.B) {
		p, i := open(b, website), 0
		for b.Loop() {
			i++
			p.write(b, "update_payload_property", args{"nodeId": w(""), "propertyName": "n", "newValue": i})
		}
	})
	b.Run("a section", func(b *testing.B) {
		p, i := open(b, website), 0
		for b.Loop() {
			i++
			p.write(b, "move_node", args{"nodeId": w("#q1"), "newParentId": w([]string{"#notes", "#goals"}[i%2])})
		}
	})
	b.Run("a folder of 1000 notes", func(b *testing.B) {
		files := map[string]string{"other/x.md": ""}
		for i := range 1000 {
			text := "# N\n"
			for k := range 5 {
				text += fmt.Sprintf("\n[[all/n%03d#n]]\n", (i*7+k*131)%1000)
			}
			files[fmt.Sprintf("all/n%03d.md", i)] = text
		}
		p, i := open(b, files), 0
		for b.Loop() {
			i++
			from, to := "all/", "other/"
			if i%2 == 0 {
				from, to = "other/all/", "/"
			}
			p.write(b, "move_node", args{"nodeId": from, "newParentId": to})
		}
	})
	b.Run("1000 children", func(b *testing.B) {
		text := "# N\n"
		for i := range 1000 {
			text += fmt.Sprintf("\n## S%d\n::section(n=%d)\n\ntext\n", i, i*7919%1000)
		}
		p, i := open(b, map[string]string{"n.md": text}), 0
		for b.Loop() {
			i++
			p.write(b, "sort_children", args{"parentId": "n", "byProp": "n", "direction": []string{"asc", "desc"}[i%2]})
		}
	})
}

// pages makes a call; of a subtree, one for each of its first five pages.
func (p *place) pages(b *testing.B, name string, in args) {
	delete(in, "pageToken")
	for range 5 {
		answer, err := p.Invoke(b.Context(), name, marshalled(b, in))
		if err != nil {
			b.Fatal(err)
		}
		var next struct{ NextPageToken string }
		if name != "tree_get_subtree" {
			return
		}
		if json.Unmarshal(answer, &next); next.NextPageToken == "" {
			return
		}
		in["pageToken"] = next.NextPageToken
	}
}

// BenchmarkTime compares, restores and merges in a vault of 10,000 notes, of which 1,000 changed since a snapshot.
func BenchmarkTime(b *testing.B) {
	p := open(b, nil)
	note := func(dir, i, version int) (path, text string) {
		return fmt.Sprintf("f%02d/n%03d.md", dir, i), fmt.Sprintf("---\nstatus: s%d\n---\n\n# N\n\ntext %d\n\n## S\n\ntext\n", i%10, version)
	}
	put := func(dirs, version int) {
		files := map[string]string{}
		for dir := range dirs {
			for i := range 1000 {
				path, text := note(dir, i, version)
				files[path] = text
			}
		}
		p.put(b, files)
	}
	put(10, 0)
	p.write(b, "snapshot_create", args{"label": "old"})
	put(1, 1)
	p.write(b, "snapshot_create", args{"label": "new"})
	b.Run("diff of 10000 notes", func(b *testing.B) {
		for b.Loop() {
			p.data(b, "snapshot_diff", args{"a": "old", "b": "new"})
		}
	})
	b.Run("diff of 10000 notes, without texts", func(b *testing.B) {
		for b.Loop() {
			p.data(b, "snapshot_diff", args{"a": "old", "b": "new", "includePayloads": false})
		}
	})
	labels, n := []string{"old", "new"}, 0
	b.Run("restore of 1000 notes", func(b *testing.B) {
		for b.Loop() {
			p.write(b, "snapshot_restore", args{"snapshotId": labels[n%2]})
			n++
		}
	})
	files := map[string]string{}
	for i := range 250 {
		files[fmt.Sprintf("merged/n%03d.md", i)] = "---\na: 1\n---\n\n# N\n\ntext\n\n## A\n\na\n\n### B\n\nb\n\n## C\n\nc\n"
	}
	p.put(b, files)
	root := p.data(b, "export_subtree", args{"nodeId": "merged/"})["json"].(args)
	n = 0
	b.Run("import_merge of 1000 nodes", func(b *testing.B) {
		for b.Loop() {
			n++
			for _, note := range root["children"].([]any) {
				for _, node := range append([]any{note}, note.(args)["children"].([]any)...) {
					node.(args)["body"] = fmt.Sprint("text ", n)
				}
			}
			p.write(b, "import_merge", args{"json": root, "strategy": "replace"})
		}
	})
}
