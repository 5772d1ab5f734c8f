package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"rookery/internal/vault"
)

// AuditLog is the audit log of the vault, from the beginning: a piece for each commit, in order. In
// the folder it stands in several files, of which each has the commits of one month.
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

// An AuditMonth is what one file of the audit log in the folder has.
type AuditMonth struct {
	Month string // as vault.Month names it: that of the commits, not of what they brought in
	Lines []byte
}

// AuditMonths is the audit log up to a commit by months, oldest first. A month in which it has no
// lines is passed over. One month is in memory at a time.
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

// AuditTold reports of each of some audit logs whether it tells nothing new: its lines stand in the
// vault's own, one behind the other.
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

// A lineSearch looks for texts in one that comes piece by piece. All are whole lines, with the end of
// the line before them.
type lineSearch struct {
	want    [][]byte
	told    []bool
	longest int    // of those that are wanted
	window  []byte // what came last
}

// take takes a piece. It looks when there is about twice as much as what is wanted, so that each byte
// is looked at a few times only.
func (s *lineSearch) take(piece []byte) {
	s.window = append(s.window, piece...)
	if len(s.window) > 2*s.longest+minWindow {
		s.look()
	}
}

// minWindow is how much is collected at least before it is looked at.
const minWindow = 64 << 10

// look looks for what was not found yet, and keeps the end, in which one may begin.
func (s *lineSearch) look() {
	for i, want := range s.want {
		s.told[i] = s.told[i] || bytes.Contains(s.window, want)
	}
	s.window = append(s.window[:0], s.window[max(0, len(s.window)-s.longest):]...)
}

// AuditLines are the lines that a commit adds to the audit log: those of the audit logs that it
// brought in, oldest first, then one for each event (reference/raven.md §6.9).
func AuditLines(c *Commit) []byte {
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
	if len(c.erases()) > 0 { // that it happened, and not to which note
		w.event = map[string]json.RawMessage{"op": []byte(`"erase"`), "entity": []byte(`"note"`)}
		w.write()
	}
	return b.Bytes()
}

// An AuditPiece is what one part of the log has in the audit log.
type AuditPiece struct {
	At    Place  // of the part
	Month string // whose file has it
	Lines []byte // each with its end; none if the part says nothing there
	Empty bool   // the part is empty: it was erased
}

// ErasedAudit returns, in their order, what the parts have in the audit log that a commit erases: as long as they are
// not empty, all that they said.
func (v *Vault) ErasedAudit(ctx context.Context, erase *Commit) ([]AuditPiece, error) {
	parts := map[uint64][]int{}
	for _, p := range erase.erases() {
		parts[p.Run] = append(parts[p.Run], p.Part)
	}
	var all []AuditPiece
	for _, first := range slices.Sorted(maps.Keys(parts)) {
		r, err := v.log.runAt(ctx, first)
		if err != nil {
			return nil, v.orNone(err)
		}
		for _, part := range slices.Sorted(slices.Values(parts[first])) {
			p, err := r.auditPiece(part)
			if err != nil {
				return nil, damaged(first, err)
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// auditPiece is what a part of the run has in the audit log.
func (r *run) auditPiece(part int) (AuditPiece, error) {
	if part >= len(r.parts) {
		return AuditPiece{}, errors.New("its payload lacks parts")
	}
	i, behind := 0, len(r.Commits[0].Parts)
	for ; behind <= part; behind += len(r.Commits[i].Parts) {
		i++
	}
	h := r.Commits[i]
	p := AuditPiece{At: Place{r.First, part}, Month: vault.Month(h.Time), Empty: len(r.parts[part].data) == 0}
	if p.Empty || h.KeyHash != nil && part == behind-1 { // which is the answer
		return p, nil
	}
	alone := &Commit{Seq: r.First + uint64(i), Time: h.Time, Who: h.Who}
	err := alone.take(r.parts[part])
	p.Lines = AuditLines(alone)
	return p, err
}

// broughtIn are the audit logs that a commit brought in, oldest first.
func broughtIn(c *Commit) []Note {
	var logs []Note
	for _, n := range c.Notes {
		if !n.Deleted && !n.Erased && vault.Path(n.Path).Kind() == vault.KindAudit {
			logs = append(logs, n)
		}
	}
	slices.SortFunc(logs, func(a, b Note) int { return strings.Compare(a.Path, b.Path) })
	return logs
}

// asLines is an audit log as it stands in the vault's own: each line has an end, and it has no empty
// ones at its end.
func asLines(log []byte) []byte {
	log = bytes.TrimRight(log, "\n")
	if len(log) == 0 {
		return nil
	}
	return append(log[:len(log):len(log)], '\n')
}

// An eventWriter writes the lines of a commit. A commit may have many thousands, so they share what they can, and
// values are copied as they are where that is what encoding/json would write.
type eventWriter struct {
	to    *bytes.Buffer
	enc   *json.Encoder // into to
	begin string
	same  map[string]json.RawMessage // what each line has of the commit
	event map[string]json.RawMessage // used again for each event
	names []string                   // likewise
	more  int                        // bytes that a line has beside its event
}

func newEventWriter(to *bytes.Buffer, c *Commit) *eventWriter {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	w := &eventWriter{
		to: to, enc: enc, begin: fmt.Sprintf(`{"ts":%q`, c.Time.UTC().Format("2006-01-02T15:04:05.999Z07:00")),
		same: map[string]json.RawMessage{}, event: map[string]json.RawMessage{},
	}
	for name, value := range map[string]string{
		"principal": c.Who.Principal, "agent": c.Who.Agent, "request_id": c.Who.Request, "version": Version(c.Seq),
	} {
		w.same[name], _ = json.Marshal(value) // it is a string
		w.more += len(`,"":`) + len(name) + len(w.same[name])
	}
	w.more += len(w.begin) + len("\n")
	return w
}

// each writes the events of a note, one after the other: a list, which is JSON. What is none has no lines.
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

// firstNames are the names of an event that its line begins with.
var firstNames = []string{"op", "file", "entity", "id"}

// write writes the line of the event: when, what and on what first, as the document's examples do, then the other
// names in order.
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

// pair writes a name and its value.
func (w *eventWriter) pair(name string, value json.RawMessage) {
	w.to.WriteByte(',')
	w.name(name)
	w.to.WriteByte(':')
	if isPlain(value) {
		w.to.Write(value)
		return
	}
	numbers := json.NewDecoder(bytes.NewReader(value))
	numbers.UseNumber() // a float64 would not hold every number that a field may have
	var whole any
	_ = numbers.Decode(&whole) // it came from JSON
	w.encode(whole)
}

// name writes a name. Those of events are letters of ASCII, which are written as they are.
func (w *eventWriter) name(name string) {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
		w.encode(name)
		return
	}
	w.to.WriteByte('"')
	w.to.WriteString(name)
	w.to.WriteByte('"')
}

// encode writes a value that can be made into JSON.
func (w *eventWriter) encode(v any) {
	_ = w.enc.Encode(v)
	w.to.Truncate(w.to.Len() - len("\n"))
}

// isPlain reports whether a value is what encoding/json makes of it again: a number, a word, or a string without
// escapes.
func isPlain(value json.RawMessage) bool {
	return len(value) > 0 && value[0] != '{' && value[0] != '[' && bytes.IndexByte(value, '\\') < 0
}
