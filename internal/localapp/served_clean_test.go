package localapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
)

// mayLie matches the files that may be in a person's folder: the person's own, the notes that
// agents write, the trash, the audit log, and the id.
var mayLie = regexp.MustCompile(`^(schema\.yaml|picture\.png|\.obsidian(/app\.json)?|` +
	`(\.trash/)?(own|shared)(/[^./]+\.md)?|\.trash|` +
	`\.raven(/audit(\.\d{4}-\d\d)?\.log)?|\.rookery(/id)?)$`)

// strangers returns the names of all other files in the folder "v". Files that disappear meanwhile
// are not among them.
func (p person) strangers() []string {
	var found []string
	_ = filepath.WalkDir(p.path("v"), func(path string, _ fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(p.path("v"), path)
		name = filepath.ToSlash(name)
		if err == nil && relErr == nil && name != "." && !mayLie.MatchString(name) {
			found = append(found, name)
		}
		return nil
	})
	return found
}

// A turn is one call of a tool that changes something, or several calls that end with one.
type turn struct {
	context.Context
	via tool.Invoker
	n   int // no other turn has this number
}

// do makes a call, and returns its answer.
func (u turn) do(name string, in args) (answer, error) { return call(u.Context, u.via, name, in) }

// own returns the id of a note that no other turn has.
func (u turn) own(what string) string { return fmt.Sprintf("own/%s-%d", what, u.n) }

// note creates a note that only this turn uses.
func (u turn) note(what string) (answer, error) {
	return u.do("raven_new", args{"type": "page", "title": what, "path": u.own(what)})
}

// on creates a note that only this turn uses, and calls a tool on it.
func (u turn) on(name, what string) error {
	made, err := u.note(what)
	if err != nil {
		return err
	}
	in := args{"id": u.own(what)}
	if name == "raven_undo" {
		in = args{"version": made.Meta.Version}
	}
	_, err = u.do(name, in)
	return err
}

// trait creates a trait in a note that only this turn uses, and calls a tool on it.
func (u turn) trait(name string, in args) error {
	if _, err := u.note("trait"); err != nil {
		return err
	}
	made, err := u.do("raven_trait_create", args{
		"trait_type": "due", "value": "2026-12-01", "parent_id": u.own("trait"), "content": "this",
	})
	if err != nil || name == "" {
		return err
	}
	var trait struct{ Trait struct{ ID string } }
	if err := json.Unmarshal(made.Data, &trait); err != nil {
		return err
	}
	all := args{"id": trait.Trait.ID}
	maps.Copy(all, in)
	_, err = u.do(name, all)
	return err
}

// unlessGone ignores a refusal that a tool always has here.
func unlessGone(_ answer, err error) error {
	if fault.Is(err, fault.Unavailable) {
		return err
	}
	return nil
}

// onNode calls a tool of the tree with the newest version token. A call that loses to a concurrent
// one has changed nothing.
func (u turn) onNode(name string, in args) error {
	root, err := u.do("tree_get_node", args{"nodeId": "/"})
	if err != nil {
		return err
	}
	in["versionToken"] = root.Meta.Version
	_, err = u.do(name, in)
	if fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}

// mutations calls every tool that changes something, by its name: on notes that only one client
// uses, and on shared ones.
var mutations = map[string]func(u turn) error{
	"raven_new": func(u turn) error { _, err := u.note("new"); return err },
	"raven_upsert": func(u turn) error {
		_, err := u.do("raven_upsert", args{
			"type": "page", "title": "Shared", "path": "shared/c", "content": fmt.Sprint("upserted ", u.n),
		})
		return err
	},
	"raven_add": func(u turn) error {
		_, err := u.do("raven_add", args{"to": "shared/a", "text": fmt.Sprint("added ", u.n)})
		return err
	},
	"raven_set": func(u turn) error {
		_, err := u.do("raven_set", args{"id": "shared/b", "set": args{"n": u.n}})
		return err
	},
	"raven_unset": func(u turn) error {
		_, err := u.do("raven_unset", args{"id": "shared/b", "unset": []string{"n"}})
		return err
	},
	"raven_schema_init": func(u turn) error {
		_, err := u.do("raven_schema_init", args{})
		if fault.Is(err, fault.DuplicateID) {
			return nil // the folder has a schema
		}
		return err
	},
	"raven_schema_add": func(u turn) error {
		_, err := u.do("raven_schema_add", args{"kind": "trait", "name": "mood", "dry_run": true})
		return err
	},
	"raven_schema_update": func(u turn) error {
		_, err := u.do("raven_schema_update", args{"kind": "trait", "name": "due", "description": "When", "dry_run": true})
		return err
	},
	"raven_schema_remove": func(u turn) error {
		_, err := u.do("raven_schema_remove", args{"kind": "trait", "name": "due", "force": true, "dry_run": true})
		return err
	},
	"raven_check_fix": func(u turn) error {
		_, err := u.do("raven_check_fix", args{"issues": []string{"invalid_enum_value"}})
		return err
	},
	"raven_edit": func(u turn) error {
		_, err := u.do("raven_edit", args{
			"id": "shared/a", "old_str": "# Shared\n", "new_str": fmt.Sprintf("# Shared\n\n%d\n", u.n),
		})
		return err
	},
	"tree_update_payload_property": func(u turn) error {
		return u.onNode("tree_update_payload_property", args{"nodeId": "shared/a", "propertyName": "n", "newValue": u.n})
	},
	"tree_update_payload": func(u turn) error {
		return u.onNode("tree_update_payload", args{"nodeId": "shared/a", "patch": args{"m": u.n}})
	},
	"tree_update_nodes": func(u turn) error {
		return u.onNode("tree_update_nodes", args{"filter": "nodeId = shared/a", "patch": args{"o": u.n}})
	},
	"tree_tag_node": func(u turn) error {
		return u.onNode("tree_tag_node", args{"nodeId": "shared/a", "tags": []string{fmt.Sprint("t", u.n%5)}})
	},
	"tree_untag_node": func(u turn) error {
		return u.onNode("tree_untag_node", args{"nodeId": "shared/a", "tags": []string{fmt.Sprint("t", u.n%5)}})
	},
	"tree_add_child": func(u turn) error {
		return u.onNode("tree_add_child", args{
			"parentNodeId": "shared/a", "payloadType": "section", "payloadProps": args{"title": fmt.Sprint("New ", u.n)},
		})
	},
	"tree_remove_node": func(u turn) error {
		if _, err := u.note("gone from the tree"); err != nil {
			return err
		}
		return u.onNode("tree_remove_node", args{"nodeId": u.own("gone from the tree")})
	},
	"tree_move_node": func(u turn) error {
		if _, err := u.note("movable"); err != nil {
			return err
		}
		return u.onNode("tree_move_node", args{"nodeId": u.own("movable"), "newParentId": "shared/"})
	},
	"tree_move_before": func(u turn) error {
		return u.onNode("tree_move_before", args{"nodeId": "shared/a", "siblingId": "shared/b"})
	},
	"tree_move_after": func(u turn) error {
		return u.onNode("tree_move_after", args{"nodeId": "shared/a", "siblingId": "shared/b"})
	},
	"tree_sort_children": func(u turn) error {
		return u.onNode("tree_sort_children", args{"parentId": "shared/", "byProp": "name", "direction": []string{"asc", "desc"}[u.n%2]})
	},
	"tree_copy_subtree": func(u turn) error {
		if _, err := u.note("copy_subtree"); err != nil {
			return err
		}
		return u.onNode("tree_copy_subtree", args{"sourceId": u.own("copy_subtree"), "targetParentId": "shared/"})
	},
	"tree_clone_node": func(u turn) error {
		if _, err := u.note("clone_node"); err != nil {
			return err
		}
		return u.onNode("tree_clone_node", args{"nodeId": u.own("clone_node"), "targetParentId": "shared/"})
	},
	"tree_import_merge": func(u turn) error {
		return u.onNode("tree_import_merge", args{"json": args{"nodeId": "shared/a", "payload": args{"p": u.n}}})
	},
	"tree_snapshot_restore": func(u turn) error {
		label := fmt.Sprint("label ", u.n, " of ", u.own("x"))
		if err := u.onNode("tree_snapshot_create", args{"label": label, "rootNodeId": "shared/a"}); err != nil {
			return err
		}
		return u.onNode("tree_snapshot_restore", args{"snapshotId": label})
	},
	"notes_write": func(u turn) error {
		_, err := u.do("notes_write", args{"path": "shared/a.md", "content": fmt.Sprintf("\n%d\n", u.n), "append": true})
		return err
	},
	"raven_move": func(u turn) error {
		if _, err := u.note("moved"); err != nil {
			return err
		}
		_, err := u.do("raven_move", args{"source": u.own("moved"), "destination": u.own("there")})
		return err
	},
	"raven_section": func(u turn) error {
		_, err := u.do("raven_section", args{"op": "create", "file": "shared/a", "title": fmt.Sprint("Part ", u.n, " of ", u.own("x"))})
		return err
	},
	"raven_reclassify": func(u turn) error {
		_, err := u.do("raven_reclassify", args{"id": "shared/b", "type": "page"})
		return err
	},
	"raven_restore": func(u turn) error {
		return unlessGone(u.do("raven_restore", args{"id": u.own("gone"), "confirm": true}))
	},
	"raven_batch": func(u turn) error {
		_, err := u.do("raven_batch", args{"operations": []args{
			{"op": "add", "data": args{"to": "shared/a", "text": fmt.Sprint("one of ", u.n)}},
			{"op": "add", "data": args{"to": "shared/b", "text": fmt.Sprint("two of ", u.n)}},
		}})
		return err
	},
	"raven_query_save": func(u turn) error {
		_, err := u.do("raven_query_save", args{"name": "pages", "query": "type:page", "dry_run": true})
		return err
	},
	"raven_query_remove": func(u turn) error { return unlessGone(u.do("raven_query_remove", args{"name": "pages"})) },
	"notes_import": func(u turn) error {
		_, err := u.do("notes_import", args{"type": "raven", "files": []args{
			{"path": u.own("imported") + ".md", "content": "# Imported\n"}}})
		return err
	},
	"memory_identity": func(u turn) error {
		_, err := u.do("memory_identity", args{"action": "register", "specialization": "notes"})
		return err
	},
	"memory_store": func(u turn) error {
		_, err := u.do("memory_store", args{"intent": args{"goal": fmt.Sprint("goal ", u.n), "task_type": "other"},
			"outcome": args{"success": true, "summary": "done"}})
		return err
	},
	"memory_import": func(u turn) error {
		_, err := u.do("memory_import", args{"files": []args{{"path": "m.jsonl", "content": `{"id":"mem_a",` +
			`"intent":{"goal":"g","task_type":"other"},"outcome":{"success":true,"summary":"s"}}`}}})
		return err
	},
	"memory_update_memory": func(u turn) error {
		return unlessGone(u.do("memory_update_memory", args{"memory_id": "mem_a", "importance": 0.5}))
	},
	"memory_link": func(u turn) error {
		return unlessGone(u.do("memory_link", args{"source_id": "mem_a", "target_id": "mem_b", "link_type": "related_to"}))
	},
	"memory_create_chapter": func(u turn) error {
		return unlessGone(u.do("memory_create_chapter", args{"memory_ids": []string{"mem_a"}, "title": "T"}))
	},
	"memory_synthesize": func(u turn) error {
		return unlessGone(u.do("memory_synthesize", args{"chapter_ids": []string{"chapter_a"}}))
	},
	"memory_delete_memory": func(u turn) error {
		return unlessGone(u.do("memory_delete_memory", args{"memory_id": "mem_c"}))
	},
	"memory_delete_chapter": func(u turn) error {
		return unlessGone(u.do("memory_delete_chapter", args{"chapter_id": "chapter_c"}))
	},
	"memory_delete_wisdom": func(u turn) error {
		return unlessGone(u.do("memory_delete_wisdom", args{"wisdom_id": "wisdom_c"}))
	},
	"raven_delete":       func(u turn) error { return u.on("raven_delete", "gone") },
	"raven_undo":         func(u turn) error { return u.on("raven_undo", "undone") },
	"raven_trait_create": func(u turn) error { return u.trait("", nil) },
	"raven_trait_update": func(u turn) error {
		return u.trait("raven_trait_update", args{"set": args{"value": "2026-12-02"}})
	},
	"raven_trait_delete": func(u turn) error { return u.trait("raven_trait_delete", nil) },
	"raven_reindex":      func(u turn) error { _, err := u.do("raven_reindex", nil); return err },
	"team_vault_import": func(u turn) error {
		_, err := u.do("team_vault_import", args{"notes": listOf(map[string]string{
			u.own("brought") + ".md": "# Brought\n",
		})})
		return err
	},
	"team_vault_create":  func(u turn) error { return unlessGone(u.do("team_vault_create", args{"name": "w"})) },
	"team_vault_delete":  func(u turn) error { return unlessGone(u.do("team_vault_delete", args{"name": "v"})) },
	"team_vault_restore": func(u turn) error { return unlessGone(u.do("team_vault_restore", args{"name": "w"})) },
	"team_vault_set": func(u turn) error {
		_, err := u.do("team_vault_set", args{"name": "v", "secrets": []string{"flag", "off"}[u.n%2]})
		return err
	},
	"team_vault_erase": func(u turn) error { // its name is free an hour later only
		return unlessGone(u.do("team_vault_erase", args{"name": "w", "confirm": "w", "dry_run": true}))
	},
	"team_tenant_erase": func(u turn) error { // the server cannot erase a served folder
		if _, err := u.do("team_tenant_erase", args{"confirm": auth.Local}); !fault.Is(err, fault.InvalidParameter) {
			return fmt.Errorf("the tenant of a served folder is erased: %w", err)
		}
		return nil
	},
	"team_job_cancel": func(u turn) error {
		return unlessGone(u.do("team_job_cancel", args{"id": "job-" + strings.Repeat("0", 26)}))
	},
	"team_token_create": func(u turn) error { // with a token the server would require one from every caller
		_, err := u.do("team_token_create", args{"name": "t", "role": "reader", "dry_run": true})
		return err
	},
	"team_token_revoke": func(u turn) error { return unlessGone(u.do("team_token_revoke", args{"id": "t"})) },
	"team_member_set": func(u turn) error {
		return unlessGone(u.do("team_member_set", args{"subject": "ann", "role": "reader"}))
	},
	"team_member_remove": func(u turn) error {
		return unlessGone(u.do("team_member_remove", args{"subject": "ann"}))
	},
	"team_issuer_set": func(u turn) error {
		return unlessGone(u.do("team_issuer_set", args{
			"name": "i", "issuer": "https://login.example.com", "role": "reader", "client_id": "c",
		}))
	},
	"team_issuer_remove": func(u turn) error { return unlessGone(u.do("team_issuer_remove", args{"name": "i"})) },
}

// TestNothingElseInTheFolder lets eight clients call every tool that changes something, kills the
// server twice meanwhile, and lists the folder all the time: it never contains a file that is not
// documented (issue 6, §1.2).
func TestNothingElseInTheFolder(t *testing.T) {
	t.Parallel()
	var names []string
	for _, tool := range localapp.Tools(nil) {
		if tool.Kind.Mutates() {
			names = append(names, tool.Name)
		}
	}
	require.ElementsMatch(t, names, slices.Collect(maps.Keys(mutations)))
	p := newPerson(t, map[string]string{
		"schema.yaml": "version: 1\ntraits:\n  due: { type: date }\n", "shared/a.md": "# Shared\n",
		"shared/b.md": "# B\n", "picture.png": "\x89PNG", ".obsidian/app.json": "{}\n",
	})
	p.close(p.open("v")) // so that notes and id are there
	require.Empty(t, p.strangers())
	looking, stop := context.WithCancel(t.Context())
	var looks sync.WaitGroup
	var strangers []string
	looks.Go(func() {
		for looking.Err() == nil && strangers == nil {
			strangers = p.strangers()
			time.Sleep(time.Millisecond) // a look takes longer, and the others have work to do
		}
	})
	for round := range 4 {
		p.crowd(round, names, round%2 == 1)
		require.Empty(t, p.strangers(), "behind round %d", round)
	}
	p.close(p.open("v"))
	stop()
	looks.Wait()
	require.Empty(t, strangers, "while clients wrote")
	require.Empty(t, p.strangers())
	require.DirExists(t, p.path("v/.trash"))
	require.FileExists(t, p.path("v/.rookery/id"))
	require.Equal(t, "\x89PNG", folder(t, p.path("v"))["picture.png"])
}

// crowd serves the folder "v" from another process to eight clients, until each has called every
// tool; with kill, until half of that is done.
func (p person) crowd(round int, names []string, kill bool) {
	p.Helper()
	c := startChildWith(p.T, folderVariable+"="+p.path("v"), stateVariable+"="+p.states)
	var clients sync.WaitGroup
	done := make(chan struct{}, 8*len(names))
	for id := range 8 {
		clients.Go(func() {
			order := slices.Clone(names)
			rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for i, name := range order {
				err := mutations[name](turn{p.Context(), client(c.url), round*1000 + id*100 + i})
				if err != nil && kill {
					return
				}
				if err != nil {
					p.Errorf("%s: %v", name, err)
				}
				done <- struct{}{}
			}
		})
	}
	if kill {
		for range 4 * len(names) {
			<-done
		}
		c.kill()
		clients.Wait()
		return
	}
	clients.Wait()
	c.stop(p.T)
}
