package repo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/vault"
)

// lineOf returns a line of an audit log that is longer than most.
func lineOf(n int) string {
	return fmt.Sprintf(`{"ts":"2020-01-01T00:00:00Z","n":%d,"pad":%q}`, n, strings.Repeat("x", n%97)) + "\n"
}

// wholeAudit returns the audit log of a vault.
func wholeAudit(t *testing.T, v *repo.Vault) string {
	t.Helper()
	var all strings.Builder
	for lines, err := range v.AuditLog(t.Context()) {
		require.NoError(t, err)
		all.Write(lines)
	}
	return all.String()
}

// TestSeveralAuditLogs checks that the lines of the audit logs in one commit come oldest first,
// each log ending in a newline, before the events of the commit, and that ingesting them adds no
// event.
func TestSeveralAuditLogs(t *testing.T) {
	v := newVault(t, engine(t))
	change(t, v, edit{vault.AuditLog, lineOf(4)}, edit{"a.md", "a"},
		edit{vault.ClosedAudit("2020-02"), lineOf(2) + strings.TrimSuffix(lineOf(3), "\n")},
		edit{vault.ClosedAudit("2019-12"), "\n"}, edit{vault.ClosedAudit("2020-01"), lineOf(1)})
	log := wholeAudit(t, v)
	told, rest := log[:strings.LastIndexByte(log[:len(log)-1], '\n')+1], lineOf(1)+lineOf(2)+lineOf(3)+lineOf(4)
	require.Equal(t, rest, told)
	require.Contains(t, log[len(told):], `"op":"create","entity":"object","id":"a"`)
}

// TestAuditTold checks that an audit log is recognized by its lines at any position in the vault's
// own log, and that a log with other lines, or lines in another order, is not.
func TestAuditTold(t *testing.T) {
	v := newVault(t, engine(t))
	const commits, each = 20, 400
	for c := range commits {
		var text strings.Builder
		for n := range each {
			text.WriteString(lineOf(c*each + n))
		}
		change(t, v, edit{vault.AuditLog, text.String()})
	}
	log := wholeAudit(t, v)
	lines := strings.SplitAfter(log, "\n")
	join := func(from, to int) string { return strings.Join(lines[from:to], "") }
	cases := []struct {
		name, text string
		told       bool
	}{
		{"all", log, true},
		{"nothing", "", true},
		{"the beginning", join(0, 700), true},
		{"the end", join(commits*each-700, commits*each), true},
		{"over a commit", join(each-1, each+1), true},
		{"a long piece of the middle", join(3000, 5000), true},
		{"the first line", lines[0], true},
		{"without its last end", strings.TrimSuffix(join(10, 20), "\n"), true},
		{"with empty lines at its end", join(10, 20) + "\n\n", true},
		{"more than all", log + lineOf(1_000_000), false},
		{"not a whole line at its beginning", join(10, 20)[1:], false},
		{"not a whole line at its end", join(10, 20)[:len(join(10, 20))-2], false},
		{"another line", join(10, 20) + lineOf(1_000_000), false},
		{"another order", lines[11] + lines[10], false},
		{"a hole", join(10, 20) + join(21, 30), false},
	}
	var logs [][]byte
	for _, c := range cases {
		logs = append(logs, []byte(c.text))
	}
	told, err := v.AuditTold(t.Context(), logs)
	require.NoError(t, err)
	for i, c := range cases {
		require.Equal(t, c.told, told[i], c.name)
		alone, err := v.AuditTold(t.Context(), logs[i:i+1])
		require.NoError(t, err)
		require.Equal(t, c.told, alone[0], c.name)
	}
	empty, err := newVault(t, engine(t)).AuditTold(t.Context(), [][]byte{[]byte(lines[0]), nil})
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, empty)
}

// TestAuditMonths checks that months are those of the commits, that they end at the given commit,
// and that months without lines are omitted.
func TestAuditMonths(t *testing.T) {
	e, clock := engine(t), repotest.NewClock()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "team", Part: "v", Table: e.Table, Bucket: e.Bucket, Texts: repo.NewTexts(1 << 20),
		Now: clock.Now,
	})
	require.NoError(t, err)
	require.NoError(t, v.Create(t.Context(), caller(), nil))
	var want []string
	for range 12 {
		clock.Move(45 * 24 * 3600e9)
		change(t, v, edit{"a.md", clock.Now().String()})
		want = append(want, clock.Now().UTC().Format("2006-01"))
	}
	for upTo := range uint64(14) {
		var months []string
		all := ""
		for m, err := range v.AuditMonths(t.Context(), upTo) {
			require.NoError(t, err)
			months, all = append(months, m.Month), all+string(m.Lines)
		}
		n := max(int(upTo)-1, 0)
		require.Equal(t, want[:n], append([]string{}, months...))
		require.True(t, strings.HasPrefix(wholeAudit(t, v), all))
		require.Equal(t, n, strings.Count(all, "\n"))
	}
}

// TestAuditLines checks that a line begins with its time and the first names, followed by the other
// names in order, and that its values are encoded as encoding/json does, whatever their encoding in
// the log.
func TestAuditLines(t *testing.T) {
	c := &eventlog.Commit{
		Seq: 7, Time: time.Date(2026, 3, 2, 1, 0, 0, 5e6, time.UTC),
		Who: eventlog.Who{Principal: "user:<a>", Agent: "b\"c", Request: "r"},
		Notes: []eventlog.Note{{Path: "n.md", Events: []byte(`[` +
			`{"op":"update","entity":"object","id":"n","type":"page","changes":{"b":{"old":1.50,"new":12345678901234567890},"a":"\u003c"}},` +
			`{"op":"delete","entity":"trait","id":"n:t\u0026:0","line":3,"content":"\u00e9 \u2028 \u003e é","value":[1e2,"x"]},` +
			`{"op":"reindex","file":"n.md","zéro":[],"changes":{},"parent":null}]`)},
			{Path: "none.md", Events: []byte("null")}, {Path: "bad.md", Events: []byte("[1")}},
	}
	const begin, who = `{"ts":"2026-03-02T01:00:00.005Z","op":`, `"principal":"user:<a>","request_id":"r",`
	require.Equal(t, []string{
		begin + `"update","entity":"object","id":"n","agent":"b\"c","changes":{"a":"<","b":{"new":12345678901234567890,` +
			`"old":1.50}},` + who + `"type":"page","version":"v7"}`,
		begin + `"delete","entity":"trait","id":"n:t&:0","agent":"b\"c","content":"é \u2028 > é","line":3,` + who +
			`"value":[1e2,"x"],"version":"v7"}`,
		begin + `"reindex","file":"n.md","agent":"b\"c","changes":{},"parent":null,` + who + `"version":"v7","zéro":[]}`,
		"",
	}, strings.Split(string(repo.AuditLines(c)), "\n"))
}

// TestForAudit checks that the part of a commit that is kept for the audit log has its lines, and no
// text of a note.
func TestForAudit(t *testing.T) {
	event := []byte(`[{"op":"update","entity":"object","id":"n"}]`)
	c := &eventlog.Commit{
		Seq: 7, Time: time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC), Who: eventlog.Who{Principal: "user:a"},
		Notes: []eventlog.Note{
			{Path: "n.md", Text: []byte("# N\n"), Theirs: []byte("# M\n"), Events: event},
			{Path: string(vault.AuditLog), Text: []byte(lineOf(1)), Events: event},
			{Path: "gone.md", Deleted: true, Events: event},
			{Path: "erased.md", Erased: true},
			{Path: "silent.md", Text: []byte("# S\n")},
		},
		Items:   []eventlog.Item{{Kind: "memory", ID: "m"}},
		Records: []eventlog.Record{{Kind: "erased", ID: "history", Value: []byte(`{"parts":[[1,0]]}`)}},
	}
	less := repo.ForAudit(c)
	require.Equal(t, string(repo.AuditLines(c)), string(repo.AuditLines(less)))
	require.Contains(t, string(repo.AuditLines(less)), `"op":"erase"`)
	require.Empty(t, less.Items)
	for _, n := range less.Notes {
		require.Nil(t, n.Theirs)
		require.True(t, n.Text == nil || n.Path == string(vault.AuditLog), n.Path)
	}
}
