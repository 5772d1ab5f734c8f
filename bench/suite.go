package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/vault"
)

// vaultName is the vault that is measured.
const vaultName = "bench"

// A result is what was measured on a vault of one size.
type result struct {
	Notes  int
	Bytes  int64 // of all notes
	Import imported
	Starts []started
	Memory []memory
	Loads  []sample
	Index  indexed
	Kept   kept
	Asked  []asked
	Erased *erased // nil: it was not measured
	Served *served // nil: it was not measured
}

// imported is what bringing the vault in came to.
type imported struct {
	Took    time.Duration
	Longest time.Duration // of the calls
	Calls   int
	Notes   int
}

// Rate is how many notes came in in a second.
func (i imported) Rate() float64 { return float64(i.Notes) / i.Took.Seconds() }

// started is one start of the server on data that is there, told from its execution.
type started struct {
	When    string
	Commits int           // in the log of the vault
	Ready   time.Duration // until /readyz answered 200
	First   time.Duration // until a note was answered
	Search  time.Duration // until a search was answered, for which all notes are read
}

// A suite measures a vault of one size.
type suite struct {
	cfg     config
	dir     string
	launch  launcher
	day     vault.Date // on which it is measured
	files   []corpus.File
	popular string   // the id of an object that half of the notes refer to
	ids     []string // of the notes that have fields of their own
	calls   []call   // that read
	writes  int      // operations of all loads that write so far
	server  *server
	client  *client
	result  result

	refused []error // calls of kinds that must not be refused
}

// run measures everything, in the order of the page.
func (s *suite) run(ctx context.Context) error {
	progress("%d notes: make the vault", s.result.Notes)
	s.generate()
	var steps []func(context.Context) error
	if s.cfg.only != onlyServed {
		steps = append(steps, s.library, s.keeps, s.imports, s.inside, s.restart("after the import"),
			s.reads, s.asks, s.sets, s.adds, s.hots, s.remember("after the load"),
			s.rest, s.remember("at rest then"), s.restart("after the load"), s.erases, func(context.Context) error { return s.down() })
	}
	if s.cfg.only != onlyVault {
		steps = append(steps, s.serves)
	}
	defer func() { s.client, s.server = nil, nil }()
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return errors.Join(err, s.down())
		}
	}
	return s.down()
}

// agendaTraits is how many traits the one note has that has most, handbookHeadings how many headings
// another one, and ownNotes how many such notes belong to each vault.
const (
	agendaTraits     = 10_000
	handbookHeadings = 10_000
	ownNotes         = 2
)

// generate makes the vault, and among its notes those with many traits and with many headings.
func (s *suite) generate() {
	s.files = slices.Collect(corpus.Vault(s.cfg.seed, max(1, s.result.Notes-ownNotes)))
	for _, f := range s.files {
		id, isNote := strings.CutSuffix(f.Path, ".md")
		if isNote && !strings.HasPrefix(f.Path, "daily/") {
			s.ids = append(s.ids, id)
		}
	}
	s.popularize()
	s.files = append(s.files, corpus.Agenda(string(s.day), agendaTraits),
		corpus.Handbook(handbookHeadings, s.popular))
	for _, f := range s.files {
		s.result.Bytes += int64(len(f.Text))
	}
}

// popularize makes every second note refer to one object more: of 10,000 notes, 5,000.
func (s *suite) popularize() {
	notes := s.files[1:] // the first is the schema
	s.popular = strings.TrimSuffix(notes[min(1, len(notes)-1)].Path, ".md")
	for i := 0; i < len(notes); i += 2 {
		notes[i].Text += "\n[[" + s.popular + "]]\n"
	}
}

// data is the data directory.
func (s *suite) data() string {
	return filepath.Join(s.dir, fmt.Sprintf("%d-notes", s.result.Notes))
}

// up starts the server, and is how long after its execution it was ready.
func (s *suite) up(ctx context.Context) (time.Duration, error) {
	var err error
	if s.server, err = start(ctx, s.launch, s.data()); err != nil {
		return 0, err
	}
	s.client = newClient(s.server.url, vaultName, slices.Max(s.cfg.clients))
	return s.server.ready(ctx)
}

// down stops the server, if there is one.
func (s *suite) down() error {
	if s.server == nil {
		return nil
	}
	s.client.close()
	err := s.server.stop()
	s.server = nil
	return err
}

// imports brings the vault in, into a new data directory.
func (s *suite) imports(ctx context.Context) error {
	if _, err := s.up(ctx); err != nil {
		return err
	}
	progress("%d notes: import", s.result.Notes)
	if err := s.fill(ctx); err != nil {
		return err
	}
	return s.remember("after the import")(ctx)
}

// fill makes the vault and brings all notes in.
func (s *suite) fill(ctx context.Context) error {
	create, err := encode(map[string]any{"name": vaultName})
	if err != nil {
		return err
	}
	if _, err := s.client.post(ctx, "team_vault_create", create); err != nil {
		return fmt.Errorf("create the vault: %w", err)
	}
	for c, err := range chunks(vaultName, s.files) {
		if err != nil {
			return err
		}
		if err := s.bring(ctx, c); err != nil {
			return fmt.Errorf("import: %w", err)
		}
	}
	return nil
}

// bring makes one call of the import, and requires that it brought all of its notes.
func (s *suite) bring(ctx context.Context, c chunk) error {
	sent := time.Now()
	data, err := s.client.post(ctx, "team_vault_import", c.body)
	took := time.Since(sent)
	if err != nil {
		return err
	}
	var answer struct{ Data struct{ Created int } }
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer.Data.Created != c.notes {
		return fmt.Errorf("%d of %d notes were created", answer.Data.Created, c.notes)
	}
	i := &s.result.Import
	i.Took, i.Longest = i.Took+took, max(i.Longest, took)
	i.Calls, i.Notes = i.Calls+1, i.Notes+c.notes
	return nil
}

// restart stops the server and starts it again on what is there.
func (s *suite) restart(when string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.down(); err != nil {
			return err
		}
		progress("%d notes: start, %s", s.result.Notes, when)
		ready, err := s.up(ctx)
		if err != nil {
			return err
		}
		if err := s.client.get(ctx, "objects", corpus.Hot); err != nil {
			return err
		}
		first := time.Since(s.server.begun)
		if err := s.client.tool(ctx, "raven_search", in{"query": "harbour"}); err != nil {
			return err
		}
		searched := time.Since(s.server.begun)
		version, err := s.client.version(ctx)
		if err != nil {
			return err
		}
		s.result.Starts = append(s.result.Starts, started{when, version, ready, first, searched})
		return s.remember("started " + when)(ctx)
	}
}

// rest leaves the server alone until it has given back what it does not use.
func (s *suite) rest(ctx context.Context) error {
	const alone = 25 * time.Second
	progress("%d notes: the server is left alone for %s", s.result.Notes, alone)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(alone):
		return nil
	}
}

// remember notes how much memory the server has.
func (s *suite) remember(when string) func(context.Context) error {
	return func(context.Context) error {
		m, err := memoryOf(s.server.cmd.Process.Pid)
		if err != nil {
			return err
		}
		m.When = when
		s.result.Memory = append(s.result.Memory, m)
		return nil
	}
}
