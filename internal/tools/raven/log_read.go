package raven

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A logReader reads the entries of a log, oldest first. It merges, by time, the entries of the
// vault's commits with those of imported audit logs.
//
// A reader is for one call and one goroutine.
type logReader struct {
	view    view
	window  logWindow
	filter  logFilter
	subject *subject // read only the history of this; nil: the whole log
	// at is the position: the page begins after it, and each examined entry moves it.
	at logPosition

	imported []logRecord // oldest first
	passed   int         // number of examined entries
}

// A logPosition is the position of a page: in the commits, and in the imported entries.
//
// The position in each of the two sources is independent, because entries are merged by time and
// neither source alone determines the order. The zero value is the beginning of the log.
type logPosition struct {
	Seq      uint64 // the commit of the last entry before the page; 0: none
	Number   int    // the number of that entry in the commit
	TS       int64  // of the last imported entry before the page, in milliseconds
	Version  uint64 // the commit that imported it; 0: none
	Imported int    // its number
}

// key returns the position in the form that page tokens contain. The form is
// SEQ.NUMBER.TS.VERSION.IMPORTED, in decimal.
func (s logPosition) key() string {
	return fmt.Sprintf("%d.%d.%d.%d.%d", s.Seq, s.Number, s.TS, s.Version, s.Imported)
}

// readLogPosition returns the position at which the requested page begins. A key that is not
// written exactly as key writes it is from another list.
func readLogPosition(in tool.Page) (s logPosition, err error) {
	key, err := in.After(Family)
	if err != nil || key == "" {
		return s, err
	}
	if _, err := fmt.Sscanf(key, "%d.%d.%d.%d.%d", &s.Seq, &s.Number, &s.TS, &s.Version, &s.Imported); err != nil ||
		s.key() != key {
		return logPosition{}, state.OtherList(Family)
	}
	return s, nil
}

// about restricts the reader to the history of the subject with an id.
func (r *logReader) about(ctx context.Context, id string) error {
	s, err := r.view.subject(ctx, id)
	if err != nil {
		return err
	}
	r.subject, r.filter.ids = &s, []string{s.id}
	return nil
}

// page fills a page. After maxLogged entries it ends early, and records `partial` in the meta.
//
// An entry that was examined and rejected moves the position too, so that the next page does not
// examine it again.
func (r *logReader) page(ctx context.Context, limit int, out *logOut) error {
	if err := r.readImported(ctx); err != nil {
		return err
	}
	more, partial := false, false
	going := state.KeepGoing(ctx)
	for e, err := range r.merged(ctx) {
		if err == nil && !going() {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if partial = r.passed == maxLogged; partial {
			more = true
			break
		}
		// Most entries are rejected by their head, so that they need not be decoded completely.
		wanted := r.window.contains(e.TS) && r.filter.mayMatch(&e)
		if wanted {
			if err := e.complete(); err != nil {
				return err
			}
			wanted = r.filter.matches(&e)
		}
		if wanted {
			// An entry that does not fit is not passed, so the next page begins with it.
			if more = len(out.Entries) == limit || !out.Fits(e.logEntry) && len(out.Entries) > 0; more {
				break
			}
			out.Entries = append(out.Entries, e.shortened())
		}
		r.passed++
		r.pass(&e)
	}
	out.Note("count", len(out.Entries))
	out.Note("has_more", more)
	if partial {
		out.Note("partial", true)
	}
	if more {
		out.Note("next_page_token", tool.Token(r.at.key()))
	}
	return ctx.Err()
}

// pass moves the position behind an entry.
func (r *logReader) pass(e *logRecord) {
	seq, _ := eventlog.ParseVersion(e.Version)
	if e.Imported {
		r.at.TS, r.at.Version, r.at.Imported = e.TS.UnixMilli(), seq, e.number
		return
	}
	r.at.Seq, r.at.Number = seq, e.number
}

// merged yields the entries of both sources after the position, by time.
//
// It ends with the first error. The entries of the vault's own commits are read as they are needed,
// those of imported logs are in memory already.
func (r *logReader) merged(ctx context.Context) iter.Seq2[logRecord, error] {
	return func(yield func(logRecord, error) bool) {
		waiting := r.imported
		for len(waiting) > 0 && r.isPassed(&waiting[0]) {
			waiting = waiting[1:]
		}
		for e, err := range r.own(ctx) {
			for err == nil && len(waiting) > 0 && waiting[0].before(&e) {
				if !yield(waiting[0], nil) {
					return
				}
				waiting = waiting[1:]
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		for _, e := range waiting {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// before reports whether an imported entry comes before one of the vault's own: it is older or, at
// the same time, has a smaller version.
func (e *logRecord) before(own *logRecord) bool {
	brought, _ := eventlog.ParseVersion(e.Version)
	made, _ := eventlog.ParseVersion(own.Version)
	return cmp.Or(e.TS.Compare(own.TS), cmp.Compare(brought, made)) < 0
}

// isPassed reports whether an imported entry is before the page.
//
// On the first page these are the entries before the period, and on later pages those up to the
// position.
func (r *logReader) isPassed(e *logRecord) bool {
	if r.at.Version == 0 {
		return e.TS.Before(r.window.from)
	}
	version, _ := eventlog.ParseVersion(e.Version)
	return cmp.Or(cmp.Compare(e.TS.UnixMilli(), r.at.TS), cmp.Compare(version, r.at.Version),
		cmp.Compare(e.number, r.at.Imported)) <= 0
}

// own yields the entries of the vault's commits after the position, up to the end of the period. It
// remembers the entries of the commit in which the caller stops, because the next page begins
// there.
func (r *logReader) own(ctx context.Context) iter.Seq2[logRecord, error] {
	return func(yield func(logRecord, error) bool) {
		known := r.view.Vault.Derivations()
		for l, err := range r.commits(ctx, known) {
			if err != nil {
				yield(logRecord{}, err)
				return
			}
			passed := 0
			if l.commit.Seq == r.at.Seq {
				passed = r.at.Number
			}
			for e, err := range l.after(passed) {
				if !yield(e, err) || err != nil {
					l.remember(known)
					return
				}
			}
		}
	}
}

// commits yields the entries of the commits of the period, oldest first, starting at the position.
// With a subject, they are those of the subject's note only.
func (r *logReader) commits(ctx context.Context, known repo.Derivations) iter.Seq2[*commitLog, error] {
	return func(yield func(*commitLog, error) bool) {
		first, err := r.first(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		all := r.all(ctx, known, first)
		if r.subject != nil {
			all = r.history(ctx, first)
		}
		for l, err := range all {
			if err == nil && (l.commit.Seq > r.view.Index.Version() || r.window.isAfter(l.same.TS)) {
				return
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// all yields the entries of the commits from `first` on, oldest first. It does not decode a large
// commit whose entries are remembered.
func (r *logReader) all(
	ctx context.Context, known repo.Derivations, first uint64,
) iter.Seq2[*commitLog, error] {
	return func(yield func(*commitLog, error) bool) {
		for next, found := first, true; found; {
			l, ok := remembered(known, next)
			for ; ok; l, ok = remembered(known, next) {
				if !yield(l, nil) {
					return
				}
				next++
			}
			found = false
			for c, err := range r.view.Vault.Commits(ctx, next) {
				if err == nil {
					next = c.Seq + 1
					l, err = entriesOf(c, nil)
				}
				if !yield(l, err) || err != nil {
					return
				}
				if _, _, found = known.Of(next); found {
					break
				}
			}
		}
	}
}

// first returns the commit with which the page begins.
//
// A page token names it. On the first page it is the first commit that is not before the period,
// which is found without reading the commits before it.
func (r *logReader) first(ctx context.Context) (uint64, error) {
	first := max(r.at.Seq, 1)
	if r.window.from.IsZero() || r.at.Seq > 0 {
		return first, nil
	}
	before, err := r.view.Vault.VersionAt(ctx, r.window.from.Add(-1))
	return before + 1, err
}

// history yields the entries of the subject's note from commit `first` on, oldest first. It adds
// all ids of the subject to the filter.
func (r *logReader) history(ctx context.Context, first uint64) iter.Seq2[*commitLog, error] {
	return func(yield func(*commitLog, error) bool) {
		var all []*eventlog.Commit
		s := r.subject
		for rev, err := range r.view.Vault.Revisions(ctx, s.path, s.from) {
			if err != nil {
				yield(nil, err)
				return
			}
			if rev.Seq < first {
				break
			}
			if id := s.calledIn(rev.Path).id; !slices.Contains(r.filter.ids, id) {
				r.filter.ids = append(r.filter.ids, id)
			}
			c := *rev.Commit
			c.Notes = []eventlog.Note{rev.Note}
			all = append(all, &c)
		}
		for _, c := range slices.Backward(all) {
			l, err := entriesOf(c, r.filter.ids)
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// shortened returns an entry as the answer shows it, with long values shortened.
func (e *logRecord) shortened() logEntry {
	s := e.logEntry
	s.Value, s.Content = cutValue(s.Value, maxListed), tool.Beginning(s.Content, maxListed)
	s.Changes, _ = listedFields(s.Changes)
	s.Fields, _ = listedFields(s.Fields)
	return s
}

// readImported reads the audit logs that were imported into the vault. A line that is in several
// versions of a file belongs to the first of them. It skips lines that are malformed or have no
// time, because other programs wrote them.
//
// Audit logs grow at their end, so a later version repeats all lines of the earlier ones. Counting
// equal lines attributes each of them to the version that brought it, also if a log has the same
// line twice.
func (r *logReader) readImported(ctx context.Context) error {
	for _, f := range auditFiles(r.view.Index) {
		var logs []repo.Revision
		for rev, err := range r.view.Vault.Revisions(ctx, f.Path, f.Version) {
			if err == nil {
				err = r.view.Vault.Fill(ctx, &rev)
			}
			if err != nil {
				return err
			}
			logs = append(logs, rev)
		}
		told := map[string]int{}
		for _, rev := range slices.Backward(logs) {
			r.addImported(&rev, told)
		}
	}
	slices.SortStableFunc(r.imported, func(a, b logRecord) int {
		one, _ := eventlog.ParseVersion(a.Version)
		other, _ := eventlog.ParseVersion(b.Version)
		return cmp.Or(a.TS.Compare(b.TS), cmp.Compare(one, other))
	})
	for i := range r.imported {
		r.imported[i].number = i + 1
	}
	return nil
}

// auditFiles returns the audit logs in an index, by path.
func auditFiles(idx *index.Index) (all []*index.File) {
	for f := range idx.FilesAfter(auditFolder) {
		if !strings.HasPrefix(f.Path, auditFolder) {
			break
		}
		if vault.Path(f.Path).Kind() == vault.KindAudit {
			all = append(all, f)
		}
	}
	return all
}

// auditFolder is the folder of the audit logs.
const auditFolder = ".raven/"

// addImported adds the lines of one version of an audit log that no earlier version contains. told
// counts the lines of the earlier versions, by text; addImported updates it.
func (r *logReader) addImported(rev *repo.Revision, told map[string]int) {
	if rev.Deleted || rev.Erased {
		return
	}
	counts := map[string]int{}
	for line := range bytes.Lines(rev.Text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		counts[string(line)]++
		if counts[string(line)] <= told[string(line)] {
			continue
		}
		told[string(line)]++
		var e struct {
			logEntry
			Time *time.Time `json:"ts"`
		}
		fields := json.NewDecoder(bytes.NewReader(line))
		fields.UseNumber()
		if fields.Decode(&e) != nil || e.Time == nil || e.Time.IsZero() || e.Op == "" {
			continue
		}
		e.TS, e.Imported, e.Version = e.Time.UTC(), true, eventlog.Version(rev.Seq)
		entry := logRecord{logEntry: e.logEntry}
		entry.path = pathOf(&entry.logEntry)
		r.imported = append(r.imported, entry)
	}
}
