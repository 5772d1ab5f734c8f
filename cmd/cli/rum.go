package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	_ "modernc.org/sqlite" // the driver of files of SQLite, in Go

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
)

// sqliteHead is the beginning of an SQLite file (https://www.sqlite.org/fileformat.html). It is
// more reliable than the extension, which differs between programs.
const sqliteHead = "SQLite format 3\x00"

// convertDatabase returns the file to import in place of path: a temporary file of JSON Lines if
// path is a RUM database, and otherwise path itself. done removes the temporary file; it is never
// nil.
//
// A server imports JSON Lines only: it must not open a database that a client sends. The conversion
// is therefore here, and the rest of an import is the same for both kinds of files.
func convertDatabase(ctx context.Context, path string) (file string, done func(), err error) {
	nothing := func() {}
	if !isDatabase(path) {
		return path, nothing, nil
	}
	dir, err := os.MkdirTemp("", "rookery-import-")
	if err != nil {
		return "", nothing, fault.New(fault.FileError, "a temporary file cannot be created").Because(err)
	}
	done = func() { _ = os.RemoveAll(dir) }
	file = filepath.Join(dir, "memories.jsonl")
	if err := writeLines(ctx, path, file); err != nil {
		done()
		return "", nothing, err
	}
	return file, done, nil
}

// isDatabase reports whether a file is an SQLite file. A file that cannot be read is none; the
// import reports it then.
func isDatabase(path string) bool {
	f, err := os.Open(path) //nolint:gosec // the caller names it
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, len(sqliteHead))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == sqliteHead
}

// writeLines writes the content of a database as JSON Lines, in the order that an import requires:
// items that others name come first. The file must not exist, and only this user can read it.
func writeLines(ctx context.Context, path, file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // a file of our own
	if err != nil {
		return fault.New(fault.FileError, "the temporary file cannot be written").Because(err)
	}
	w := bufio.NewWriter(f)
	err = readRUM(ctx, path, func(l memory.Line) error {
		data, err := l.MarshalJSON()
		if err == nil {
			_, err = w.Write(append(data, '\n'))
		}
		return err
	})
	return errors.Join(err, w.Flush(), f.Close())
}

// readRUM reads a database: agents, memories by age, links, chapters and wisdom. It does not change
// the file, which another program may have open: the connection is read-only, and one transaction
// gives a consistent snapshot. It skips data that Rookery derives itself, such as counts of
// sessions, files and embeddings. emit is called with each item; its error ends the reading.
func readRUM(ctx context.Context, path string, emit func(memory.Line) error) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fault.New(fault.FileError, "the database cannot be found").Because(err)
	}
	at := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro&_pragma=query_only(1)"}
	db, err := sql.Open("sqlite", at.String())
	if err != nil {
		return unreadableDatabase(err)
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // a consistent snapshot
	if err != nil {
		return unreadableDatabase(err)
	}
	defer func() { _ = tx.Rollback() }()
	r := reading{tx, ctx, emit}
	if err := r.check(); err != nil {
		return err
	}
	for _, read := range []func() error{r.agents, r.memories, r.links, r.chapters, r.wisdom} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// unreadableDatabase returns the FILE_ERROR of a database that cannot be read. The usual reason is
// that another program has it open, or that only a part of its files was copied.
func unreadableDatabase(err error) error {
	return fault.New(fault.FileError, "the database cannot be read").
		Fix("close the program that has it open, or copy the file together with its -wal and " +
			"-shm files").Because(err)
}

// A reading reads a database within a transaction, and passes each item to emit. It has the context
// as a field because it lives for one call.
type reading struct {
	tx   *sql.Tx
	ctx  context.Context
	emit func(memory.Line) error
}

// rumTables contains the tables that are read.
var rumTables = []string{
	"agents", "memories", "memory_links", "chapters", "chapter_memories", "wisdom", "wisdom_chapters",
}

// check refuses a database of another program: it must have all tables in rumTables. Columns are
// not checked; a query for a missing one is an error.
func (r reading) check() error {
	there := map[string]bool{}
	err := r.rows("SELECT name FROM sqlite_master WHERE type = 'table'", func(row row) error {
		there[row.text(0)] = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range rumTables {
		if !there[name] {
			return fault.New(fault.InvalidQuery, "the file is not a RUM database: it has no "+
				"table %q", name).
				With("argument", "files")
		}
	}
	return nil
}

// A row is one row of a result, with the values of its columns as the driver returns them: int64,
// float64, string, []byte or nil. SQLite does not enforce the types of columns, so the methods
// accept any type and return a zero value for an unexpected one.
type row []any

// text returns a column as text; "" for NULL.
func (r row) text(i int) string {
	switch v := r[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// number returns a column as a whole number; 0 for NULL.
func (r row) number(i int) int64 {
	switch v := r[i].(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return 0
}

// json returns a column with JSON; nil for NULL and for null. Text that is not JSON is
// INVALID_QUERY; what is the name of the column in the message, and the first column must be the id
// of the item.
func (r row) json(i int, what string) (json.RawMessage, error) {
	data := bytes.TrimSpace([]byte(r.text(i)))
	switch {
	case len(data) == 0 || string(data) == "null":
		return nil, nil
	case !json.Valid(data):
		return nil, fault.New(fault.InvalidQuery, "%s of %q is not JSON", what, r.text(0)).With("argument", "files")
	}
	return data, nil
}

// texts returns a column with a JSON list of texts; nil for NULL and for null. Anything else is
// INVALID_QUERY.
func (r row) texts(i int, what string) ([]string, error) {
	data, err := r.json(i, what)
	if err != nil || data == nil {
		return nil, err
	}
	var all []string
	if json.Unmarshal(data, &all) != nil {
		return nil, fault.New(fault.InvalidQuery, "%s of %q is not a list of strings", what, r.text(0)).
			With("argument", "files")
	}
	return all, nil
}

// rows calls f with each row of a result. It ends at the first error of f and returns it; an error
// of the database is FILE_ERROR. f must not start another query, because the transaction has one
// connection.
func (r reading) rows(query string, f func(row) error, args ...any) error {
	rows, err := r.tx.QueryContext(r.ctx, query, args...)
	if err != nil {
		return unreadableDatabase(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return unreadableDatabase(err)
	}
	for rows.Next() {
		values := make(row, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return unreadableDatabase(err)
		}
		if err := f(values); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return unreadableDatabase(err)
	}
	return nil
}

// put emits a line, without members that are nil or empty, so that NULL, an empty text and a
// missing value are the same to an import. It changes members.
func (r reading) put(kind, id string, members map[string]any) error {
	for name, value := range members {
		switch v := value.(type) {
		case json.RawMessage:
			if v == nil {
				delete(members, name)
			}
		case string:
			if v == "" {
				delete(members, name)
			}
		case []string:
			if v == nil {
				delete(members, name)
			}
		}
	}
	value, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("write a line: %w", err)
	}
	return r.emit(memory.Line{Kind: kind, ID: id, Value: value})
}

// agents emits the agents, the oldest first, so that a parent comes before its children.
func (r reading) agents() error {
	return r.rows(`SELECT id, type, parent_id, created_at, last_active_at, session_count, specialization, capabilities
		FROM agents ORDER BY created_at, rowid`, func(w row) error {
		capabilities, err := w.texts(7, "capabilities")
		if err != nil {
			return err
		}
		return r.put(memory.KindAgent, w.text(0), map[string]any{
			"type": w.text(1), "parent": w.text(2), "created": w.number(3), "active": w.number(4),
			"sessions": w.number(5), "specialization": w.text(6), "capabilities": capabilities,
		})
	})
}

// memories emits the memories, the oldest first, with their five layers as JSON objects. Importance
// may be an integer or a fraction, so it is passed on as it is.
func (r reading) memories() error {
	layers := []string{"intent", "perception", "reasoning", "actions", "outcome"}
	return r.rows(`SELECT id, agent_id, session_id, created_at, importance, tags, intent, perception,
		reasoning, actions, outcome FROM memories ORDER BY created_at, rowid`, func(w row) error {
		tags, err := w.texts(5, "tags")
		if err != nil {
			return err
		}
		members := map[string]any{
			"agent": w.text(1), "session": w.text(2), "created": w.number(3), "tags": tags,
		}
		if w[4] != nil {
			members["importance"] = w[4]
		}
		for i, layer := range layers {
			if members[layer], err = w.json(6+i, layer); err != nil {
				return err
			}
		}
		return r.put(memory.KindMemory, w.text(0), members)
	})
}

// links emits the links of each memory in one line, grouped by their kind. The rows are sorted by
// source, so a line is complete when the next source begins. Links of an unknown kind are skipped.
func (r reading) links() error {
	source, links := "", map[string]any{}
	flush := func() error {
		if source == "" {
			return nil
		}
		return r.put(memory.KindLinks, source, links)
	}
	err := r.rows(`SELECT source_id, link_type, target_id FROM memory_links
		ORDER BY source_id, created_at, rowid`, func(w row) error {
		if w.text(0) != source {
			if err := flush(); err != nil {
				return err
			}
			source, links = w.text(0), map[string]any{}
		}
		if kind := w.text(1); slices.Contains(memory.LinkKinds(), kind) {
			all, _ := links[kind].([]string)
			links[kind] = append(all, w.text(2))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// members returns the texts of the first column of a query with one parameter, in order; never nil.
func (r reading) members(query, id string) ([]string, error) {
	all := []string{}
	err := r.rows(query, func(w row) error {
		all = append(all, w.text(0))
		return nil
	}, id)
	return all, err
}

// summaries emits chapters or wisdom. The columns are id, created, summary, start and end, then
// lists of texts, and then texts.
func (r reading) summaries(kind, query, of, from string, lists []string, more ...string) error {
	var all []row
	if err := r.rows(query, func(w row) error { all = append(all, w); return nil }); err != nil {
		return err
	}
	for _, w := range all { // the rows of a query are read before the next query begins
		m := map[string]any{
			"created": w.number(1), "summary": w.text(2), "start": w.number(3), "end": w.number(4),
		}
		var err error
		for i, name := range lists {
			if m[name], err = w.texts(5+i, name); err != nil {
				return err
			}
		}
		for i, name := range more {
			m[name] = w.text(5 + len(lists) + i)
		}
		if m[of], err = r.members(from, w.text(0)); err != nil {
			return err
		}
		if err := r.put(kind, w.text(0), m); err != nil {
			return err
		}
	}
	return nil
}

// chapters emits the chapters, each with the ids of its memories.
func (r reading) chapters() error {
	return r.summaries(memory.KindChapter,
		`SELECT id, created_at, summary, start_ts, end_ts, learnings, tags, topics, title, origin
		FROM chapters ORDER BY created_at, rowid`,
		"memories", `SELECT memory_id FROM chapter_memories WHERE chapter_id = ? ORDER BY position, rowid`,
		[]string{"learnings", "tags", "topics"}, "title", "origin")
}

// wisdom emits the wisdom, each item with the ids of its chapters.
func (r reading) wisdom() error {
	return r.summaries(memory.KindWisdom, `SELECT id, created_at, summary, start_ts, end_ts, insights, patterns,
		best_practices, tags FROM wisdom ORDER BY created_at, rowid`,
		"chapters", `SELECT chapter_id FROM wisdom_chapters WHERE wisdom_id = ? ORDER BY rowid`,
		[]string{"insights", "patterns", "best_practices", "tags"})
}
