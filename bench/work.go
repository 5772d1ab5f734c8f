package main

import (
	"context"
	"fmt"

	"github.com/rookeryhq/rookery/bench/corpus"
)

// The names of the loads, as on the page and in the goals.
const (
	readNote  = "read a note"
	getObject = "get an object"
	setField  = "set a field, of many notes"
	addLine   = "add a line, to one note"
	setHot    = "set a field, of the note that most refer to"
	setAgenda = "replace a text, in the note with 10,000 traits"

	setPopular  = "set a field, of the note that half of the notes refer to"
	setHandbook = "replace a text, in the note with 10,000 headings"
)

// stride is the step between notes, in an order without locality. It is a prime, so that it reaches
// all notes of a vault of usual size.
const stride = 7919

// reads measures the two ways to read one note or object.
func (s *suite) reads(ctx context.Context) error {
	notes := s.files[1:] // the first is the schema
	read := func(ctx context.Context, i int) error {
		return s.client.get(ctx, "files", notes[i*stride%len(notes)].Path)
	}
	if err := s.measure(ctx, load{name: readNote, clients: 1, op: read}); err != nil {
		return err
	}
	get := func(ctx context.Context, i int) error {
		return s.client.get(ctx, "objects", s.ids[i*stride%len(s.ids)])
	}
	return s.measure(ctx, load{name: getObject, clients: 1, op: get})
}

// sets measures sets of a field, in one note after another, to a new value each time.
func (s *suite) sets(ctx context.Context) error {
	for _, clients := range s.cfg.clients {
		before := s.writes
		err := s.mutate(ctx, load{
			name: setField, clients: clients, ops: s.cfg.ops,
			op: func(ctx context.Context, i int) error {
				return s.client.tool(ctx, "raven_set", map[string]any{
					"id":  s.ids[i*stride%len(s.ids)],
					"set": map[string]any{"revision": before + i},
				})
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// adds measures lines that are all added to one note. Each number of clients uses its own note,
// which was not written before. There are fewer operations than sets, so that the note keeps a size
// that a person could have written.
func (s *suite) adds(ctx context.Context) error {
	for round, clients := range s.cfg.clients {
		note := s.ids[round%len(s.ids)]
		err := s.mutate(ctx, load{
			name: addLine, clients: clients, ops: (s.cfg.ops + 3) / 4,
			op: func(ctx context.Context, i int) error {
				return s.client.tool(ctx, "raven_add", map[string]any{
					"to": note, "text": fmt.Sprintf("line %d, [[%s]]", i, corpus.Hot),
				})
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hots measures edits of the notes to which most others and half of all refer, and of those with
// the most traits and headings.
func (s *suite) hots(ctx context.Context) error {
	if err := s.setOne(ctx, setHot, corpus.Hot); err != nil {
		return err
	}
	if err := s.setOne(ctx, setPopular, s.popular); err != nil {
		return err
	}
	if err := s.revise(ctx, setAgenda, corpus.AgendaPath, corpus.AgendaRevision); err != nil {
		return err
	}
	return s.revise(ctx, setHandbook, corpus.HandbookPath, corpus.HandbookRevision)
}

// setOne measures sets of a field in one note, to a new value each time.
func (s *suite) setOne(ctx context.Context, name, id string) error {
	before := s.writes
	return s.mutate(ctx, load{
		name: name, clients: 1, ops: (s.cfg.ops + 3) / 4,
		op: func(ctx context.Context, i int) error {
			return s.client.tool(ctx, "raven_set", in{"id": id, "set": in{"revision": before + i}})
		},
	})
}

// revise measures edits of the line of a large note that contains its revision.
func (s *suite) revise(ctx context.Context, name, path string, line func(int) string) error {
	return s.mutate(ctx, load{
		name: name, clients: 1, ops: (s.cfg.ops + 29) / 30,
		op: func(ctx context.Context, i int) error {
			return s.client.tool(ctx, "raven_edit", in{
				"id": path, "old_str": line(i), "new_str": line(i + 1),
			})
		},
	})
}

// mutate measures a load that writes, and checks that each acknowledged operation is one commit.
func (s *suite) mutate(ctx context.Context, l load) error {
	before, err := s.client.version(ctx)
	if err != nil {
		return err
	}
	if err := s.measure(ctx, l); err != nil {
		return err
	}
	after, err := s.client.version(ctx)
	if err != nil {
		return err
	}
	got := s.result.Loads[len(s.result.Loads)-1]
	s.writes += l.ops
	if after-before != got.Ops() {
		return fmt.Errorf("%s with %d clients: %d operations were acknowledged, and %d commits made",
			l.name, l.clients, got.Ops(), after-before)
	}
	return nil
}

// measure measures a load and records the result.
func (s *suite) measure(ctx context.Context, l load) error {
	progress("%d notes: %s; clients: %d", s.result.Notes, l.name, l.clients)
	l.limit = s.cfg.limit
	if l.ops == 0 {
		l.ops = s.cfg.ops
	}
	got, err := l.run(ctx)
	if err != nil {
		return err
	}
	s.result.Loads = append(s.result.Loads, got)
	return nil
}
