package notes

import (
	"slices"
	"strings"

	"rookery/internal/index"
	"rookery/internal/markdown"
)

// A narrowing is the arguments of the tools that list notes: which of them.
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

	ContentScope string `json:"content_scope,omitempty" rare:"true" enum:"all,notes,approval_logs" default:"all" jsonschema:"leave approval logs out, or everything else"`
}

// ContentScope values.
const (
	scopeNotes     = "notes"
	scopeApprovals = "approval_logs"
)

// A filter reports whether a note is among those that a call is about.
type filter func(*index.Note) bool

// filter returns the conditions as one. What templates and tools keep in a vault is in no list.
func (in *narrowing) filter() (filter, error) {
	folder, err := cleanPath("folder", in.Folder)
	if err != nil {
		return nil, err
	}
	all := []filter{isListed}
	add := func(given string, holds filter) {
		if given != "" {
			all = append(all, holds)
		}
	}
	add(folder, func(n *index.Note) bool { return n.Path == folder || strings.HasPrefix(n.Path, folder+"/") })
	slug := func(given string, holds func(n *index.Note, slug string) bool) {
		wanted := markdown.PlainSlug(given)
		add(given, func(n *index.Note) bool { return wanted != "" && holds(n, wanted) })
	}
	slug(in.Project, func(n *index.Note, s string) bool { return n.Project() == s })
	slug(in.Tag, func(n *index.Note, s string) bool { return slices.Contains(n.Card().Tags, s) })
	slug(in.Chain, func(n *index.Note, s string) bool { return n.Card().Chain() == s })
	slug(in.Entity, func(n *index.Note, s string) bool { return slices.Contains(n.Card().Entities(), s) })
	slug(in.Episode, func(n *index.Note, s string) bool { return n.Card().Episode() == s })
	since, until := day(in.Since), day(in.Until)
	add(since, func(n *index.Note) bool { d := day(n.Card().Day()); return d != "" && d >= since })
	add(until, func(n *index.Note) bool { d := day(n.Card().Day()); return d != "" && d <= until })
	same := func(given string, of func(*index.Card) string) {
		wanted := trim(given)
		add(wanted, func(n *index.Note) bool { return strings.EqualFold(trim(of(n.Card())), wanted) })
	}
	same(in.Network, (*index.Card).Network)
	same(in.WalletAddress, (*index.Card).WalletAddress)
	same(in.PaymentStatus, (*index.Card).PaymentStatus)
	if in.ContentScope == scopeNotes || in.ContentScope == scopeApprovals {
		all = append(all, func(n *index.Note) bool { return isApproval(n) == (in.ContentScope == scopeApprovals) })
	}
	return allOf(all), nil
}

// allOf is the filter of the notes that each of some filters has.
func allOf(all []filter) filter {
	return func(n *index.Note) bool {
		for _, holds := range all {
			if !holds(n) {
				return false
			}
		}
		return true
	}
}

// day is the part of a date that filters compare: its first ten characters.
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

func trim(s string) string { return strings.TrimFunc(s, markdown.IsSpace) }

// ignored are the names of folders whose notes are in no list, at any depth.
var ignored = []string{"templates", "meta", "node_modules", ".git"}

// isListed reports whether a note is in lists at all.
func isListed(n *index.Note) bool {
	rest := n.Path
	for {
		folder, below, ok := strings.Cut(rest, "/")
		if !ok {
			return true
		}
		for _, name := range ignored {
			if len(name) == len(folder) && strings.EqualFold(name, folder) {
				return false
			}
		}
		rest = below
	}
}

// isApproval reports whether a note is an approval log.
func isApproval(n *index.Note) bool {
	return n.Path == "approvals" || strings.HasPrefix(n.Path, "approvals/") || n.Card().Kind() == "approval_log"
}
