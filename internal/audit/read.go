package audit

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// A Query selects entries of a tenant. An entry must match all fields that are set; the zero value
// selects all entries. There is no index but time: every entry in the range of time is read, and
// compared with the other fields.
type Query struct {
	Since, Until time.Time // Since is inclusive, Until exclusive
	Agent        string
	Principal    string
	Tool         string // long name
	Target       string // a path, with or without .md, an id, or the name of a vault
	Outcome      Outcome
}

// A Page is a part of a list of entries, newest first.
type Page struct {
	Entries []Entry
	Version uint64 // of the tenant
	More    bool   // there are more entries, or there may be
	Partial bool   // the page is short because many entries were read that do not match
	Next    Position
}

// A Position is the position of an entry in the order of a list: newest first, and entries of the
// same time by Place and Rank. A list continues after it. The zero value is before the first entry.
// It identifies an entry for as long as the entry exists, so it can be part of a cursor that a
// caller keeps.
type Position struct {
	At    time.Time `json:"t"`
	Place string    `json:"p"`
	Rank  string    `json:"r"` // within a place, higher ranks come first
}

// beforeAll reports whether the position is before every entry.
func (p Position) beforeAll() bool { return p.At.IsZero() }

// compare returns a negative number if p comes before q, 0 if they are equal, and a positive number
// otherwise.
func (p Position) compare(q Position) int {
	return cmp.Or(q.At.Compare(p.At), strings.Compare(p.Place, q.Place),
		strings.Compare(q.Rank, p.Rank))
}

// An item is an entry with its position. An entry that does not match the query has wanted == false
// and no content.
type item struct {
	Position
	Entry
	matches bool
}

// item returns the item of an entry, with at most maxTargets targets.
func (l *listing) item(p Position, e Entry) item {
	if !l.matches(e) {
		return item{Position: p}
	}
	// They are copied, so that the array of all targets can be freed.
	e.Targets = slices.Clone(e.Targets[:min(len(e.Targets), maxTargets)])
	return item{p, e, true}
}

// size returns the approximate size of the entry in bytes.
func (it item) size() int {
	n := 0
	for _, t := range it.Targets {
		n += len(t)
	}
	return n
}

// refusalsPlace is the Place of entries in the refusal log. It is not the partition of a log of
// commits.
const refusalsPlace = "~refusals"

// List returns a page of the entries of a tenant, newest first: those of the commits of its own log
// and of all its vaults, and those of its refusal log. An entry that existed when the first page
// was read is on exactly one page, whatever is written meanwhile. A call reads a bounded amount
// (maxCost), and may therefore return less than a page; then Partial is set, and Next is where
// the next call continues.
func List(
	ctx context.Context, t *tenant.Tenant, q Query, limit int, after Position,
) (Page, error) {
	l := listing{Query: q, tenant: t, after: after}
	defer l.stop()
	page := Page{Entries: []Entry{}, Next: after}
	var err error
	if page.Version, err = l.begin(ctx); err != nil {
		return page, err
	}
	for it, err := range l.merged() {
		if err != nil {
			return page, err
		}
		if it.At.Before(q.Since) {
			break
		}
		if it.matches && len(page.Entries) == limit {
			page.More = true
			break
		}
		if page.Next = it.Position; it.matches {
			page.Entries = append(page.Entries, it.Entry)
		}
		if l.cost++; l.cost >= maxCost {
			page.More, page.Partial = true, len(page.Entries) < limit
			break
		}
	}
	return page, nil
}

// maxTargets is the maximum number of targets in an entry.
const maxTargets = 100

// matches reports whether an entry matches the query, apart from its time.
func (q Query) matches(e Entry) bool {
	same := func(want, is string) bool { return want == "" || want == is }
	return same(q.Agent, e.Agent) && same(q.Principal, e.Principal) &&
		same(q.Tool, e.Operation) && same(string(q.Outcome), string(e.Outcome)) &&
		(q.Target == "" || q.Target == e.Vault || slices.Contains(e.Targets, q.Target) ||
			slices.Contains(e.Targets, q.Target+".md"))
}

// A listing is the state of one List. spent is its cost so far, in entries; texts of commits and
// archives count as several.
type listing struct {
	Query
	tenant  *tenant.Tenant
	after   Position
	cost    int
	streams []*stream
}

// begin creates the streams and returns the version of the tenant. It costs one Query for each log.
// Commits are always successful, so a query for refused or failed calls reads only the refusal log.
func (l *listing) begin(ctx context.Context) (version uint64, err error) {
	l.add(l.end(), l.refusals(ctx)) // also contains successful calls without a commit
	if l.Outcome == Refused || l.Outcome == Failed {
		_, version, err = l.tenant.State(ctx)
		return version, err
	}
	all, version, err := l.tenant.Histories(ctx)
	if err != nil {
		return 0, err
	}
	for _, h := range all {
		last, at, err := h.LastAt(ctx, l.end())
		if fault.Is(err, fault.NotFound) {
			continue // it was erased meanwhile
		}
		if err != nil {
			return 0, err
		}
		l.add(at, l.commits(ctx, h, last))
	}
	return version, nil
}

// end returns a time after which no entries are requested: the end of the query, or the position
// after which the list continues, whichever is earlier.
func (l *listing) end() time.Time {
	end := lastTime()
	if !l.Until.IsZero() && l.Until.Before(end) {
		end = l.Until
	}
	if !l.after.beforeAll() && l.after.At.Before(end) {
		end = l.after.At
	}
	return end
}

// includes reports whether entries at a position are requested: they are before the end of the query,
// and after the position where the list continues.
func (l *listing) includes(p Position) bool {
	return (l.Until.IsZero() || p.At.Before(l.Until)) &&
		(l.after.beforeAll() || l.after.compare(p) < 0)
}

// Limits of reading a log: the number of commits read at once, and the approximate maximum sizes in
// bytes of the targets of their entries and of their texts. A single commit may exceed them. Only
// the entries are kept in memory, not the commits.
const (
	someCommits = 64
	someBytes   = 256 << 10
	someTexts   = 4 << 20
)

// textCost is the number of bytes of texts that cost as much as an entry. The texts and events of a
// commit are read with it, and need several times their size in memory.
const textCost = 3 << 9

// commits yields the entries of a log, newest first, from the commit `last` backwards. It reads
// someCommits at a time. A log that is erased meanwhile ends without an error.
func (l *listing) commits(
	ctx context.Context, h tenant.History, last uint64,
) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for last > 0 {
			items, next, err := l.readCommits(ctx, h, last)
			if !yieldAll(items, yield) {
				return
			}
			if fault.Is(err, fault.NotFound) {
				return // it was erased meanwhile
			}
			if err != nil {
				yield(item{}, err)
				return
			}
			last = next
		}
	}
}

// yieldAll yields items, and reports whether more are wanted.
func yieldAll(items []item, yield func(item, error) bool) bool {
	for _, it := range items {
		if !yield(it, nil) {
			return false
		}
	}
	return true
}

// readCommits returns the entries of several commits of a log, from the commit `last` backwards, and the
// number of the commit before them. It returns the entries read before an error, too.
func (l *listing) readCommits(
	ctx context.Context, h tenant.History, last uint64,
) (items []item, next uint64, err error) {
	next, left, texts := last, someBytes, 0
	for c, err := range h.Back(ctx, last, someCommits) {
		if err != nil {
			return items, next, err
		}
		p := Position{c.Time.UTC(), h.Part, fmt.Sprintf("%012d", c.Seq)}
		if next = c.Seq - 1; l.includes(p) {
			it := l.item(p, l.commitEntry(h, c))
			items, left = append(items, it), left-it.size()
		}
		if texts += sizeOf(c); left <= 0 || texts > someTexts {
			break
		}
	}
	l.cost += texts / textCost
	return items, next, nil
}

// traitCost is the size in bytes of a trait's id without its text.
const traitCost = 16

// sizeOf returns the size in bytes of a commit's texts and events, and of the ids of its traits and
// nodes: the cost of reading the commit, although an entry contains none of it.
func sizeOf(c *eventlog.Commit) int {
	n := 0
	for i := range c.Notes {
		n += len(c.Notes[i].Text) + len(c.Notes[i].Theirs) + len(c.Notes[i].Events)
		for _, id := range c.Notes[i].Traits {
			n += traitCost + len(id)
		}
		n += len(c.Notes[i].Nodes)
	}
	return n
}

// commitEntry returns the entry of a commit. Its targets are the paths of notes and, for the tenant's own
// log, the ids of records. A note whose history was erased is left out: its path may be what was to
// be erased.
func (l *listing) commitEntry(h tenant.History, c *eventlog.Commit) Entry {
	e := Entry{
		Time: c.Time.UTC(), Request: c.Who.Request, Tenant: l.tenant.Name(),
		Principal: c.Who.Principal, Agent: c.Who.Agent, Operation: c.Tool, Vault: h.Vault,
		Targets: []string{}, Outcome: OK,
		Before: eventlog.Version(c.Seq - 1), After: eventlog.Version(c.Seq),
		Token: c.Who.Token, Issuer: c.Who.Issuer, Subject: c.Who.Subject,
	}
	if c.Took > 0 {
		took := c.Took.Milliseconds()
		e.Took = &took
	}
	for _, n := range c.Notes {
		if !n.Erased {
			e.Targets = append(e.Targets, n.Path)
		}
	}
	for _, r := range c.Records {
		if h.Vault == "" {
			e.Targets = append(e.Targets, r.ID)
		}
	}
	return e
}

// refusals yields the entries of the refusal log, newest first. Its keys have the time of an entry,
// so only the requested range is read; entries with the time of the last position are read again,
// and left out by behind.
func (l *listing) refusals(ctx context.Context) iter.Seq2[item, error] {
	from, to := "", headKey
	if !l.Since.IsZero() {
		from = keyAt(l.Since)
	}
	if !l.Until.IsZero() || !l.after.beforeAll() {
		to = keyAt(l.end().Add(1))
	}
	return func(yield func(item, error) bool) {
		r := logReader{RefusalsOf(l.tenant), l.tenant.Now(), &l.cost}
		for k, err := range r.backward(ctx, from, to) {
			if err != nil {
				yield(item{}, err)
				return
			}
			p := Position{k.Time.UTC(), refusalsPlace, k.Key}
			if l.includes(p) && !yield(l.item(p, k.Entry), nil) {
				return
			}
		}
	}
}
