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

// vaultName is the name of the measured vault.
const vaultName = "bench"

// A result contains the measurements of a vault of one size.
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
	Erased *erased // nil: not measured
	Served *served // nil: not measured
}

// An imported is the result of an import of the vault.
type imported struct {
	Took    time.Duration
	Longest time.Duration // of one call
	Calls   int
	Notes   int
}

// Rate returns the number of imported notes per second.
func (i imported) Rate() float64 { return float64(i.Notes) / i.Took.Seconds() }

// A started is one start of the server on existing data. Times count from the execution of the
// process.
type started struct {
	When    string
	Commits int           // number of commits in the log of the vault
	Ready   time.Duration // until /readyz returned 200
	First   time.Duration // until a note was returned
	Search  time.Duration // until a search returned, for which all notes are read
}

// A suite measures a vault of one size.
type suite struct {
	cfg     config
	dir     string
	launch  launcher
	day     vault.Date // the day of the measurement
	files   []corpus.File
	popular string   // id of the object to which half of the notes refer
	ids     []string // ids of the notes that can be edited
	calls   []call   // the calls that read
	writes  int      // number of operations of all loads that wrote so far
	server  *server
	client  *client
	result  result

	refused []error // errors of calls that should not be refused
}

// run measures everything, in the order of the page.
func (s *suite) run(ctx context.Context) error {
	progress("%d notes: make the vault", s.result.Notes)
	s.generate()
	var steps []func(context.Context) error
	if s.cfg.only != onlyServed {
		steps = append(steps, s.library, s.keeps, s.imports, s.inside, s.restart("after the import"),
			s.reads, s.asks, s.sets, s.adds, s.hots, s.remember("after the load"),
			s.rest, s.remember("at rest then"), s.restart("after the load"), s.erases,
			func(context.Context) error { return s.down() })
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

// agendaTraits is the number of traits of the note with the most traits, handbookHeadings the
// number of headings of the note with the most headings, and ownNotes the number of such notes in
// each vault.
const (
	agendaTraits     = 10_000
	handbookHeadings = 10_000
	ownNotes         = 2
)

// generate generates the vault, including the notes with many traits and with many headings.
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
	s.result.Bytes = textBytes(s.files)
}

// popularize adds a reference to one object to every second note: of 10,000 notes, 5,000.
func (s *suite) popularize() {
	notes := s.files[1:] // the first is the schema
	s.popular = strings.TrimSuffix(notes[min(1, len(notes)-1)].Path, ".md")
	for i := 0; i < len(notes); i += 2 {
		notes[i].Text += "\n[[" + s.popular + "]]\n"
	}
}

// data returns the path of the data directory.
func (s *suite) data() string {
	return filepath.Join(s.dir, fmt.Sprintf("%d-notes", s.result.Notes))
}

// up starts the server, and returns the time from its execution until it was ready.
func (s *suite) up(ctx context.Context) (time.Duration, error) {
	var err error
	if s.server, err = start(ctx, s.launch, s.data()); err != nil {
		return 0, err
	}
	s.client = newClient(s.server.url, vaultName, slices.Max(s.cfg.clients))
	return s.server.ready(ctx)
}

// down stops the server, if it is running.
func (s *suite) down() error {
	if s.server == nil {
		return nil
	}
	s.client.close()
	err := s.server.stop()
	s.server = nil
	return err
}

// imports imports the vault into a new data directory.
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

// fill creates the vault and imports all notes.
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

// bring makes one call of the import, and checks that it created all of its notes.
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

// restart returns a step that stops the server and starts it again on the same data.
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

// rest sends no calls for a while, so that the server releases memory that it does not use.
func (s *suite) rest(ctx context.Context) error {
	return s.leaveAlone(ctx, 45*time.Second) // images and compaction after a load take a while
}

// leaveAlone sends no calls for a time.
func (s *suite) leaveAlone(ctx context.Context, d time.Duration) error {
	progress("%d notes: the server is left alone for %s", s.result.Notes, d)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// remember returns a step that records the memory use of the server.
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

// eachSize measures a vault of each size with a suite of its own, and writes the page. what names the
// things that the size counts.
func eachSize(cfg config, what string, measure func(s *suite, p *page) error) error {
	p, dir, end, err := begin(cfg)
	if err != nil {
		return err
	}
	defer end()
	var refused []error
	for _, n := range cfg.sizes {
		s := &suite{cfg: cfg, dir: dir, result: result{Notes: n}}
		if err := measure(s, p); err != nil {
			return fmt.Errorf("measure %d %s: %w", n, what, err)
		}
		refused = append(refused, s.refused...)
	}
	return errors.Join(p.write(cfg.out), errors.Join(refused...))
}

// textBytes returns the number of bytes of all files.
func textBytes(files []corpus.File) (n int64) {
	for _, f := range files {
		n += int64(len(f.Text))
	}
	return n
}

// askKinds measures kinds of calls, one after the other. what names the things that the size counts.
func (s *suite) askKinds(ctx context.Context, what string, kinds []noted, by way) ([]noted, error) {
	for i := range kinds {
		n := &kinds[i]
		progress("%d %s: %s", s.result.Notes, what, n.What)
		a := &asked{call: n.call}
		var err error
		if n.Got, err = s.ask(ctx, n.call, a.sized(by)); err != nil {
			return kinds[:i], err
		}
		n.Bytes = a.Bytes
	}
	return kinds, nil
}

// importBy creates the vault and imports all notes.
func (s *suite) importBy(ctx context.Context, by way) error {
	if err := createVault(ctx, by); err != nil {
		return err
	}
	for c, err := range chunks(vaultName, s.files) {
		if err != nil {
			return err
		}
		if err := s.result.Import.call(ctx, by, "team_vault_import", c.body); err != nil {
			return err
		}
		s.result.Import.Notes += c.notes
	}
	return nil
}

// createVault creates the vault.
func createVault(ctx context.Context, by way) error {
	create, err := encode(in{"name": vaultName})
	if err != nil {
		return err
	}
	if _, err := by(ctx, "team_vault_create", create); err != nil {
		return fmt.Errorf("create the vault: %w", err)
	}
	return nil
}

// call makes one call of an import, and adds its cost.
func (i *imported) call(ctx context.Context, by way, tool string, body []byte) (err error) {
	l := measured("import", 1, func() { _, err = by(ctx, tool, body) })
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	i.Took, i.Longest, i.Calls = i.Took+l.P(100), max(i.Longest, l.P(100)), i.Calls+1
	return nil
}
