package localapp_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// unbarred are the tools to which exclude and protected_prefixes in raven.yaml do not apply.
var unbarred = []string{"team_vault_import", "raven_undo"}

// filesOf returns the files of a vault with their texts, as an export has them.
func filesOf(t testing.TB, inv tool.Invoker, vault string) map[string]string {
	t.Helper()
	files, token := map[string]string{}, ""
	for page := 0; page == 0 || token != ""; page++ {
		in := args{"vault": vault}
		if token != "" {
			in["page_token"] = token
		}
		answer := must(t, inv, "team_vault_export", in)
		var out struct{ Notes []struct{ Path, Text string } }
		require.NoError(t, json.Unmarshal(answer.Data, &out))
		for _, n := range out.Notes {
			if !strings.HasSuffix(n.Path, ".log") {
				files[n.Path] = n.Text
			}
		}
		token = answer.Meta.Next
	}
	return files
}

// TestNoToolChangesWhatIsBarred makes a valid call of every tool that changes something on vaults
// whose raven.yaml protects all paths, or excludes all notes: no file changes.
func TestNoToolChangesWhatIsBarred(t *testing.T) {
	p := newPrepared(t, noon)
	var letters []string
	for c := 'a'; c <= 'z'; c++ {
		letters = append(letters, string(c))
	}
	for name, row := range map[string]struct {
		settings string
		codes    []fault.Code
	}{
		"protected": {"protected_prefixes: [" + strings.Join(letters, ", ") + ", A]\n", []fault.Code{fault.ReadOnly}},
		"excluded": {"exclude: ['*']\n", []fault.Code{fault.InvalidPath, fault.NotFound, fault.InvalidRef, fault.InvalidValue,
			fault.ReadOnly}},
	} {
		t.Run(name, func(t *testing.T) {
			s := p.stage(t)
			inv := tooltest.As(s.app.Catalogue, auth.LocalCaller())
			for _, vault := range []string{"main", "shelf"} {
				settings := row.settings + "queries:\n  one: type:page\n"
				done(t, inv, "team_vault_import", args{"vault": vault, "mode": "replace",
					"notes": notesOf(map[string]string{"raven.yaml": settings})})
			}
			refused := 0
			for _, tool := range slices.Sorted(maps.Keys(p.calls)) {
				if strings.HasPrefix(tool, "team_") || slices.Contains(unbarred, tool) {
					continue
				}
				before := []map[string]string{filesOf(t, inv, "main"), filesOf(t, inv, "shelf")}
				_, err := call(t.Context(), inv, tool, with(p.calls[tool], "vault", vaultOf(p.calls[tool])))
				after := []map[string]string{filesOf(t, inv, "main"), filesOf(t, inv, "shelf")}
				if name == "excluded" { // settings are no notes
					for _, files := range slices.Concat(before, after) {
						maps.DeleteFunc(files, func(path, _ string) bool { return !strings.HasSuffix(path, ".md") })
					}
				}
				require.Equal(t, before, after, tool)
				if err != nil {
					refused++
					t.Log(tool, fault.Of(err).Code, fault.Of(err).Message)
				}
			}
			require.Greater(t, refused, 12)
		})
	}
}

// vaultOf returns the vault of a call.
func vaultOf(in args) any {
	if v, ok := in["vault"]; ok {
		return v
	}
	return "main"
}

// hiddenNotes contain every kind of content that an answer could show.
var hiddenNotes = map[string]string{
	"secret/alice.md": "---\ntype: person\nname: Alice\nalias: [people/alice, mill]\ntags: [engineering, hush]\nstatus: hush\n---\n" +
		"# Hush\n\nline [[people/alice]] [[projects/mill]] [t](../people/alice.md) #engineering #hush @unheard\n\n" +
		"## Tasks\n\n- @due(2025-02-01) @id(hushed) hush [[people/alice]]\n- [ ] hush 📅 2025-02-01\n",
	"secret/2025-02-01.md": "---\ntype: [\n---\n@due(2025-02-01) hush\n",
}

// TestExcludedNotesAreNowhere calls every tool that reads on two vaults, one of which has
// additional notes that raven.yaml excludes: except for lists of files and of changes, the answers
// are the same.
func TestExcludedNotesAreNowhere(t *testing.T) {
	var answers [2]map[string]string
	for i := range answers {
		app := newPlace(t)
		inv := tooltest.As(app.app.Catalogue, auth.LocalCaller())
		remember(t, inv)
		files := map[string]string{"raven.yaml": fixture["raven.yaml"] + "exclude: [secret/]\n"}
		if i == 1 {
			maps.Copy(files, hiddenNotes)
		}
		done(t, inv, "team_vault_import", args{"vault": "main", "mode": "replace", "notes": notesOf(files)})
		answers[i] = map[string]string{}
		for _, c := range readings(t) {
			if slices.Contains(listingFiles, c.tool) {
				continue
			}
			answer, err := inv.Invoke(t.Context(), c.tool, marshalled(t, c.args))
			if err != nil {
				answer = []byte(err.Error())
			}
			answers[i][c.tool+" "+string(marshalled(t, c.args))] = score.ReplaceAllString(string(answer), "")
		}
		if i == 1 {
			requireHidden(t, inv)
		}
	}
	for c, want := range answers[0] {
		require.Equal(t, want, answers[1][c], c)
		require.NotContains(t, answers[1][c], "hush", c)
	}
}

// score matches the score of a hit and the versions of nodes. A score depends on how rare a word is
// in the search index, which has all files that could be notes. The versions differ because one
// vault had one more write.
var score = regexp.MustCompile(`"score":[0-9.]+|"(version|versionToken)":"v[0-9]+"`)

// listingFiles are the tools that show the files of a vault, its size, or its log.
var listingFiles = []string{"team_vault_export", "team_vault_list", "team_usage", "raven_log", "team_audit", "team_tenant_export",
	"team_audit_verify", "team_vault_get"}

// naming are the arguments that name a note or a part of one.
var naming = []string{"id", "path", "to", "target", "reference", "parent_id", "source", "file", "destination", "about"}

// requireHidden requires that no argument of any tool can name an excluded note, and that the note
// exists again without the pattern, with the id of its trait.
func requireHidden(t testing.TB, inv tool.Invoker) {
	t.Helper()
	before, asked := filesOf(t, inv, "main"), 0
	for _, made := range allTools() {
		if slices.Contains(unbarred, made.Name) {
			continue
		}
		for _, name := range naming {
			if _, has := made.Arg(name); !has {
				continue
			}
			for _, id := range []string{"secret/alice", "secret/alice.md", "secret/alice#tasks", "hush", "hushed"} {
				c := soundCall(t, made)
				c.Args[name] = marshalled(t, id)
				answer, err := inv.Invoke(t.Context(), c.Tool, c.JSON(t))
				asked++
				if err == nil {
					require.NotContains(t, strings.ReplaceAll(string(answer), id, ""), "hush", "%s %s", c.Tool, c.JSON(t))
				}
			}
		}
	}
	require.Greater(t, asked, 100)
	after := filesOf(t, inv, "main")
	for path := range hiddenNotes {
		require.Equal(t, before[path], after[path])
	}
	refused(t, fault.InvalidPath, inv, "raven_new", args{"vault": "main", "type": "page", "title": "X", "path": "secret/x"})
	message := refused(t, fault.NotFound, inv, "raven_read", args{"vault": "main", "path": "secret/alice"}).Message
	require.Contains(t, message, "excluded by raven.yaml")
	done(t, inv, "team_vault_import", args{"vault": "main", "mode": "replace", "notes": notesOf(map[string]string{"raven.yaml": "{}\n"})})
	require.Contains(t, string(done(t, inv, "raven_read", args{"vault": "main", "path": "secret/alice"})), "# Hush")
	require.Contains(t, string(done(t, inv, "raven_search", args{"vault": "main", "query": "hush"})), "secret/alice")
	done(t, inv, "raven_trait_get", args{"vault": "main", "id": "hushed"})
}
