package notes

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// A filterArgs contains the arguments that restrict a list or a search to some notes. The tools
// that list and search notes embed it. All given arguments must be met.
//
// The first five arguments apply to all notes. Chain, Entity and Episode are fields of notes that
// record events; Network, WalletAddress and PaymentStatus those of notes about payments. Slugs are
// compared as slugs, so "My Project" selects the project my-project; the payment fields are
// compared as texts, without regard to case.
type filterArgs struct {
	// only notes in this folder, at any depth
	Folder string `json:"folder,omitempty" size:"id"`
	// only notes of this project
	Project string `json:"project,omitempty" complete:"project"`
	// only notes with this tag
	Tag string `json:"tag,omitempty" complete:"note_tag"`
	// only notes dated on this day (2026-03-01) or later
	Since string `json:"since,omitempty"`
	// only notes dated on this day or earlier
	Until string `json:"until,omitempty"`
	// only notes with this causal_chain_id
	Chain string `json:"chain,omitempty" rare:"true"`
	// only notes with this entity
	Entity string `json:"entity,omitempty" rare:"true"`
	// only notes with this episode_id
	Episode string `json:"episode,omitempty" rare:"true"`

	// only notes with this network
	Network string `json:"network,omitempty" rare:"true"`
	// only notes with this wallet_address
	WalletAddress string `json:"wallet_address,omitempty" rare:"true"`
	// only notes with this payment_status
	PaymentStatus string `json:"payment_status,omitempty" rare:"true"`

	// exclude approval logs, or everything else
	ContentScope string `json:"content_scope,omitempty" rare:"true" enum:"all,notes,approval_logs" default:"all"`
}

// The values of ContentScope.
const (
	scopeNotes     = "notes"
	scopeApprovals = "approval_logs"
)

// isNarrow reports whether any argument except ContentScope restricts the notes.
func (in *filterArgs) isNarrow() bool { return *in != filterArgs{ContentScope: in.ContentScope} }

// A filter selects the notes in a folder that meet all conditions. It is built once for a call and
// then applied to the row of each note. marks excludes most notes with one comparison, before any
// condition is evaluated.
//
// A call applies the filter to every note of the folder, so the order of the checks matters: first
// the folder, by the range of rows that is read; then the marks, by one comparison of bits; then
// the rows; and a note itself only if its row leaves a condition open.
type filter struct {
	folder string      // empty: the whole vault
	marks  index.Marks // marks of the row of every note that meets the conditions
	all    []condition
}

// A condition is one condition of a filter. row decides it from the row of a note, without the
// note. Both functions must agree: row may only answer ask where it does not know.
//
// If the row has the value that the condition needs, row answers yes or no. For a value that is cut
// off in the row, or only marked in it, row answers ask, and holds decides.
type condition struct {
	holds func(*index.Note) bool   // reports whether a note meets the condition
	row   func(*index.Row) verdict // nil: the row cannot decide
	tag   string                   // the slug of the tag that a note must have; empty: another condition
}

// A verdict is the decision of a row about a condition.
type verdict int

// The verdicts.
const (
	undecided verdict = iota // the row cannot decide: check the note
	yes                      // the condition is met
	no                       // the condition is not met
)

// filter returns the filter for the arguments. It returns INVALID_PATH if the folder is not valid,
// and INVALID_PARAMETER if since or until is no date.
// Every filter excludes the notes that lists omit, such as templates and the files of tools. The
// dates are compared as texts, so a date need not be complete: since 2026-03 includes all of March.
func (in *filterArgs) filter() (*filter, error) {
	folder, err := cleanPath("folder", in.Folder)
	if err != nil {
		return nil, err
	}
	// Each given argument adds a condition; one that is empty adds none.
	f := &filter{folder: folder}
	f.slug(in.Project, index.MarkedProject, func(slug string) condition {
		return condition{holds: func(n *index.Note) bool { return n.Project() == slug }}
	})
	f.slug(in.Tag, index.MarkedTag, func(slug string) condition {
		c := onCard(func(c *index.Card) bool { return slices.Contains(c.Tags, slug) })
		c.tag = slug
		return c
	})
	f.cardSlug(in.Chain, index.MarkedChain, func(c *index.Card, s string) bool { return c.Chain() == s })
	f.cardSlug(in.Entity, index.MarkedEntity,
		func(c *index.Card, s string) bool { return slices.Contains(c.Entities(), s) })
	f.cardSlug(in.Episode, index.MarkedEpisode, func(c *index.Card, s string) bool { return c.Episode() == s })
	since, until := day(in.Since), day(in.Until)
	if err := cmp.Or(checkDay("since", since), checkDay("until", until)); err != nil {
		return nil, err
	}
	f.dated(since, func(day string) bool { return day >= since })
	f.dated(until, func(day string) bool { return day <= until })
	f.same(in.Network, index.MarkedNetwork, (*index.Card).Network)
	f.same(in.WalletAddress, index.MarkedWalletAddress, (*index.Card).WalletAddress)
	f.same(in.PaymentStatus, index.MarkedPaymentStatus, (*index.Card).PaymentStatus)
	f.scope(in.ContentScope)
	return f, nil
}

// has reports whether the filter selects a note, by the note itself. It is for notes that a search
// found, in any folder.
func (f *filter) has(n *index.Note) bool {
	inside := f.folder == "" || n.Path == f.folder || strings.HasPrefix(n.Path, f.folder+"/")
	return inside && index.IsListed(n.Path) &&
		!slices.ContainsFunc(f.all, func(c condition) bool { return !c.holds(n) })
}

// hasRow reports whether the filter selects the note of a row, which must be in the folder. It
// reads the note only if the row cannot decide. The result is that of has for the note.
func (f *filter) hasRow(r *index.Row) bool {
	if !r.Marks.Has(f.marks) {
		return false
	}
	for _, c := range f.all {
		says := undecided
		if c.row != nil {
			says = c.row(r)
		}
		if says == no || says == undecided && !c.holds(r.Note) {
			return false
		}
	}
	return true
}

// on returns the filter for the rows of an index. Their numbers decide about most tags.
func (f *filter) on(idx *index.Index) *filter {
	all := slices.Clone(f.all)
	for i, c := range all {
		if c.tag != "" {
			all[i].row = byNumber(idx.TagID(c.tag), c.row)
		}
	}
	return &filter{f.folder, f.marks, all}
}

// byNumber returns a condition on the tag with a number. otherwise decides where the row does not
// know it.
func byNumber(tag index.TagID, otherwise func(*index.Row) verdict) func(*index.Row) verdict {
	return func(r *index.Row) verdict {
		switch has, known := r.HasTag(tag); {
		case !known:
			return otherwise(r)
		case has:
			return yes
		}
		return no
	}
}

// slug adds a condition on a value that is compared as a slug. An empty text adds no condition. A
// text without any character of a slug matches no note. kind is the mark of such values in rows; on
// returns the condition for the slug.
//
// The mark of a value is a bit that several values share. A row without the bit cannot have the
// value; a row with it may have it.
func (f *filter) slug(given string, kind index.MarkKind, on func(slug string) condition) {
	if given == "" {
		return
	}
	slug := markdown.PlainSlug(given)
	if slug == "" {
		f.all = append(f.all, onCard(func(*index.Card) bool { return false }))
		return
	}
	f.marks |= kind.Of(slug)
	f.all = append(f.all, on(slug))
}

// cardSlug adds a condition like slug, on a value in the card of a note.
func (f *filter) cardSlug(given string, kind index.MarkKind, holds func(c *index.Card, slug string) bool) {
	f.slug(given, kind, func(slug string) condition {
		return onCard(func(c *index.Card) bool { return holds(c, slug) })
	})
}

// same adds the condition that a note has a value. Case and surrounding space are ignored. of
// returns the value of a card.
func (f *filter) same(given string, kind index.MarkKind, of func(*index.Card) string) {
	given = trim(given)
	if given == "" {
		return
	}
	f.marks |= kind.Of(given)
	f.all = append(f.all, onCard(func(c *index.Card) bool { return strings.EqualFold(trim(of(c)), given) }))
}

// onCard returns a condition on the card of a note, which the row always decides.
func onCard(holds func(*index.Card) bool) condition {
	return condition{
		holds: func(n *index.Note) bool { return holds(n.Card()) },
		row: func(r *index.Row) verdict {
			if holds(r.Card()) {
				return yes
			}
			return no
		},
	}
}

// dated adds the condition that a note has a day for which holds is true. A note without a day does
// not meet it. given is the argument; if it is empty, no condition is added.
//
// The comparison of days as texts is correct for dates that begin with a year of four digits. Other
// dates are compared in the same way.
func (f *filter) dated(given string, holds func(day string) bool) {
	if given == "" {
		return
	}
	f.all = append(f.all, condition{
		holds: func(n *index.Note) bool { d := day(n.Card().Day()); return d != "" && holds(d) },
		row: func(r *index.Row) verdict {
			// The row has the first ten characters of the day, which are all that day compares.
			d, ok := r.DayBegins()
			switch {
			case !ok:
				return undecided
			case len(d) > 0 && holds(string(d)):
				return yes
			}
			return no
		},
	})
}

// scope adds the condition that a note is an approval log, or that it is not. Another value adds no
// condition. A row can only exclude that a note is an approval log, because its mark is shared with
// other values.
func (f *filter) scope(scope string) {
	switch scope {
	case scopeNotes:
		f.all = append(f.all, condition{
			holds: func(n *index.Note) bool { return !isApproval(n) },
			row: func(r *index.Row) verdict {
				if r.Marks.Has(index.MarkedKind.Of(approvalKind)) || isApprovalPath(r.Path) {
					return undecided
				}
				return yes
			},
		})
	case scopeApprovals:
		f.all = append(f.all, condition{holds: isApproval})
	}
}

// day returns the part of a date that filters compare: its first ten characters, which are the day
// of an ISO time.
func day(date string) string {
	const characters = 10
	n := 0
	for i := range date {
		if n++; n > characters {
			return date[:i]
		}
	}
	return date
}

// beginsWithYear matches a date, which may be cut off after any part: 2026, 2026-03, 2026-03-01.
var beginsWithYear = regexp.MustCompile(`^\d{4}(-|$)`)

// checkDay returns INVALID_PARAMETER for the value of an argument that is no date. As a text, a word
// such as "today" would be compared with the dates all the same, and come after all of them.
func checkDay(argument, day string) error {
	if day == "" || beginsWithYear.MatchString(day) {
		return nil
	}
	return fault.New(fault.InvalidParameter, "argument %q must be a date: 2026-03-01, 2026-03 or 2026", argument).
		With("argument", argument)
}

// trim removes surrounding space, as JavaScript defines it.
func trim(s string) string { return strings.TrimFunc(s, markdown.IsSpace) }

// approvalKind is the kind of an approval log.
const approvalKind = "approval_log"

// isApproval reports whether a note is an approval log, by its path or kind.
func isApproval(n *index.Note) bool { return isApprovalPath(n.Path) || n.Card().Kind() == approvalKind }

// isApprovalPath reports whether a path is in the folder of approval logs.
func isApprovalPath(path string) bool {
	return path == "approvals" || strings.HasPrefix(path, "approvals/")
}
