package tree_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repotest"
)

// uid is the identity of a node; empty: there is no such node.
func (p *place) uid(t testing.TB, id string) string {
	t.Helper()
	uid, _ := p.allUIDs(t)[id].(string)
	return uid
}

// TestRestoreOfASection covers that a section gets its text, its place and its identities back, whatever became of it,
// and that nothing else changes.
func TestRestoreOfASection(t *testing.T) {
	const refs = "[[projects/website#goals]] [[projects/website#q1]]\n"
	files := maps.Clone(website)
	files["refs.md"], files["else.md"] = refs, "# Else\n\n## One\n"
	for name, do := range map[string]func(p *place){
		"its texts change": func(p *place) {
			p.write(t, "update_payload_property", args{"nodeId": w("#goals"), "propertyName": "content", "newValue": "Other.\n\n### Q1\n\nother\n\n### New"})
		},
		"its title changes": func(p *place) {
			p.write(t, "update_payload_property", args{"nodeId": w("#goals"), "propertyName": "title", "newValue": "Aims"})
		},
		"it is removed": func(p *place) { p.write(t, "remove_node", args{"nodeId": w("#goals")}) },
		"it moves to another note": func(p *place) {
			p.write(t, "move_node", args{"nodeId": w("#goals"), "newParentId": "else#one"})
		},
		"it moves below another section": func(p *place) {
			p.write(t, "move_node", args{"nodeId": w("#goals"), "newParentId": w("#notes")})
		},
		"it moves among its siblings": func(p *place) {
			p.write(t, "move_after", args{"nodeId": w("#goals"), "siblingId": w("#r")})
		},
		"it becomes a note": func(p *place) {
			p.write(t, "move_node", args{"nodeId": w("#goals"), "newParentId": "people/", "convert": true})
		},
		"its section becomes its parent's sibling": func(p *place) {
			p.write(t, "move_node", args{"nodeId": w("#q1"), "newParentId": w("")})
			p.write(t, "move_node", args{"nodeId": w("#goals"), "newParentId": w("#q1")})
			p.write(t, "remove_node", args{"nodeId": w("#q1")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, files)
			before, uids := p.files(t), p.allUIDs(t)
			p.write(t, "snapshot_create", args{"label": "s", "rootNodeId": w("#goals")})
			do(p)
			changed, in := p.tracked(t), p.with(t, args{"snapshotId": "s", "idempotencyKey": "k"})
			tried := p.write(t, "snapshot_restore", args{"snapshotId": "s", "dryRun": true})
			require.NotEmpty(t, tried["would_modify_files"])
			require.Equal(t, changed, p.tracked(t))
			old := p.refused(t, "snapshot_restore", args{"snapshotId": "s", "versionToken": "v2"})
			require.Equal(t, "conflict", string(old.Status()))

			answer := p.data(t, "snapshot_restore", in)
			require.Equal(t, before, p.tracked(t))
			require.Equal(t, uids, p.allUIDs(t))
			require.Equal(t, tried["counts"], answer["counts"])
			require.Equal(t, fmt.Sprint("v", version(t, in["versionToken"].(string))+1), answer["versionToken"], "it is one commit")
			diff := p.data(t, "snapshot_diff", args{"a": "s"})
			require.Equal(t, []any{[]any{}, []any{}}, []any{diff["structure"], diff["payload"]})
			require.Equal(t, answer["safetySnapshotId"], p.data(t, "snapshot_restore", in)["safetySnapshotId"])
			require.NotContains(t, p.write(t, "snapshot_restore", args{"snapshotId": "s"}), "safetySnapshotId", "nothing differs")

			p.write(t, "snapshot_restore", args{"snapshotId": answer["safetySnapshotId"]})
			require.Equal(t, changed, p.tracked(t), "the restore is taken back")
		})
	}
}

// TestRestoreOfASectionBesideOthers covers what stays as it is by now: sections that came beside it, sections that left
// it, and what the note around it says; and that sections that came into it go into the trash.
func TestRestoreOfASectionBesideOthers(t *testing.T) {
	p := open(t, website)
	p.write(t, "snapshot_create", args{"label": "s", "rootNodeId": w("#goals")})
	q1 := p.uid(t, w("#q1"))
	p.put(t, map[string]string{"projects/api.md": "Uses [[projects/website#goals]] and [[projects/website#q1]].\n"})
	p.write(t, "move_node", args{"nodeId": w("#q1"), "newParentId": "projects/api"})
	p.write(t, "add_child", args{"parentNodeId": w("#goals"), "payloadType": "section", "payloadProps": args{"title": "Later", "body": "late"}})
	p.write(t, "add_child", args{"parentNodeId": w(""), "payloadType": "section", "position": 0, "payloadProps": args{"title": "First"}})
	p.write(t, "update_payload_property", args{"nodeId": w("#goals"), "propertyName": "title", "newValue": "Aims"})
	p.write(t, "update_payload_property", args{"nodeId": w(""), "propertyName": "body", "newValue": "Other."})
	answer := p.write(t, "snapshot_restore", args{"snapshotId": "s"})
	require.Equal(t, "---\ntype: project\n---\n\n# Website\n\nOther.\n\n## First\n\n## Goals\n\nG text.\n\n### Q1\n\nq1 text\n\n"+
		"## Risks\n::risk(id=r, severity=2)\n\nR text.\n\n## Notes\n\n```\n## not a heading\n```\n", p.file(t, "projects/website.md"))
	require.Equal(t, "Uses [[projects/website#goals]] and [[projects/api#q1]].\n\n## Q1\n\nq1 text\n", p.file(t, "projects/api.md"))
	require.Equal(t, q1, p.uid(t, "projects/api#q1"), "what left it stays where it is")
	require.NotEqual(t, q1, p.uid(t, w("#q1")))
	require.Equal(t, args{w("#aims"): w("#goals")}, answer["idMap"])
	require.Equal(t, []any{w("#goals")}, answer["updated"])
	require.Equal(t, []any{w("#later")}, answer["removed"])
	require.Equal(t, map[string]bool{".trash/projects/website/later.md": true}, p.trash(t))
}

// TestRestoreOfASectionElsewhere covers that a section whose parent is gone comes below the nearest node that is left,
// and that it is refused if its note is gone.
func TestRestoreOfASectionElsewhere(t *testing.T) {
	p := open(t, website)
	uid := p.uid(t, w("#q1"))
	p.write(t, "snapshot_create", args{"label": "s", "rootNodeId": w("#q1")})
	p.write(t, "remove_node", args{"nodeId": w("#goals")})
	answer := p.write(t, "snapshot_restore", args{"snapshotId": "s"})
	require.Equal(t, []any{w("#q1")}, answer["created"])
	require.Equal(t, uid, p.uid(t, w("#q1")))
	require.Contains(t, p.file(t, "projects/website.md"), "Intro.\n\n## Q1\n\nq1 text\n\n## Risks\n")

	p.write(t, "remove_node", args{"nodeId": w("")})
	token, files, kept := p.token(t), p.files(t), labels(p.data(t, "snapshot_list", nil))
	f := p.refused(t, "snapshot_restore", p.with(t, args{"snapshotId": "s"}))
	require.Equal(t, "NOT_FOUND", string(f.Code))
	require.Equal(t, "note_gone", f.Details["reason"])
	require.NotEmpty(t, f.Fixes)
	require.Equal(t, token, p.token(t))
	require.Equal(t, files, p.files(t))
	require.Equal(t, kept, labels(p.data(t, "snapshot_list", nil)), "no automatic one is left")

	p.put(t, map[string]string{"projects/website.md": "# Again\n"})
	p.write(t, "snapshot_restore", args{"snapshotId": "s"})
	require.Equal(t, "# Again\n\n## Q1\n\nq1 text\n", p.file(t, "projects/website.md"), "notes match by their addresses too")
}

// TestRestoredSectionsAreAsTheyWere makes random changes in and of a section of a random tree, and restores it: the
// vault is as it was, byte by byte, with the same identities, but for what left the section.
func TestRestoredSectionsAreAsTheyWere(t *testing.T) {
	repotest.EachSeed(t, nil, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 28))
		root := grow(r)
		files := root.writeAll()
		delete(files, "_folder.md")
		p := open(t, files)
		var sections []*naive
		for _, n := range root.all() {
			if n.kind == "section" {
				sections = append(sections, n)
			}
		}
		for range 4 {
			if len(sections) == 0 {
				return
			}
			n := pick(r, sections)
			before, uids := p.tracked(t), p.allUIDs(t)
			uid := uids[n.id()]
			made := p.write(t, "snapshot_create", args{"label": "s", "rootNodeId": uid})
			for range 1 + r.IntN(4) {
				switch r.IntN(5) {
				case 0:
					p.write(t, "update_payload_property", args{"nodeId": uid, "propertyName": "body", "newValue": fmt.Sprint("Body ", r.IntN(99))})
				case 1:
					p.write(t, "update_payload_property", args{"nodeId": uid, "propertyName": "title", "newValue": pick(r, sectionTitles)})
				case 2:
					p.write(t, "add_child", args{"parentNodeId": uid, "payloadType": "section", "payloadProps": args{"title": pick(r, sectionTitles)}})
				case 3:
					p.write(t, "tag_node", args{"nodeId": uid, "tags": []string{"red"}})
				case 4:
					p.write(t, "sort_children", args{"parentId": uid, "byProp": "title"})
				}
			}
			if r.IntN(3) == 0 {
				if to := pick(r, sections); !to.isIn(n) && to.level+1+n.deepest()-n.level < 6 {
					p.write(t, "move_node", args{"nodeId": uid, "newParentId": uids[to.id()]})
				}
			}
			p.write(t, "snapshot_restore", args{"snapshotId": made["snapshotId"]})
			require.Equal(t, before, p.tracked(t), "seed %d, %s", seed, n.id())
			require.Equal(t, uids, p.allUIDs(t))
		}
	})
}
