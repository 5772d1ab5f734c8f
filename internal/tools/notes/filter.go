package notes

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// A narrowing contains the arguments of the tools that list notes which restrict them to some
// notes.
type narrowing struct {
	Folder  string `json:"folder,omitempty" size:"id" jsonschema:"only notes in this folder, at any depth"`
	Project string `json:"project,omitempty" complete:"project" jsonschema:"only notes of this project"`
	Tag     string `json:"tag,omitempty" complete:"note_tag" jsonschema:"only notes with this tag"`
	Since   string `json:"since,omitempty" jsonschema:"only notes dated on this day (2026-03-01) or later"`
	Until   string `json:"until,omitempty" jsonschema:"only notes dated on this day or earlier"`
	Chain   string `json:"chain,omitempty" rare:"true" jsonschema:"only notes with this causal_chain_id"`
	Entity  string `json:"entity,omitempty" rare:"true" jsonschema:"only notes with this entity"`
	Episode string `json:"episode,omitempty" rare:"true" jsonschema:"only notes with this episode_id"`

	Network       string `json:"network,omitempty" rare:"true" jsonschema:"only notes with this network"`
	WalletAddress string `json:"wallet_address,omitempty" rare:"true" jsonschema:"only notes with this wallet_address"`
	PaymentStatus string `json:"payment_status,omitempty" rare:"true" jsonschema:"only notes with this payment_status"`

	ContentScope string `json:"content_scope,omitempty" rare:"true" enum:"all,notes,approval_logs" default:"all" jsonschema:"exclude approval logs, or everything else"`
}

// The values of ContentScope.
const (
	scopeNotes     = "notes"
	scopeApprovals = "approval_logs"
)

// isNarrow reports whether any argument except ContentScope restricts the notes.
func (in *narrowing) isNarrow() bool { return *in != narrowing{ContentScope: in.ContentScope} }

// A filter selects the notes in a folder that meet all conditions.
type filter struct {
	folder string      // empty: the whole vault
	marks  index.Marks // marks of the row of every note that meets the conditions
	all    []condition
}

// A condition is one condition of a filter. row decides it from the row of a note, without the
// note.
type condition struct {
	holds func(*index.Note) bool   // reports whether a note meets the condition
	row   func(*index.Row) verdict // nil: the row cannot decide
	tag   string                   // the slug of the tag that a note must have; empty: another condition
}

// A verdict is the decision of a row about a condition.
type verdict int

// The verdicts.
const (
	ask verdict = iota // the row cannot decide: check the note
	yes                // the condition is met
	no                 // the condition is not met
)

// filter returns the filter for the arguments. It returns INVALID_PATH if the folder is not valid.
// Every filter excludes the notes that lists omit, such as templates and the files of tools.
func (in *narrowing) filter() (*filter, error) {
	folder, err := cleanPath("folder", in.Folder)
	if err != nil {
		return nil, err
	}
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
	f.cardSlug(in.Entity, index.MarkedEntity, func(c *index.Card, s string) bool { return slices.Contains(c.Entities(), s) })
	f.cardSlug(in.Episode, index.MarkedEpisode, func(c *index.Card, s string) bool { return c.Episode() == s })
	since, until := day(in.Since), day(in.Until)
	f.dated(since, func(day string) bool { return day >= since })
	f.dated(until, func(day string) bool { return day <= until })
	f.same(in.Network, index.MarkedNetwork, (*index.Card).Network)
	f.same(in.WalletAddress, index.MarkedWalletAddress, (*index.Card).WalletAddress)
	f.same(in.PaymentStatus, index.MarkedPaymentStatus, (*index.Card).PaymentStatus)
	f.scope(in.ContentScope)
	return f, nil
}

// has reports whether the filter selects a note.
func (f *filter) has(n *index.Note) bool {
	inside := f.folder == "" || n.Path == f.folder || strings.HasPrefix(n.Path, f.folder+"/")
	return inside && index.IsListed(n.Path) &&
		!slices.ContainsFunc(f.all, func(c condition) bool { return !c.holds(n) })
}

// hasRow reports whether the filter selects the note of a row, which must be in the folder. It
// reads the note only if the row cannot decide.
func (f *filter) hasRow(r *index.Row) bool {
	if !r.Marks.Has(f.marks) {
		return false
	}
	for _, c := range f.all {
		says := ask
		if c.row != nil {
			says = c.row(r)
		}
		if says == no || says == ask && !c.holds(r.Note) {
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
// text without any character of a slug matches no note.
func (f *filter) slug(given string, kind index.Marked, on func(slug string) condition) {
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
func (f *filter) cardSlug(given string, kind index.Marked, holds func(c *index.Card, slug string) bool) {
	f.slug(given, kind, func(slug string) condition {
		return onCard(func(c *index.Card) bool { return holds(c, slug) })
	})
}

// same adds the condition that a note has a value. Case and surrounding space are ignored.
func (f *filter) same(given string, kind index.Marked, of func(*index.Card) string) {
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

// dated adds the condition that a note has a day for which holds is true.
func (f *filter) dated(given string, holds func(day string) bool) {
	if given == "" {
		return
	}
	f.all = append(f.all, condition{
		holds: func(n *index.Note) bool { d := day(n.Card().Day()); return d != "" && holds(d) },
		row: func(r *index.Row) verdict {
			d, ok := r.DayBegins()
			switch {
			case !ok:
				return ask
			case len(d) > 0 && holds(string(d)):
				return yes
			}
			return no
		},
	})
}

// scope adds the condition that a note is an approval log, or that it is not.
func (f *filter) scope(scope string) {
	switch scope {
	case scopeNotes:
		f.all = append(f.all, condition{
			holds: func(n *index.Note) bool { return !isApproval(n) },
			row: func(r *index.Row) verdict {
				if r.Marks.Has(index.MarkedKind.Of(approvalKind)) || isApprovalPath(r.Path) {
					return ask
				}
				return yes
			},
		})
	case scopeApprovals:
		f.all = append(f.all, condition{holds: isApproval})
	}
}

// day returns the part of a date that filters compare: its first ten characters.
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

// trim removes surrounding space.
func trim(s string) string { return strings.TrimFunc(s, markdown.IsSpace) }

// approvalKind is the kind of an approval log.
const approvalKind = "approval_log"

// isApproval reports whether a note is an approval log, by its path or kind.
func isApproval(n *index.Note) bool { return isApprovalPath(n.Path) || n.Card().Kind() == approvalKind }

// isApprovalPath reports whether a path is in the folder of approval logs.
func isApprovalPath(path string) bool {
	return path == "approvals" || strings.HasPrefix(path, "approvals/")
}
