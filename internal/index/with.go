package index

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"rookery/internal/vault"
)

// With is the index after one more commit. The old one stays as it is. It takes time in proportion
// to what the commit changes; only a change of the schema or of the daily folder looks at all notes
// again, and reads no text for it.
func (x *Index) With(c Commit) *Index {
	y := x.next(c)
	settings := false
	for _, ch := range c.Changes {
		y.change(c, ch)
		settings = y.setting(ch) || settings
	}
	if settings {
		y.classify()
	}
	return y
}

// change takes one file in.
func (x *Index) change(c Commit, ch Change) {
	old, existed := x.files.Get(ch.Path)
	if existed {
		x.drop(old)
	}
	if ch.Deleted {
		return
	}
	f := &File{
		Path: ch.Path, Size: len(ch.Text), Digest: DigestOf(ch.Text), Body: ch.Body,
		Version: c.Seq,
	}
	x.files.Set(f.Path, f)
	if !isNote(f.Path) {
		return
	}
	n := newNote(f, ch.Text)
	n.Type = x.typeOf(n)
	n.Created, n.Modified = c.Time, c.Time
	if existed && old.Note != nil {
		n.Created = old.Note.Created
	} else if seen, ok := x.seeds[n.ID]; ok {
		n.Created, n.Modified = seen.first, seen.last
	}
	f.Note = n
	x.add(n)
}

// isNote reports whether the file of a path is a note.
func isNote(path string) bool {
	return vault.Path(path).Kind() == vault.KindNote && !strings.HasPrefix(path, vault.Trash)
}

// add enters a note into the lookups.
func (x *Index) add(n *Note) {
	x.folded.Set(vault.Fold(n.Path), n.Path)
	x.byType.Set(typeKey(n.Type, n.Path), n)
	x.count(n.Type, 1)
	x.totals.Notes++
	x.totals.Sections += len(n.Sections)
	x.totals.Bytes += int64(n.Size)
	if n.Quarantine != nil {
		x.broken.Set(n.Path, n)
		x.totals.Quarantined++
	}
}

// drop takes a file out of the lookups.
func (x *Index) drop(f *File) {
	x.files.Delete(f.Path)
	n := f.Note
	if n == nil {
		return
	}
	x.folded.Delete(vault.Fold(n.Path))
	x.byType.Delete(typeKey(n.Type, n.Path))
	x.count(n.Type, -1)
	x.totals.Notes--
	x.totals.Sections -= len(n.Sections)
	x.totals.Bytes -= int64(n.Size)
	if n.Quarantine != nil {
		x.broken.Delete(n.Path)
		x.totals.Quarantined--
	}
}

func (x *Index) count(typ string, by int) {
	n, _ := x.types.Get(typ)
	if n += by; n == 0 {
		x.types.Delete(typ)
		return
	}
	x.types.Set(typ, n)
}

// setting takes a file that says how the others are read. It reports whether the notes must be
// looked at again.
func (x *Index) setting(ch Change) bool {
	text := ch.Text
	if ch.Deleted {
		text = nil
	}
	switch ch.Path {
	case vault.SchemaFile:
		x.readSchema(text)
		return true
	case vault.ConfigRaven:
		x.readConfig(text, x.rookery)
		return true
	case vault.ConfigRookery:
		x.readConfig(x.raven, text)
		return false
	case vault.AuditLog:
		x.seeds = readSeeds(text)
		return true
	}
	return false
}

func (x *Index) readSchema(text []byte) {
	x.schema, x.schemaErr = vault.ParseSchema(text)
	if x.schemaErr != nil {
		x.schema = vault.NewSchema()
	}
	x.schema = x.schema.WithDaily(x.config)
}

func (x *Index) readConfig(raven, rookery []byte) {
	x.raven, x.rookery = raven, rookery
	x.config, x.configErr = vault.ParseConfig(raven, rookery)
	x.schema = x.schema.WithDaily(x.config)
}

// classify gives every note the type and the times that the settings say now.
func (x *Index) classify() {
	var all []*Note
	for n := range x.Notes("") {
		all = append(all, n)
	}
	for _, n := range all {
		again := *n
		again.Type = x.typeOf(n)
		if seen, ok := x.seeds[n.ID]; ok && seen.first.Before(n.Created) {
			if n.Modified.Equal(n.Created) {
				again.Modified = seen.last
			}
			again.Created = seen.first
		}
		if again.Type == n.Type && again.Created.Equal(n.Created) {
			continue
		}
		f := *n.File
		f.Note, again.File = &again, &f
		x.drop(n.File)
		x.files.Set(f.Path, &f)
		x.add(&again)
	}
}

// seeds are when objects were first and last seen, by id, as an audit log that was brought in tells
// it (raven.md §6.9).
type seeds map[string]seen

type seen struct{ first, last time.Time }

// auditEntry is what seeds need of a line of an audit log.
type auditEntry struct {
	TS         time.Time `json:"ts"`
	Op         string    `json:"op"`
	Entity     string    `json:"entity"`
	ID         string    `json:"id"`
	Discovered []string  `json:"discovered"`
	Modified   []string  `json:"modified"`
}

// readSeeds reads an audit log. A line that cannot be read is passed over: other programs wrote it.
func readSeeds(text []byte) seeds {
	s := seeds{}
	for line := range bytes.Lines(text) {
		var e auditEntry
		if json.Unmarshal(line, &e) != nil || e.TS.IsZero() {
			continue
		}
		switch e.Op {
		case "create", "update":
			if e.Entity == "object" {
				s.see(e.ID, e.TS)
			}
		case "delete":
			delete(s, e.ID)
		case "reindex":
			for _, name := range append(e.Discovered, e.Modified...) {
				if id, ok := cutObject(name); ok {
					s.see(id, e.TS)
				}
			}
		}
	}
	return s
}

func (s seeds) see(id string, at time.Time) {
	old, ok := s[id]
	if !ok || at.Before(old.first) {
		old.first = at
	}
	if at.After(old.last) {
		old.last = at
	}
	s[id] = old
}
