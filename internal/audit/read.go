package audit

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/team"
)

// A Query says which entries of a tenant are asked for: those that are all that it says. The zero value
// asks for every one.
type Query struct {
	Since, Until time.Time // Since is in it, Until is not
	Agent        string
	Principal    string
	Tool         string // its long name
	Target       string // a path, with or without .md, an id, or a vault's name
	Outcome      Outcome
}

// A Page is a part of a list of entries, newest first.
type Page struct {
	Entries []Entry
	Version uint64 // of the tenant
	More    bool   // there are more, or may be
	Partial bool   // the page is short, for much was read that was not asked for
	Next    Position
}

// A Position is an entry's place in the order of all: newest first, those of one time by where they are
// kept. A list goes on behind it. The zero value is before the first.
type Position struct {
	At    time.Time `json:"t"`
	Place string    `json:"p"`
	Rank  string    `json:"r"` // the higher ones of a place come first
}

// beforeAll reports whether the position is before every entry.
func (p Position) beforeAll() bool { return p.At.IsZero() }

// compare is less than 0 if p comes before q.
func (p Position) compare(q Position) int {
	return cmp.Or(q.At.Compare(p.At), strings.Compare(p.Place, q.Place),
		strings.Compare(q.Rank, p.Rank))
}

// An item is an entry at its place. One that is not wanted only counts.
type item struct {
	Position
	Entry
	wanted bool
}

// item is an entry at its place, with the targets that are told.
func (l *listing) item(p Position, e Entry) item {
	if !l.wants(e) {
		return item{Position: p}
	}
	e.Targets = slices.Clone(e.Targets[:min(len(e.Targets), mostTargets)]) // without the array of all
	return item{p, e, true}
}

// size is about how many bytes the entry takes.
func (it item) size() int {
	n := 0
	for _, t := range it.Targets {
		n += len(t)
	}
	return n
}

// refusalsPlace is where the entries of the refusal log are. No log of commits has this name.
const refusalsPlace = "~refusals"

// List reads a page of the entries of a tenant: of the commits of its own log and of all its vaults, and
// of its refusal log, newest first. What was there when a first page was read stands on it or on exactly
// one of those that follow, whatever is written meanwhile. A call reads a bounded part, which may be less
// than a page.
func List(
	ctx context.Context, t *team.Team, q Query, limit int, after Position,
) (Page, error) {
	l := listing{Query: q, team: t, after: after}
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
		if it.wanted && len(page.Entries) == limit {
			page.More = true
			break
		}
		if page.Next = it.Position; it.wanted {
			page.Entries = append(page.Entries, it.Entry)
		}
		if l.spent++; l.spent >= mostSpent {
			page.More, page.Partial = true, len(page.Entries) < limit
			break
		}
	}
	return page, nil
}

// mostTargets is how many targets of a commit are told.
const mostTargets = 100

// wants reports whether an entry is asked for, but for its time.
func (q Query) wants(e Entry) bool {
	same := func(want, is string) bool { return want == "" || want == is }
	return same(q.Agent, e.Agent) && same(q.Principal, e.Principal) &&
		same(q.Tool, e.Operation) && same(string(q.Outcome), string(e.Outcome)) &&
		(q.Target == "" || q.Target == e.Vault || slices.Contains(e.Targets, q.Target) ||
			slices.Contains(e.Targets, q.Target+".md"))
}

// A listing is a List that runs.
type listing struct {
	Query
	team    *team.Team
	after   Position
	spent   int
	streams []*stream
}

// begin makes the streams. It costs one Query for each log.
func (l *listing) begin(ctx context.Context) (version uint64, err error) {
	l.add(l.end(), l.refusals(ctx)) // what is beside the logs has entries that went well there too
	if l.Outcome == Refused || l.Outcome == Failed {
		_, version, err = l.team.State(ctx)
		return version, err
	}
	all, version, err := l.team.Histories(ctx)
	if err != nil {
		return 0, err
	}
	for _, h := range all {
		last, at, err := h.LastAt(ctx, l.end())
		if fault.Is(err, fault.NotFound) {
			continue // it is gone since
		}
		if err != nil {
			return 0, err
		}
		l.add(at, l.commits(ctx, h, last))
	}
	return version, nil
}

// end is a time behind which nothing is asked for.
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

// behind reports whether a place is one that is asked for.
func (l *listing) behind(p Position) bool {
	return (l.Until.IsZero() || p.At.Before(l.Until)) &&
		(l.after.beforeAll() || l.after.compare(p) < 0)
}

// About how many commits of a log are read at once, and how many bytes the targets of their entries, and the
// texts of the commits, have at most, or those of one commit. Only entries are kept until they are asked for, of
// no log the commits.
const (
	someCommits = 64
	someBytes   = 256 << 10
	someTexts   = 4 << 20
)

// textCost is how many bytes of texts cost as much as an entry. Those of a commit, and what it says of the things
// in them, are read with it: several bytes are allocated for each of these.
const textCost = 3 << 9

// commits are the entries of a log, newest first, from a commit on.
func (l *listing) commits(
	ctx context.Context, h team.History, last uint64,
) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for last > 0 {
			items, next, err := l.some(ctx, h, last)
			for _, it := range items {
				if !yield(it, nil) {
					return
				}
			}
			if fault.Is(err, fault.NotFound) {
				return // it is gone since
			}
			if err != nil {
				yield(item{}, err)
				return
			}
			last = next
		}
	}
}

// some are the entries of a log from a commit back, of some commits, and the commit before them.
func (l *listing) some(
	ctx context.Context, h team.History, last uint64,
) (items []item, next uint64, err error) {
	next, left, texts := last, someBytes, 0
	for c, err := range h.Back(ctx, last, someCommits) {
		if err != nil {
			return items, next, err
		}
		p := Position{c.Time.UTC(), h.Part, fmt.Sprintf("%012d", c.Seq)}
		if next = c.Seq - 1; l.behind(p) {
			it := l.item(p, l.of(h, c))
			items, left = append(items, it), left-it.size()
		}
		if texts += sizeOf(c); left <= 0 || texts > someTexts {
			break
		}
	}
	l.spent += texts / textCost
	return items, next, nil
}

// traitCost is how many bytes the id of a trait takes beside its letters.
const traitCost = 16

// nodeCost is how many bytes the UID of a node takes.
const nodeCost = 16

// sizeOf is how many bytes the texts, the events and the ids of traits of a commit take.
func sizeOf(c *repo.Commit) int {
	n := 0
	for i := range c.Notes {
		n += len(c.Notes[i].Text) + len(c.Notes[i].Theirs) + len(c.Notes[i].Events)
		for _, id := range c.Notes[i].Traits {
			n += traitCost + len(id)
		}
		n += len(c.Notes[i].Nodes) * nodeCost
	}
	return n
}

// of is the entry that a commit is.
func (l *listing) of(h team.History, c *repo.Commit) Entry {
	e := Entry{
		Time: c.Time.UTC(), Request: c.Who.Request, Tenant: l.team.Name(),
		Principal: c.Who.Principal, Agent: c.Who.Agent, Operation: c.Tool, Vault: h.Vault,
		Targets: []string{}, Outcome: OK,
		Before: repo.Version(c.Seq - 1), After: repo.Version(c.Seq),
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

// refusals are the entries of the refusal log, newest first.
func (l *listing) refusals(ctx context.Context) iter.Seq2[item, error] {
	from, to := "", headKey
	if !l.Since.IsZero() {
		from = keyAt(l.Since)
	}
	if !l.Until.IsZero() || !l.after.beforeAll() {
		to = keyAt(l.end().Add(1))
	}
	return func(yield func(item, error) bool) {
		r := reading{Of(l.team), l.team.Now(), &l.spent}
		for k, err := range r.back(ctx, from, to) {
			if err != nil {
				yield(item{}, err)
				return
			}
			p := Position{k.Time.UTC(), refusalsPlace, k.Key}
			if l.behind(p) && !yield(l.item(p, k.Entry), nil) {
				return
			}
		}
	}
}
