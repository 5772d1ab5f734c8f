package localapp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A question is a call of a tool that reads.
type question struct {
	tool string
	in   args
}

// questions are about everything that the history below changes.
var questions = []question{
	{"raven_schema", nil}, {"raven_schema_types", nil}, {"raven_schema_traits", nil},
	{"raven_schema_type", args{"name": "person"}}, {"raven_schema_trait", args{"name": "due"}},
	{"raven_schema_validate", nil}, {"raven_stats", nil}, {"raven_untyped", args{"limit": 200}},
	{"raven_object_list", args{"limit": 200, "depth": 2}},
	{"raven_object_list", args{"type": "person", "created_today": true, "slim": true}},
	{"raven_object_list", args{"modified_since": "2026-11-21T10:00"}},
	{"raven_object_get", args{"id": "people/alice", "depth": 2}},
	{"raven_object_get", args{"id": "n1"}},
	{"raven_trait_list", args{"trait_type": "due", "limit": 200, "depth": 2}},
	{"raven_trait_list", args{"trait_type": "priority", "value": "high"}},
	{"raven_trait_get", args{"id": "people/alice.md:trait:0"}},
	{"raven_read", args{"path": "people/alice", "references": true, "backlinks": true}},
	{"raven_read", args{"path": "n2"}},
	{"raven_backlinks", args{"target": "people/alice"}},
	{"raven_outlinks", args{"target": "n3"}}, {"raven_resolve", args{"reference": "alice"}},
	{"raven_type", args{"list": true}}, {"raven_type", args{"name": "person"}},
	{"raven_tag", args{"list": true}}, {"raven_tag", args{"tag": "important"}},
	{"raven_date", args{"date": "today"}}, {"raven_date", args{"date": "2026-12-03"}},
	{"raven_search", args{"query": "tea lantern"}},
	{"raven_search", args{"query": "\"a lantern\" -mill", "type": "page"}},
	{"raven_history", args{"id": "people/alice"}}, {"raven_history", args{"id": "n1", "diff": true}}, {"raven_history", args{"id": "n1#part"}},
}

// asked returns the answer to a question, as of a version or time if one is given, without the
// parts that may differ between two answers about the same version.
func asked(t testing.TB, via tool.Invoker, q question, asOf string) string {
	t.Helper()
	in := args{"vault": "v"}
	for k, v := range q.in {
		in[k] = v
	}
	if asOf != "" {
		in["as_of"] = asOf
	}
	data, err := json.Marshal(in)
	require.NoError(t, err)
	answer, err := via.Invoke(t.Context(), q.tool, data)
	if err != nil {
		require.NotEqual(t, fault.Internal, fault.Of(err).Code, "%s %s: %v", q.tool, data, err)
	}
	return comparable(answer, asOf)
}

// A shift is a clock that advances by a second at each reading, within one day.
type shift struct{ clock }

// openAt opens a data directory with a clock.
func openAt(t testing.TB, dir string, now func() time.Time) *localapp.App {
	t.Helper()
	app, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: dir, Now: now})
	require.NoError(t, err)
	return app
}

// pastTexts are the texts of notes of the random history.
var pastTexts = []string{
	"# Lamp\n\nA lantern for [[people/alice]].\n\n- @due(2026-12-03) @priority(high) buy oil\n",
	"---\ntype: person\nname: Nils\n---\n\n# Nils\n\nLikes tea. #important\n\n## Part\n\n- @due(tomorrow) tea\n",
	"---\nalias: alice\n---\n\n## Part\n\n::meeting(time=2026-12-03T10:00)\n\nA mill, a lantern.\n\n### Deep\n\n- @due(2026-12-04) @id(fixed) again\n",
	"---\nbroken: [\n---\n\n- @due(2026-12-03) tea\n",
	"plain [[n1]] and [[n2#part]]\n\n- @due(2026-12-03) @id(fixed) same\n- @due(2026-12-03) same\n",
}

// randomChange makes one random change, and returns the name of its tool, or "" if the call is
// refused.
func randomChange(t testing.TB, via tool.Invoker, r *rand.Rand, newest uint64) (made string) {
	t.Helper()
	name := fmt.Sprintf("n%d", 1+r.IntN(4))
	var err error
	ask := func(tool string, in args) {
		if _, err = call(t.Context(), via, tool, in); err == nil {
			made = tool
		}
	}
	switch r.IntN(10) {
	case 0, 1, 2:
		put(t, via, map[string]string{name + ".md": pastTexts[r.IntN(len(pastTexts))]})
	case 3:
		ask("raven_delete", args{"id": name})
	case 4:
		ask("raven_add", args{"to": name, "text": fmt.Sprintf("a lantern @due(2026-12-%02d)", 1+r.IntN(9))})
	case 5:
		ask("raven_set", args{"id": "people/alice", "set": args{"phone": fmt.Sprint(r.IntN(5))}})
	case 6:
		traits := "traits: [due, priority]"
		if r.IntN(2) == 0 {
			traits = "traits: [due]"
		}
		put(t, via, map[string]string{"schema.yaml": fmt.Sprintf("version: 1\ntypes:\n  person:\n"+
			"    name_field: name\n    fields: {name: {type: string}, rank: {type: number, default: %d}}\n"+
			"    %s\n  meeting: {fields: {time: {type: datetime}}}\ntraits:\n  due: {type: date}\n"+
			"  priority: {type: enum, values: [low, high]}\n", r.IntN(3), traits)})
	case 7:
		list, err := call(t.Context(), via, "raven_trait_list", args{"trait_type": "due"})
		if fault.Is(err, fault.InvalidTrait) {
			return "" // the schema is undone
		}
		require.NoError(t, err)
		all := into[struct{ Items []struct{ ID string } }](t, list).Items
		if len(all) == 0 {
			return "" // the notes that had any are deleted
		}
		id := all[r.IntN(len(all))].ID
		ask("raven_trait_update", args{"id": id, "set": args{"value": fmt.Sprintf("2026-12-%02d", 1+r.IntN(9))}})
	default:
		ask("raven_undo", args{"version": fmt.Sprintf("v%d", newest-r.Uint64N(min(newest, 5)))})
	}
	if err != nil {
		require.NotEqual(t, fault.Internal, fault.Of(err).Code, "%v", err)
	}
	return made
}

// TestAsOfIsWhatWasAnswered checks that each tool answers as of each version and time as it did
// then, to the byte, also after a restart, and whatever happened to the vault since. It asks about
// every fourth version, and with ROOKERY_SOAK about each one after the restart.
func TestAsOfIsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r, clock, dir := rand.New(rand.NewPCG(seed, 1)), &shift{*newClock()}, t.TempDir()
	app := openAt(t, dir, clock.time)
	via := local{app}
	must(t, via, "team_vault_create", args{"name": "v"})
	put(t, via, fixture)
	made, answers, times := map[string]int{}, map[uint64][]string{}, map[uint64]time.Time{}
	missing := func() bool {
		return slices.ContainsFunc([]string{"raven_undo", "raven_delete", "raven_add", "raven_trait_update"},
			func(name string) bool { return made[name] == 0 })
	}
	for newest := uint64(2); newest < 100 || newest < 500 && missing(); {
		at := must(t, via, "raven_stats", nil)
		if newest = at.version(t); answers[newest] == nil {
			for _, q := range questions {
				answers[newest] = append(answers[newest], asked(t, via, q, ""))
			}
			times[newest] = clock.time()
		}
		clock.tick()
		made[randomChange(t, via, r, newest)]++
	}
	require.False(t, missing(), "%v", made)
	for _, restarted := range []bool{false, true} {
		if restarted {
			require.NoError(t, app.Close())
			app = openAt(t, dir, clock.time)
			via = local{app}
		}
		for version, was := range answers {
			if r.IntN(4) > 0 && (!restarted || !soaked()) {
				continue
			}
			moment := fmt.Sprintf("v%d", version)
			if r.IntN(2) == 0 {
				moment = times[version].Format(time.RFC3339)
			}
			for i, q := range questions {
				require.Equal(t, was[i], asked(t, via, q, moment), "%s %v as of v%d", q.tool, q.in, version)
			}
		}
	}
	require.NoError(t, app.Close())
	requireInStep(t, dir)
}

// tick moves the clock by a second.
func (s *shift) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(time.Second)
}

// TestManyAskOfThePast checks that calls which ask about several versions concurrently, while
// others write, get the answers of those versions.
func TestManyAskOfThePast(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	via := local{app}
	want := map[string]string{}
	for i := range 6 {
		a := put(t, via, map[string]string{"a.md": fmt.Sprintf("text %d\n", i)})
		want[a.Meta.Version] = fmt.Sprintf("text %d\n", i)
	}
	failed := make(chan error, 32)
	for i := range 32 {
		go func() {
			var err error
			for version, text := range want {
				a, asked := call(context.Background(), via, "raven_read", args{"path": "a", "as_of": version})
				if asked != nil || a.Meta.Version != version || !json.Valid(a.Data) ||
					intoText(a) != text {
					err = errors.Join(err, asked, fmt.Errorf("%s: %s", version, a.Data))
				}
				if i%8 == 0 {
					_, asked = call(context.Background(), via, "raven_add", args{"text": "more"})
					err = errors.Join(err, asked)
				}
			}
			failed <- err
		}()
	}
	for range 32 {
		require.NoError(t, <-failed)
	}
}

// intoText returns the text in an answer of raven_read.
func intoText(a answer) string {
	var v struct{ Content string }
	_ = json.Unmarshal(a.Data, &v) // what cannot be read is no text
	return v.Content
}

// TestUndoWithoutTrash checks that a deletion can be undone even if the trash was emptied by hand.
func TestUndoWithoutTrash(t *testing.T) {
	app, dir := openVault(t)
	via := local{app}
	put(t, via, map[string]string{"a.md": "# A\n"})
	must(t, via, "raven_delete", args{"id": "a"})
	require.NoError(t, os.Remove(filepath.Join(folderOf(dir), ".trash", "a.md")))
	must(t, via, "raven_undo", args{"version": "v3"})
	require.Equal(t, "# A\n", read(t, via, "a"))
	must(t, via, "raven_undo", args{"version": "v4"})
	refused(t, fault.NotFound, via, "raven_read", args{"path": "a"})
	must(t, via, "raven_undo", args{"version": "v5"})
	require.NoError(t, app.Close())
	requireInStep(t, dir)
}
