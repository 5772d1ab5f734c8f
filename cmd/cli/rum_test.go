package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rumSchema has the tables of RUM with the columns that are read.
const rumSchema = `
CREATE TABLE agents (id TEXT PRIMARY KEY, type TEXT, parent_id TEXT, project_id TEXT, created_at INTEGER,
	last_active_at INTEGER, session_count INTEGER, memory_count INTEGER, specialization TEXT, capabilities JSON);
CREATE TABLE memories (id TEXT PRIMARY KEY, agent_id TEXT, project_id TEXT, session_id TEXT, created_at INTEGER,
	intent_goal TEXT, intent JSON, perception JSON, reasoning JSON, actions JSON, outcome JSON, tags JSON, importance REAL,
	access_count INTEGER, embedding BLOB);
CREATE TABLE memory_links (id TEXT PRIMARY KEY, source_id TEXT, target_id TEXT, link_type TEXT, created_at INTEGER);
CREATE TABLE chapters (id TEXT PRIMARY KEY, created_at INTEGER, title TEXT, summary TEXT, learnings JSON, start_ts INTEGER,
	end_ts INTEGER, tags JSON, topics JSON, origin TEXT);
CREATE TABLE chapter_memories (chapter_id TEXT, memory_id TEXT, position INTEGER);
CREATE TABLE wisdom (id TEXT PRIMARY KEY, created_at INTEGER, summary TEXT, insights JSON, patterns JSON,
	best_practices JSON, tags JSON, start_ts INTEGER, end_ts INTEGER);
CREATE TABLE wisdom_chapters (wisdom_id TEXT, chapter_id TEXT);
`

const rumRows = `
INSERT INTO agents VALUES ('agent_a', 'main', NULL, 'p', 1705363200000, 1705363300000, 3, 2, NULL, NULL),
	('agent_b', 'subagent', 'agent_a', 'p', 1705363201000, 1705363201000, 1, 1, 'tests', '["go","ts"]');
INSERT INTO memories VALUES
	('mem_2', 'agent_b', 'p', 'session_2', 1705363202000, 'g', '{"goal":"second","task_type":"refactor"}', NULL, NULL,
		NULL, '{"success":false,"summary":"it broke","failure_category":"other"}', NULL, 0, 0, NULL),
	('mem_1', 'agent_a', 'p', 'session_1', 1705363201000, 'g',
		'{"goal":"first","task_type":"bug_fix","context":"c"}', '{"observations":[{"what":"w","where":"x","significance":"s"}]}',
		'{"approach_chosen":"a","why_chosen":"b"}', '[{"type":"file_edit","file_path":"src/a.ts"}]',
		'{"success":true,"summary":"done","learnings":["l"]}', '["t"]', 0.7, 9, x'0000803f');
INSERT INTO memory_links VALUES ('link_1', 'mem_2', 'mem_1', 'caused_by', 1), ('link_2', 'mem_2', 'mem_1', 'supersedes', 2);
INSERT INTO chapters VALUES ('chapter_1', 1705363203000, 'T', 'sum', '["l"]', 1705363201000, 1705363202000, '["t"]', '[]',
	'manual');
INSERT INTO chapter_memories VALUES ('chapter_1', 'mem_2', 1), ('chapter_1', 'mem_1', 0);
INSERT INTO wisdom VALUES ('wisdom_1', 1705363204000, 'wise', '["i"]', '["p"]', NULL, '["t"]', 1705363201000, 1705363202000);
INSERT INTO wisdom_chapters VALUES ('wisdom_1', 'chapter_1');
`

// newRUM creates a database with these statements. A connection keeps it open with a write-ahead
// log, as RUM does.
func newRUM(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p #1?.rum.db")
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("#", "%23", "?", "%3f", " ", "%20").Replace(path))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	for _, s := range append([]string{"PRAGMA journal_mode = WAL"}, statements...) {
		_, err := db.Exec(s)
		require.NoError(t, err, s)
	}
	return path
}

// TestImportOfRUM checks that a database of RUM is imported completely, also while it is open, and
// that a second import of it changes nothing.
func TestImportOfRUM(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	run := func(line ...string) string {
		t.Helper()
		code, out, errs := rookery(t, append(line, "--data", data, "--vault", "v", "--json")...)
		require.Zero(t, code, errs)
		return out
	}
	code, _, errs := rookery(t, "vault", "create", "v", "--data", data)
	require.Zero(t, code, errs)
	path := newRUM(t, rumSchema, rumRows)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, run("memory", "import", path), `"created":2,"skipped":0,"others":5`)
	require.Contains(t, run("memory", "import", path), `"created":0,"skipped":2`)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after, "it is not changed")

	file := filepath.Join(t.TempDir(), "out.jsonl")
	run("memory", "export", file)
	lines, err := os.ReadFile(file)
	require.NoError(t, err)
	want := map[string]string{
		"agent_b": `{"kind":"agent","id":"agent_b","v":1,"type":"subagent","parent":"agent_a","principal":"local",` +
			`"created":1705363201000,"sessions":1,"active":1705363201000,"specialization":"tests","capabilities":["go","ts"]}`,
		"mem_1": `{"kind":"memory","id":"mem_1","v":1,"agent":"agent_a","principal":"local","session":"session_1",` +
			`"created":1705363201000,"intent":{"goal":"first","task_type":"bug_fix","context":"c"},` +
			`"perception":{"observations":[{"what":"w","where":"x","significance":"s"}]},` +
			`"reasoning":{"approach_chosen":"a","why_chosen":"b"},"actions":[{"type":"file_edit","file_path":"src/a.ts"}],` +
			`"outcome":{"success":true,"summary":"done","learnings":["l"]},"tags":["t"],"importance":0.7,"imported":true}`,
		"wisdom_1": `{"kind":"wisdom","id":"wisdom_1","v":1,"agent":"local","principal":"local","created":1705363204000,` +
			`"summary":"wise","insights":["i"],"patterns":["p"],"best_practices":null,"tags":["t"],"start":1705363201000,` +
			`"end":1705363202000,"chapters":["chapter_1"]}`,
	}
	for line := range strings.Lines(string(lines)) {
		var of struct{ Kind, ID string }
		require.NoError(t, json.Unmarshal([]byte(line), &of))
		if w, ok := want[of.ID]; ok && of.Kind != "links" {
			require.JSONEq(t, w, line)
			delete(want, of.ID)
		}
	}
	require.Empty(t, want)
	require.Contains(t, string(lines), `"memories":["mem_1","mem_2"]`)
	out := run("memory", "recall", "--memory-id", "mem_2", "--depth", "complete", "--include-links")
	require.Contains(t, out, `"importance":0,`)
	require.Contains(t, out, `"caused_by":["mem_1"]`)
	require.Contains(t, out, `"supersedes":["mem_1"]`)
}

// TestImportOfOtherDatabases checks that a file which is not a database of RUM is refused with the
// reason, and that nothing is imported.
func TestImportOfOtherDatabases(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	code, _, errs := rookery(t, "vault", "create", "v", "--data", data)
	require.Zero(t, code, errs)
	broken := filepath.Join(t.TempDir(), "broken.db")
	require.NoError(t, os.WriteFile(broken, append([]byte(sqliteHead), make([]byte, 5000)...), 0o600))
	for want, path := range map[string]string{
		`it has no table "agents"`:    newRUM(t, "CREATE TABLE notes (id TEXT)"),
		"intent of":                   newRUM(t, rumSchema, rumRows, `UPDATE memories SET intent = '{' WHERE id = 'mem_2'`),
		"tags of":                     newRUM(t, rumSchema, rumRows, `UPDATE memories SET tags = '{"a":1}'`),
		"task_type":                   newRUM(t, rumSchema, rumRows, `UPDATE memories SET intent = '{"goal":"g","task_type":"dance"}'`),
		"the database cannot be read": broken,
		"there is no file or folder":  filepath.Join(t.TempDir(), "gone.db"),
	} {
		code, _, errs := rookery(t, "memory", "import", path, "--data", data, "--vault", "v")
		require.NotZero(t, code, want)
		require.Contains(t, errs, want)
	}
	code, out, errs := rookery(t, "memory", "list", "--data", data, "--vault", "v", "--json")
	require.Zero(t, code, errs)
	require.Contains(t, out, `"total":0`)
}
