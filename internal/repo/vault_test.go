package repo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/vault"
)

// openVault opens the vault as one process.
func openVault(t *testing.T, e repotest.Engine, limits repo.Limits) *repo.Vault {
	t.Helper()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "team", Part: "v", Table: e.Table, Bucket: e.Bucket, Texts: repo.NewTexts(1 << 20),
		Now: time.Now, Limits: limits,
	})
	require.NoError(t, err)
	return v
}

// newVault returns a vault without notes, at v1.
func newVault(t *testing.T, e repotest.Engine) *repo.Vault {
	t.Helper()
	v := openVault(t, e, repo.Limits{})
	require.NoError(t, v.Create(t.Context(), caller(), nil))
	return v
}

func caller() eventlog.Call {
	return eventlog.Call{
		Who:  eventlog.Who{Principal: "ann", Agent: "helper", Request: "r-1"},
		Tool: "tool", Request: []byte("request"),
	}
}

// An edit is one change of a file by a Tx: Put, or Remove if text is empty.
type edit struct{ path, text string }

// edits returns a function that makes edits.
func edits(all ...edit) func(context.Context, *repo.Tx) (any, error) {
	return func(ctx context.Context, tx *repo.Tx) (any, error) {
		for _, e := range all {
			var err error
			if e.text == "" {
				err = tx.Remove(ctx, vault.Path(e.path))
			} else {
				err = tx.Put(ctx, vault.Path(e.path), []byte(e.text))
			}
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
}

// change makes the edits in one commit.
func change(t *testing.T, v *repo.Vault, all ...edit) repo.Receipt {
	t.Helper()
	r, err := v.Update(t.Context(), caller(), edits(all...))
	require.NoError(t, err)
	return r
}

// files returns the texts of a vault by path, as a new process reads them.
func files(t *testing.T, e repotest.Engine) map[string]string {
	t.Helper()
	v, all := openVault(t, e, repo.Limits{}), map[string]string{}
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	for f := range idx.Files() {
		text, err := v.Text(t.Context(), f.Body)
		require.NoError(t, err)
		all[f.Path] = string(text)
	}
	return all
}

func TestSizeOfANote(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	most := strings.Repeat("x", repo.MaxNote)
	change(t, v, edit{"most.md", most})
	for _, path := range []string{"over.md", "most.md"} {
		_, err := v.Update(t.Context(), caller(), edits(edit{path, most + "x"}))
		require.True(t, fault.Is(err, fault.NoteTooLarge), "%v", err)
		require.NotContains(t, err.Error(), "xx")
	}
	require.Len(t, files(t, e), 1)
}

// TestQuota checks that notes and bytes are counted with all the changes of a call.
func TestQuota(t *testing.T) {
	ten := strings.Repeat("x", 10)
	for _, c := range []struct {
		name  string
		edits []edit
		fits  bool
	}{
		{"as many notes as may be", []edit{{"c.md", "c"}}, true},
		{"one note too many", []edit{{"c.md", "c"}, {"d.md", "d"}}, false},
		{"one goes, two come", []edit{{"a.md", ""}, {"c.md", "c"}, {"d.md", "d"}}, true},
		{"two come, one goes", []edit{{"c.md", "c"}, {"d.md", "d"}, {"a.md", ""}}, false},
		{"the same note twice", []edit{{"c.md", "c"}, {"c.md", "d"}}, true},
		{"came and went", []edit{{"c.md", "c"}, {"c.md", ""}, {"d.md", "d"}}, true},
		{"as many bytes as may be", []edit{{"c.md", strings.Repeat("x", 30)}}, true},
		{"a byte too many", []edit{{"c.md", strings.Repeat("x", 31)}}, false},
		{"a note that grows too much", []edit{{"a.md", strings.Repeat("x", 41)}}, false},
		{"a note that grows in two steps", []edit{
			{"a.md", strings.Repeat("x", 20)}, {"a.md", strings.Repeat("x", 41)}}, false},
		{"one shrinks, one grows", []edit{
			{"b.md", "x"}, {"a.md", strings.Repeat("x", 49)}}, true},
		{"what is no note", []edit{{"schema.yaml", strings.Repeat("#", 99)}}, true},
		{"the trash", []edit{{".trash/a.md", strings.Repeat("#", 99)}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := engine(t)
			newVault(t, e)
			v := openVault(t, e, repo.Limits{Notes: 3, Bytes: 50})
			change(t, v, edit{"a.md", ten}, edit{"b.md", ten})
			_, err := v.Update(t.Context(), caller(), edits(c.edits...))
			if c.fits {
				require.NoError(t, err)
			} else {
				require.True(t, fault.Is(err, fault.QuotaExceeded), "%v", err)
				require.Len(t, files(t, e), 2)
			}
		})
	}
}

// TestFullVault checks that a vault that exceeds its limits can be made smaller.
func TestFullVault(t *testing.T) {
	e := engine(t)
	change(t, newVault(t, e), edit{"a.md", "12345"}, edit{"b.md", "12345"})
	v := openVault(t, e, repo.Limits{Notes: 1, Bytes: 5})
	change(t, v, edit{"a.md", "1234"})
	change(t, v, edit{".trash/b.md", "12345"}, edit{"b.md", ""})
	_, err := v.Update(t.Context(), caller(), edits(edit{"a.md", "123456"}))
	require.True(t, fault.Is(err, fault.QuotaExceeded), "%v", err)
}

// TestCollisions checks that no two files differ only by case or normalization.
func TestCollisions(t *testing.T) {
	const nfc, nfd = "caf\u00e9.md", "cafe\u0301.md"
	for _, c := range []struct {
		name  string
		edits []edit
		taken bool
	}{
		{"another case", []edit{{"ANN.md", "x"}}, true},
		{"another case of the folder", []edit{{"People/Bob.md", "x"}}, true},
		{"another normalization", []edit{{nfd, "x"}}, true},
		{"the same", []edit{{"Ann.md", "x"}, {nfc, "x"}}, false},
		{"two new ones", []edit{{"new.md", "x"}, {"NEW.md", "x"}}, true},
		{"freed by a removal", []edit{{"Ann.md", ""}, {"ANN.md", "x"}}, false},
		{"freed and taken", []edit{{"Ann.md", ""}, {"ANN.md", "x"}, {"Ann.md", "x"}}, true},
		{"freed, taken and freed", []edit{
			{"Ann.md", ""}, {"ANN.md", "x"}, {"ANN.md", ""}, {"Ann.md", "x"}}, false},
		{"new, and gone again", []edit{{"new.md", "x"}, {"new.md", ""}, {"NEW.md", "x"}}, false},
		{"back again", []edit{{"Ann.md", ""}, {"Ann.md", "x"}}, false},
		{"back again, and another", []edit{{"Ann.md", ""}, {"Ann.md", "x"}, {"ANN.md", "x"}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVault(t, engine(t))
			change(t, v, edit{"Ann.md", "a"}, edit{"people/bob.md", "b"}, edit{nfc, "c"})
			_, err := v.Update(t.Context(), caller(), edits(c.edits...))
			if !c.taken {
				require.NoError(t, err)
				return
			}
			require.True(t, fault.Is(err, fault.DuplicateID), "%v", err)
			idx, err := v.Read(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 2, idx.Version())
		})
	}
}

// TestIfVersion checks CONTRACT §3: if_version is satisfied if nothing that the call touches
// changed after it.
func TestIfVersion(t *testing.T) {
	v := openVault(t, engine(t), repo.Limits{})
	first := []eventlog.Note{{Path: "first.md", Text: []byte("first")}}
	require.NoError(t, v.Create(t.Context(), caller(), first))
	change(t, v, edit{"a.md", "a"}, edit{"b.md", "b"})
	change(t, v, edit{"b.md", "bb"})
	change(t, v, edit{"c.md", "c"})
	for _, c := range []struct {
		name   string
		at     uint64
		edits  []edit
		latest string // latest version in the conflict; empty: no conflict
	}{
		{"none", 0, []edit{{"b.md", "x"}}, ""},
		{"the vault's", 4, []edit{{"a.md", "x"}}, ""},
		{"older than the vault's, not than the note's", 2, []edit{{"a.md", "x"}}, ""},
		{"between", 3, []edit{{"a.md", "x"}, {"b.md", "x"}}, ""},
		{"older than the note's", 2, []edit{{"b.md", "x"}}, "v3"},
		{"older than one note's", 2, []edit{{"a.md", "x"}, {"b.md", "x"}}, "v3"},
		{"older, and a removal", 2, []edit{{"b.md", ""}}, "v3"},
		{"older than all", 1, []edit{{"a.md", "x"}}, "v2"},
		{"future", 5, []edit{{"a.md", "x"}}, "v4"},
		{"future, and a new note", 5, []edit{{"new.md", "x"}}, "v4"},
		{"past, and a new note", 1, []edit{{"new.md", "x"}}, ""},
		{"v0, and a new note", eventlog.VersionZero, []edit{{"new.md", "x"}}, ""},
		{"v0, and a note", eventlog.VersionZero, []edit{{"a.md", "x"}}, "v2"},
		{"v0, and a note of v1", eventlog.VersionZero, []edit{{"first.md", "x"}}, "v1"},
		{"the first, and a note of v1", 1, []edit{{"first.md", "x"}}, ""},
		{"its own change", 2, []edit{{"a.md", "x"}, {"a.md", "y"}, {"a.md", ""}}, ""},
	} {
		call := caller()
		call.IfVersion, call.DryRun = c.at, true
		_, err := v.Update(t.Context(), call, edits(c.edits...))
		if c.latest == "" {
			require.NoError(t, err, c.name)
			continue
		}
		require.True(t, fault.Is(err, fault.Conflict), "%s: %v", c.name, err)
		require.Equal(t, c.latest, fault.Of(err).Details["latest_version"], c.name)
	}
}

// TestIfVersionIsCheckedInside checks that a call based on a version that another process changes
// meanwhile is refused, even if the call was made before.
func TestIfVersionIsCheckedInside(t *testing.T) {
	e := engine(t)
	mine, other := newVault(t, e), openVault(t, e, repo.Limits{})
	change(t, mine, edit{"a.md", "a"})
	call, tries := caller(), 0
	call.IfVersion = 2
	_, err := mine.Update(t.Context(), call,
		func(ctx context.Context, tx *repo.Tx) (any, error) {
			if tries++; tries == 1 {
				_, err := other.Update(ctx, caller(), edits(edit{"a.md", "theirs"}))
				if err != nil {
					return nil, err
				}
			}
			return nil, tx.Put(ctx, "a.md", []byte("mine"))
		})
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	require.Equal(t, 2, tries)
	require.Equal(t, map[string]string{"a.md": "theirs"}, files(t, e))
}

// TestHistory checks that each change of a note names the one before it.
func TestHistory(t *testing.T) {
	v := newVault(t, engine(t))
	change(t, v, edit{"a.md", "1"}, edit{"b.md", "1"})
	change(t, v, edit{"b.md", "2"})
	change(t, v, edit{"a.md", "2"}, edit{"b.md", "3"}, edit{"a.md", "3"})
	require.False(t, change(t, v, edit{"a.md", "3"}).Changed)
	change(t, v, edit{"a.md", ""})
	change(t, v, edit{"a.md", "4"})
	var got []string
	for c, err := range v.Commits(t.Context(), 2) {
		require.NoError(t, err)
		for _, n := range c.Notes {
			got = append(got, fmt.Sprintf("v%d %s %q after v%d", c.Seq, n.Path, n.Text, n.Prev))
		}
	}
	require.Equal(t, []string{
		`v2 a.md "1" after v0`, `v2 b.md "1" after v0`, `v3 b.md "2" after v2`,
		`v4 a.md "3" after v2`, `v4 b.md "3" after v3`, `v5 a.md "" after v4`,
		`v6 a.md "4" after v0`,
	}, got)
}

// TestAuditLog checks the audit log of changes: time, operation, author, and old and new values to
// the last digit; the same in this process and another one.
func TestAuditLog(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	change(t, v, edit{"people/freya.md", "---\nage: 9007199254740990\n---\none\n"})
	change(t, v, edit{"people/freya.md", "---\nage: 9007199254740991\n---\none\ntwo <b>\n"})
	change(t, v, edit{"people/freya.md", ""}, edit{".trash/people/freya.md", "x"})
	var lines []string
	for part, err := range v.AuditLog(t.Context()) {
		require.NoError(t, err)
		lines = append(lines, strings.SplitAfter(strings.TrimSuffix(string(part), "\n"), "\n")...)
	}
	require.Len(t, lines, 3)
	for i, want := range []struct{ op, has string }{
		{"create", ""},
		{"update", `{"age":{"new":9007199254740991,"old":9007199254740990},` +
			`"content":{"added":1,"removed":0}}`},
		{"delete", `"fields":{"age":9007199254740991`},
	} {
		require.Regexp(t, fmt.Sprintf(
			`^{"ts":"\d{4}-\d\d-\d\dT[^"]+Z","op":%q,"entity":"object","id":"people/freya",`, want.op),
			lines[i])
		require.Contains(t, lines[i], want.has)
		var line map[string]any
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &line))
		require.Equal(t, []any{"ann", "helper", "r-1", eventlog.Version(uint64(i + 2))},
			[]any{line["principal"], line["agent"], line["request_id"], line["version"]})
	}
	var again bytes.Buffer
	for part, err := range openVault(t, e, repo.Limits{}).AuditLog(t.Context()) {
		require.NoError(t, err)
		again.Write(part)
	}
	require.Equal(t, strings.Join(lines, "\n")+"\n", again.String())
}

// TestImportedAuditLog checks that the lines of an ingested audit log are kept, once.
func TestImportedAuditLog(t *testing.T) {
	v := newVault(t, engine(t))
	change(t, v, edit{vault.AuditLog, `{"ts":"2020-01-01T00:00:00Z"}` + "\n\n"}, edit{"a.md", "a"})
	var all []string
	for part, err := range v.AuditLog(t.Context()) {
		require.NoError(t, err)
		all = append(all, string(part))
	}
	require.Len(t, all, 1)
	lines := strings.Split(all[0], "\n")
	require.Len(t, lines, 3)
	require.Equal(t, `{"ts":"2020-01-01T00:00:00Z"}`, lines[0])
	require.Contains(t, lines[1], `"op":"create","entity":"object","id":"a"`)
}

// TestTextsOfTheSameRun checks that a call reads the results of earlier calls in its run, which are
// not in the log yet.
func TestTextsOfTheSameRun(t *testing.T) {
	e := engine(t)
	newVault(t, e)
	g := repotest.NewGate(e.Table)
	v := openVault(t, repotest.Engine{Table: g, Bucket: e.Bucket}, repo.Limits{})
	adds := func(line string) func(context.Context, *repo.Tx) (any, error) {
		return func(ctx context.Context, tx *repo.Tx) (any, error) {
			old, _, err := tx.Text(ctx, "a.md")
			if err != nil {
				return nil, err
			}
			other := tx.Put(ctx, vault.Path("b-"+line+".md"), []byte(line))
			return line, errors.Join(other, tx.Put(ctx, "a.md", append(bytes.Clone(old), line...)))
		}
	}
	failures := make(chan error)
	start := func(c eventlog.Call, fn func(context.Context, *repo.Tx) (any, error)) {
		go func() {
			_, err := v.Update(t.Context(), c, fn)
			failures <- err
		}()
	}
	start(caller(), adds("1"))
	<-g.Entered
	keyed := caller()
	keyed.Key = "key"
	for i, call := range []eventlog.Call{caller(), keyed, caller()} {
		start(call, adds(fmt.Sprint(i+2)))
		repotest.Queued(t, v, i+1)
	}
	start(caller(), edits(edit{"a.md", "5"}, edit{"a.md", ""}, edit{"b-1.md", ""}))
	repotest.Queued(t, v, 4)
	start(caller(), adds("6"))
	repotest.Queued(t, v, 5)
	g.Open()
	for range 6 {
		require.NoError(t, <-failures)
	}
	want := map[string]string{"a.md": "6"}
	for _, n := range []string{"2", "3", "4", "6"} {
		want["b-"+n+".md"] = n
	}
	require.Equal(t, want, files(t, e))
	var got []string
	for c, err := range v.Commits(t.Context(), 2) {
		require.NoError(t, err)
		for _, n := range c.Notes {
			if n.Path == "a.md" {
				got = append(got, fmt.Sprintf("%s<v%d", n.Text, n.Prev))
			}
		}
	}
	require.Equal(t, []string{"1<v0", "12<v2", "123<v3", "1234<v4", "<v5", "6<v0"}, got)
}

// TestImportsAtOnce checks that a run of large imports fits in an item, although each note also
// adds to the header.
func TestImportsAtOnce(t *testing.T) {
	e := engine(t)
	newVault(t, e)
	g := repotest.NewGate(e.Table)
	v := openVault(t, repotest.Engine{Table: g, Bucket: e.Bucket}, repo.Limits{})
	const imports, notes = 9, 1000
	failures := make(chan error)
	for i := range imports + 1 {
		var all []edit
		for j := range notes {
			all = append(all, edit{fmt.Sprintf("%d/%d.md", i, j), "x"})
		}
		if i == 0 {
			all = all[:1]
		}
		go func() {
			_, err := v.Update(t.Context(), caller(), edits(all...))
			failures <- err
		}()
		if i == 0 {
			<-g.Entered
		}
	}
	repotest.Queued(t, v, imports)
	g.Open()
	for range imports + 1 {
		require.NoError(t, <-failures)
	}
	idx, err := openVault(t, e, repo.Limits{}).Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, imports*notes+1, idx.Totals().Notes)
}

// TestTooMuchAtOnce checks that a call that no item can contain is refused, and the others of its
// run are not.
func TestTooMuchAtOnce(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	var all []edit
	for i := range 7000 {
		all = append(all, edit{fmt.Sprintf("%d.md", i), "x"})
	}
	_, err := v.Update(t.Context(), caller(), edits(all...))
	require.True(t, fault.Is(err, fault.BatchTooLarge), "%v", err)
	require.Empty(t, files(t, e))
}

// TestTrashed checks that a vault in the trash can be neither read nor written by any process, and
// that a key used before still returns its answer.
func TestTrashed(t *testing.T) {
	e := engine(t)
	v, other := newVault(t, e), openVault(t, e, repo.Limits{})
	change(t, other, edit{"a.md", "a"})
	require.NoError(t, v.SetStatus(t.Context(), caller(), eventlog.Trashed))
	require.NoError(t, v.SetStatus(t.Context(), caller(), eventlog.Trashed))
	for _, process := range []*repo.Vault{v, other, openVault(t, e, repo.Limits{})} {
		_, err := process.Read(t.Context())
		require.True(t, fault.Is(err, fault.NotFound), "%v", err)
		_, err = process.Update(t.Context(), caller(), edits(edit{"a.md", "b"}))
		require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	}
	require.NoError(t, other.SetStatus(t.Context(), caller(), eventlog.Active))
	r := change(t, v, edit{"a.md", "b"})
	require.EqualValues(t, 5, r.Seq, "one commit each for the trash and the way back")
	require.Equal(t, map[string]string{"a.md": "b"}, files(t, e))
}

// TestCreate checks that a vault is created once, also if the call is repeated.
func TestCreate(t *testing.T) {
	e := engine(t)
	_, err := openVault(t, e, repo.Limits{}).Read(t.Context())
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	_, err = openVault(t, e, repo.Limits{}).Update(t.Context(), caller(), edits(edit{"a.md", "a"}))
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	first := []eventlog.Note{{Path: "a.md", Text: []byte("a")}}
	for range 2 {
		require.NoError(t, openVault(t, e, repo.Limits{}).Create(t.Context(), caller(), first))
	}
	other := caller()
	other.Request = []byte("another")
	err = openVault(t, e, repo.Limits{}).Create(t.Context(), other, nil)
	require.ErrorIs(t, err, eventlog.ErrLogExists)
	v := openVault(t, e, repo.Limits{})
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, idx.Version())
	require.Equal(t, map[string]string{"a.md": "a"}, files(t, e))
}

// TestCreateAtOnce checks that of two concurrent calls that create the same vault one succeeds, and
// that the other succeeds only if it is the same call.
func TestCreateAtOnce(t *testing.T) {
	for _, c := range []struct {
		name               string
		principal, request string
		same               bool
	}{
		{"the same call", "ann", "request", true},
		{"another call", "ann", "another", false},
		{"another caller's", "bob", "another", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := engine(t)
			g := repotest.NewGate(e.Table)
			slow := openVault(t, repotest.Engine{Table: g, Bucket: e.Bucket}, repo.Limits{})
			done := make(chan error)
			go func() { done <- slow.Create(t.Context(), caller(), nil) }()
			<-g.Entered
			g.Through <- nil // the control item
			<-g.Entered
			fast := caller()
			fast.Who.Principal, fast.Request = c.principal, []byte(c.request)
			require.NoError(t, openVault(t, e, repo.Limits{}).Create(t.Context(), fast, nil),
				"what is only half made is adopted")
			g.Open()
			if err := <-done; c.same {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, eventlog.ErrLogExists)
			}
			idx, err := openVault(t, e, repo.Limits{}).Read(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 1, idx.Version())
		})
	}
}

// A follower records the commits that it gets, and guards one path.
type follower struct{ told []string }

func (f *follower) Guard(_ context.Context, path vault.Path, durable *index.File) error {
	if path == "guarded.md" {
		return fault.New(fault.Conflict, "somebody else changed it, in log: %v", durable != nil)
	}
	return nil
}

func (f *follower) Applied(before, after *index.Index, c *eventlog.Commit) {
	f.told = append(f.told, fmt.Sprintf("%d %d>%d", c.Seq, before.Version(), after.Version()))
}

func (f *follower) Settled(context.Context) { f.told = append(f.told, "settled") }

func (f *follower) Unread(path string) (repo.LeftFile, bool) {
	return repo.LeftFile{Path: path, Why: repo.LeftSize}, path == "unread.md"
}

// TestFollower checks that a follower gets every commit once and in order, whichever process made
// it, and that it can refuse a path.
func TestFollower(t *testing.T) {
	e := engine(t)
	other, v := newVault(t, e), openVault(t, e, repo.Limits{})
	f := &follower{}
	v.Follow(f, 0)
	change(t, v, edit{"a.md", "a"})
	change(t, other, edit{"b.md", "b"})
	change(t, v, edit{"a.md", "aa"})
	_, err := v.Update(t.Context(), caller(), edits(edit{"b.md", "x"}, edit{"guarded.md", "x"}))
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	_, err = v.Rebuild(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, []string{"1 0>1", "2 1>2", "settled", "3 2>3", "4 3>4", "settled"}, f.told)
}

// TestReceiptOfUnread checks that a receipt lists the notes whose files the follower leaves
// unchanged, also for a repeated call.
func TestReceiptOfUnread(t *testing.T) {
	v := newVault(t, engine(t))
	v.Follow(&follower{}, 0)
	want := []repo.LeftFile{{Path: "unread.md", Why: repo.LeftSize}}
	call := caller()
	call.Key = "k"
	for range 2 {
		r, err := v.Update(t.Context(), call, edits(edit{"a.md", "a"}, edit{"unread.md", "x"}))
		require.NoError(t, err)
		require.Equal(t, want, r.Unread)
	}
	require.Empty(t, change(t, v, edit{"a.md", "aa"}).Unread)
	call.Key, call.DryRun = "", true
	r, err := v.Update(t.Context(), call, edits(edit{"unread.md", "xx"}))
	require.NoError(t, err)
	require.Empty(t, r.Unread)
}

// A hooked table runs a function after a commit is written and before it returns.
type hooked struct {
	table.Table
	after func()
}

func (h *hooked) Commit(ctx context.Context, ops ...table.Op) error {
	err := h.Table.Commit(ctx, ops...)
	if after := h.after; after != nil {
		h.after = nil
		after()
	}
	return err
}

// TestReaderIsFaster checks that a reader that reads a run before its writer gets its result, or
// afterwards, neither makes time go back nor notifies a follower twice.
func TestReaderIsFaster(t *testing.T) {
	e := engine(t)
	other, h := newVault(t, e), &hooked{Table: e.Table}
	v := openVault(t, repotest.Engine{Table: h, Bucket: e.Bucket}, repo.Limits{})
	f := &follower{}
	v.Follow(f, 0)
	h.after = func() {
		_, wrote := other.Update(t.Context(), caller(), edits(edit{"b.md", "b"}))
		_, read := v.Read(t.Context())
		if err := errors.Join(wrote, read); err != nil {
			t.Error(err)
		}
	}
	require.EqualValues(t, 2, change(t, v, edit{"a.md", "a"}).Seq)
	require.EqualValues(t, 3, v.Known().Version())
	change(t, v, edit{"c.md", "c"})
	require.Equal(t, []string{"1 0>1", "2 1>2", "3 2>3", "settled", "4 3>4", "settled"}, f.told)
	require.Equal(t, map[string]string{"a.md": "a", "b.md": "b", "c.md": "c"}, files(t, e))
}
