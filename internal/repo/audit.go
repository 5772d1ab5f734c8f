package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/vault"
)

// AuditLog yields the audit log of the vault from its beginning: one block of lines for each commit
// that has any, in order. It ends with the first error. In the folder of the vault the same lines
// are divided into one file for each month.
func (v *Vault) AuditLog(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for c, err := range v.Commits(ctx, 1) {
			if err != nil {
				yield(nil, err)
				return
			}
			if lines := AuditLines(c); len(lines) > 0 && !yield(lines, nil) {
				return
			}
		}
	}
}

// An AuditMonth is the audit log of one month: the content of one file in the folder.
type AuditMonth struct {
	Month string // as vault.Month formats it; the month of the commits, not of ingested lines
	Lines []byte
}

// AuditMonths yields the audit log up to and including commit upTo, by month, oldest first. Months
// without lines are skipped. Only one month is in memory at a time. It ends with the first error.
func (v *Vault) AuditMonths(ctx context.Context, upTo uint64) iter.Seq2[AuditMonth, error] {
	return func(yield func(AuditMonth, error) bool) {
		var open AuditMonth
		for c, err := range v.Commits(ctx, 1) {
			if err != nil {
				yield(AuditMonth{}, err)
				return
			}
			if c.Seq > upTo {
				break
			}
			lines := AuditLines(c)
			if len(lines) == 0 {
				continue
			}
			if month := vault.Month(c.Time); month != open.Month {
				if open.Month != "" && !yield(open, nil) {
					return
				}
				open = AuditMonth{Month: month}
			}
			open.Lines = append(open.Lines, lines...)
		}
		if open.Month != "" {
			yield(open, nil)
		}
	}
}

// AuditTold reports for each of the given audit logs whether it adds nothing: whether its lines
// appear in the audit log of the vault as one contiguous block. The result has one entry for each
// log. It reads the whole log once, whatever the number of logs, and keeps about twice the longest
// of them in memory.
func (v *Vault) AuditTold(ctx context.Context, logs [][]byte) ([]bool, error) {
	s := lineSearch{told: make([]bool, len(logs)), window: []byte("\n")}
	for _, log := range logs {
		s.want = append(s.want, append([]byte("\n"), asLines(log)...))
		s.longest = max(s.longest, len(log)+2)
	}
	for lines, err := range v.AuditLog(ctx) {
		if err != nil {
			return nil, err
		}
		s.take(lines)
	}
	s.look()
	return s.told, nil
}

// A lineSearch searches a text that arrives in pieces for several other texts. All consist of whole
// lines; each wanted text begins with the newline of the line before it, so that it cannot be found
// in the middle of a line. Only the end of the text that was searched already is kept in memory.
type lineSearch struct {
	want    [][]byte
	told    []bool // whether each wanted text was found
	longest int    // length of the longest wanted text, in bytes
	window  []byte // the last bytes of the text
}

// take appends a piece to the window. It searches only when the window is more than twice as long
// as the longest wanted text, so that each byte is searched only a few times.
func (s *lineSearch) take(piece []byte) {
	s.window = append(s.window, piece...)
	if len(s.window) > 2*s.longest+minWindow {
		s.look()
	}
}

// minWindow is how many bytes beyond that are collected before a search.
const minWindow = 64 << 10

// look searches the window for the texts not found yet, and keeps its end, where one of them may
// begin.
func (s *lineSearch) look() {
	for i, want := range s.want {
		s.told[i] = s.told[i] || bytes.Contains(s.window, want)
	}
	s.window = append(s.window[:0], s.window[max(0, len(s.window)-s.longest):]...)
}

// AuditLines returns the lines that a commit adds to the audit log: first those of the audit logs
// that it ingested, oldest first, then one line for each event (reference/raven.md §6.9). An
// erasure adds one line that does not name the note. The lines depend only on the commit, so every
// process writes the same bytes, and a file can be compared with the log. A line is a JSON object:
//
//	{"ts":TIME,"op":…,"file":…,"entity":…,"id":…,FIELDS}
//
// Absent members are omitted, and FIELDS are the other fields of the event and those that all lines
// of the commit have (principal, agent, request_id, version), sorted by name.
func AuditLines(c *eventlog.Commit) []byte {
	var b bytes.Buffer
	for _, n := range broughtIn(c) {
		b.Write(asLines(n.Text))
	}
	w := newEventWriter(&b, c)
	for _, n := range c.Notes {
		if json.Valid(n.Events) {
			w.each(n.Events)
		}
	}
	if len(c.ErasedParts()) > 0 { // records the erasure, but not the note
		w.event = map[string]json.RawMessage{"op": []byte(`"erase"`), "entity": []byte(`"note"`)}
		w.write()
	}
	return b.Bytes()
}

// ForAudit returns a commit with the same lines in the audit log as c, without the texts of notes and
// the items, so that it can be kept until the lines are written.
func ForAudit(c *eventlog.Commit) *eventlog.Commit {
	less := c.Bare()
	less.Records = c.Records
	for _, n := range c.Notes {
		kept := eventlog.Note{Path: n.Path, Deleted: n.Deleted, Erased: n.Erased, Events: n.Events}
		if isAuditLog(n) {
			kept.Text = n.Text
		}
		if kept.Text != nil || len(n.Events) > 0 {
			less.Notes = append(less.Notes, kept)
		}
	}
	return less
}

// An AuditPiece is the share of one part of the log in the audit log.
type AuditPiece struct {
	At    eventlog.PartRef // of the part in the log
	Month string           // of the audit log file that contains the lines
	Lines []byte           // each with its newline; nil if the part has no events
	Empty bool             // the part is empty: it was erased
}

// ErasedAudit returns the audit log lines of the parts that the commit erase erases, in the order
// of the log. Parts that are already empty have no lines. It returns INDEX_ERROR if a run is
// damaged, and NOT_FOUND if the vault does not exist.
func (v *Vault) ErasedAudit(ctx context.Context, erase *eventlog.Commit) ([]AuditPiece, error) {
	var all []AuditPiece
	for r, err := range v.erasedRuns(ctx, erase) {
		if err != nil {
			return nil, err
		}
		for _, part := range r.parts {
			p, err := auditPiece(r.run, part)
			if err != nil {
				return nil, eventlog.Damaged(r.run.First, err)
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// IsRedacted reports whether a part that the commit erase erases is empty. It reads the log only up
// to the first such part. Its errors are those of ErasedAudit.
func (v *Vault) IsRedacted(ctx context.Context, erase *eventlog.Commit) (bool, error) {
	for r, err := range v.erasedRuns(ctx, erase) {
		if err != nil {
			return false, err
		}
		for _, part := range r.parts {
			switch {
			case part >= len(r.run.Parts):
				return false, eventlog.Damaged(r.run.First, eventlog.ErrFewParts)
			case len(r.run.Parts[part].Data) == 0:
				return true, nil
			}
		}
	}
	return false, nil
}

// A partsOfRun is the parts of a run that a commit erases, in order. The other parts of the run need
// not be loaded.
type partsOfRun struct {
	run   *eventlog.Run
	parts []int
}

// erasedRuns yields the runs that have parts which the commit erase erases, in the order of the
// log. It ends with the first error: INDEX_ERROR if a run is damaged, and NOT_FOUND if the vault
// does not exist.
func (v *Vault) erasedRuns(ctx context.Context, erase *eventlog.Commit) iter.Seq2[partsOfRun, error] {
	parts := map[uint64][]int{}
	for _, p := range erase.ErasedParts() {
		parts[p.Run] = append(parts[p.Run], p.Part)
	}
	return func(yield func(partsOfRun, error) bool) {
		for _, first := range slices.Sorted(maps.Keys(parts)) {
			some := slices.Sorted(slices.Values(parts[first]))
			r, err := v.log.RunWithParts(ctx, first, some)
			if err != nil {
				yield(partsOfRun{}, v.orNone(err))
				return
			}
			if !yield(partsOfRun{r, some}, nil) {
				return
			}
		}
	}
}

// auditPiece returns the share of one part of a run in the audit log. The part with the answer of a
// call has no lines. The part must be loaded. It returns eventlog.ErrFewParts if the run has no such
// part.
func auditPiece(r *eventlog.Run, part int) (AuditPiece, error) {
	// A commit with this part alone has the same lines as the part has in the whole commit.
	alone, err := r.Alone(part)
	if err != nil {
		return AuditPiece{}, err
	}
	return AuditPiece{
		At: eventlog.PartRef{Run: r.First, Part: part}, Month: vault.Month(alone.Time),
		Lines: AuditLines(alone), Empty: len(r.Parts[part].Data) == 0,
	}, nil
}

// broughtIn returns the audit logs that a commit ingested as files, oldest first.
func broughtIn(c *eventlog.Commit) []eventlog.Note {
	var logs []eventlog.Note
	for _, n := range c.Notes {
		if isAuditLog(n) {
			logs = append(logs, n)
		}
	}
	slices.SortFunc(logs, func(a, b eventlog.Note) int { return strings.Compare(a.Path, b.Path) })
	return logs
}

// isAuditLog reports whether a change is an audit log that was ingested as a file.
func isAuditLog(n eventlog.Note) bool {
	return !n.Deleted && !n.Erased && vault.Path(n.Path).Kind() == vault.KindAudit
}

// asLines returns an audit log with exactly one newline at its end; nil if it is empty. It does not
// change log.
func asLines(log []byte) []byte {
	log = bytes.TrimRight(log, "\n")
	if len(log) == 0 {
		return nil
	}
	return append(log[:len(log):len(log)], '\n')
}

// An eventWriter writes the audit lines of one commit. A commit may have many thousands of events,
// so the lines share their common fields, and values are copied unchanged if encoding/json would
// write the same bytes.
type eventWriter struct {
	to    *bytes.Buffer
	enc   *json.Encoder // writes to to
	begin string
	same  map[string]json.RawMessage // the fields that all lines of the commit have
	event map[string]json.RawMessage // reused for each event
	names []string                   // reused for each event
	more  int                        // bytes of a line in addition to its event
}

// newEventWriter returns an eventWriter for the events of commit c.
func newEventWriter(to *bytes.Buffer, c *eventlog.Commit) *eventWriter {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	w := &eventWriter{
		to: to, enc: enc, begin: fmt.Sprintf(`{"ts":%q`, c.Time.UTC().Format("2006-01-02T15:04:05.999Z07:00")),
		same: map[string]json.RawMessage{}, event: map[string]json.RawMessage{},
	}
	for name, value := range map[string]string{
		"principal": c.Who.Principal, "agent": c.Who.Agent, "request_id": c.Who.Request,
		"version": eventlog.Version(c.Seq),
	} {
		w.same[name], _ = json.Marshal(value) // it is a string
		w.more += len(`,"":`) + len(name) + len(w.same[name])
	}
	w.more += len(w.begin) + len("\n")
	return w
}

// each writes a line for each event of a note. list is a JSON array; each writes nothing for other
// data, and stops at the first invalid event.
func (w *eventWriter) each(list []byte) {
	events := json.NewDecoder(bytes.NewReader(list))
	if open, err := events.Token(); err != nil || open != json.Delim('[') {
		return
	}
	w.to.Grow(len(list) + bytes.Count(list, []byte(`"op":`))*w.more)
	for events.More() {
		clear(w.event)
		if events.Decode(&w.event) != nil || w.event == nil {
			return
		}
		w.write()
	}
}

// firstNames are the fields that a line begins with, after its time.
var firstNames = []string{"op", "file", "entity", "id"}

// write writes the line of the current event: the time and firstNames first, as in the examples of
// the specification, then the other fields sorted by name.
func (w *eventWriter) write() {
	maps.Copy(w.event, w.same)
	w.to.WriteString(w.begin)
	for _, name := range firstNames {
		if value, ok := w.event[name]; ok {
			w.pair(name, value)
			delete(w.event, name)
		}
	}
	w.names = slices.AppendSeq(w.names[:0], maps.Keys(w.event))
	slices.Sort(w.names)
	for _, name := range w.names {
		w.pair(name, w.event[name])
	}
	w.to.WriteString("}\n")
}

// pair writes a comma, a name, a colon and a value.
func (w *eventWriter) pair(name string, value json.RawMessage) {
	w.to.WriteByte(',')
	w.name(name)
	w.to.WriteByte(':')
	if isPlain(value) {
		w.to.Write(value)
		return
	}
	numbers := json.NewDecoder(bytes.NewReader(value))
	numbers.UseNumber() // a float64 cannot represent every number of a field
	var whole any
	_ = numbers.Decode(&whole) // valid JSON: it was decoded before
	w.encode(whole)
}

// name writes a JSON string. The names of event fields are lower-case ASCII and need no escaping.
func (w *eventWriter) name(name string) {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
		w.encode(name)
		return
	}
	w.to.WriteByte('"')
	w.to.WriteString(name)
	w.to.WriteByte('"')
}

// encode writes v, which must be encodable, as JSON without a newline.
func (w *eventWriter) encode(v any) {
	_ = w.enc.Encode(v)
	w.to.Truncate(w.to.Len() - len("\n"))
}

// isPlain reports whether encoding/json would encode the value to the same bytes: whether it is a
// number, a literal, or a string without escapes.
func isPlain(value json.RawMessage) bool {
	return len(value) > 0 && value[0] != '{' && value[0] != '[' && bytes.IndexByte(value, '\\') < 0
}
