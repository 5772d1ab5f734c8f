package team

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/repo"
)

// A Member is a person whom the tenant itself gives roles, whatever their tokens say of them.
type Member struct {
	Issuer  string               `json:"issuer"`
	Subject string               `json:"subject"`
	Roles   map[string]auth.Role `json:"roles"` // by vault, as those of a caller
	Prefix  string               `json:"prefix,omitempty"`
	By      string               `json:"by"` // the principal that set it last
	Set     time.Time            `json:"set"`

	Changed uint64 `json:"-"` // the tenant's commit that changed the entry last
}

// key is the id of a member's record. An issuer has no space in it.
func (m Member) key() string { return m.Issuer + " " + m.Subject }

// admin reports whether the member is an admin of the tenant as a whole, who can give anybody every role: in
// all vaults, in none of them less, and bound to no folder.
func (m Member) admin() bool {
	for _, role := range m.Roles {
		if !role.Allows(auth.Admin) {
			return false
		}
	}
	return m.Prefix == "" && m.Roles[auth.AllVaults].Allows(auth.Admin)
}

// Member is the entry of a person.
func (s *State) Member(issuer, subject string) (Member, bool) {
	m, ok := s.members[Member{Issuer: issuer, Subject: subject}.key()]
	return m, ok
}

// Members are the entries by issuer and subject.
func (s *State) Members() []Member {
	var all []Member
	for _, key := range slices.Sorted(maps.Keys(s.members)) {
		all = append(all, s.members[key])
	}
	return all
}

// alone reports whether a member is the only one who is an admin of the tenant.
func (s *State) alone(m Member) bool {
	if !m.admin() {
		return false
	}
	for key, other := range s.members {
		if key != m.key() && other.admin() {
			return false
		}
	}
	return true
}

// MaxMembers is how many members a tenant has at most.
const MaxMembers = 10_000

// SetMember adds a member or changes one as a whole; By and Set are those of the commit. The last admin of
// the tenant as a whole stays one: else it is CONFLICT.
func (t *Team) SetMember(
	ctx context.Context, c repo.Call, m Member, answer func(m Member, created bool) any,
) (repo.Receipt, error) {
	return t.update(ctx, c, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
		m := m
		was, there := d.State().Member(m.Issuer, m.Subject)
		if err := d.Touch(was.Changed); err != nil {
			return nil, err
		}
		switch {
		case there && d.State().alone(was) && !m.admin():
			return nil, lastAdmin("be made less")
		case !there && len(d.State().members) >= MaxMembers:
			return nil, fault.New(fault.QuotaExceeded, "a tenant has at most %d members", MaxMembers).
				With("limit", MaxMembers)
		}
		if there && maps.Equal(was.Roles, m.Roles) && was.Prefix == m.Prefix {
			return answer(was, false), nil
		}
		m.By, m.Set = c.Who.Principal, d.Now()
		return answer(m, !there), d.Record(kindMember, m.key(), m)
	})
}

// RemoveMember takes a member away, whose tokens then say again what they may do. The last admin of the
// tenant as a whole cannot be removed: CONFLICT.
func (t *Team) RemoveMember(
	ctx context.Context, c repo.Call, m Member, answer func(Member) any,
) (repo.Receipt, error) {
	return t.update(ctx, c, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
		was, there := d.State().Member(m.Issuer, m.Subject)
		if !there {
			return nil, fault.New(fault.NotFound, "there is no such member").
				Try("team_member_list", nil)
		}
		if err := d.Touch(was.Changed); err != nil {
			return nil, err
		}
		if d.State().alone(was) {
			return nil, lastAdmin("go")
		}
		return answer(was), d.Record(kindMember, was.key(), nil)
	})
}

// lastAdmin is the fault of what cannot be done to the last admin.
func lastAdmin(what string) error {
	return fault.New(fault.Conflict, "the last admin of all vaults who is bound to no folder cannot %s: "+
		"nobody could say any more who has access", what).
		Fix("make another member an admin of all vaults first").
		Try("team_member_list", nil)
}

// HasAdmin reports whether the tenant has a member who is an admin of it as a whole.
func (s *State) HasAdmin() bool {
	for _, m := range s.members {
		if m.admin() {
			return true
		}
	}
	return false
}

// Begin makes a member an admin of a tenant that has none, or none any more who is one of the tenant as a
// whole (CONTRACT §4, team).
func (t *Team) Begin(ctx context.Context, m Member) error {
	m.Roles = map[string]auth.Role{auth.AllVaults: auth.Admin}
	_, err := t.update(ctx, repo.Call{
		Who: repo.Who{Principal: "rookery"}, Tool: "begin",
	}, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
		if d.State().HasAdmin() {
			return nil, nil
		}
		m := m
		m.By, m.Set = "rookery", d.Now()
		return nil, d.Record(kindMember, m.key(), m)
	})
	return err
}

// IssuerOf is the issuer that a member is of, where it is named or there is only one that it can be. The
// name may be its URL, or that of a rule of the tenant.
func (t *Team) IssuerOf(s *State, name string) (string, error) {
	known := t.issuersOf(s)
	if name == "" && len(known) == 1 {
		return known[0], nil
	}
	if rule, ok := s.Issuer(name); ok && rule.People() && !t.Disabled(rule) {
		return rule.URL, nil
	}
	if slices.Contains(known, name) {
		return name, nil
	}
	f := fault.New(fault.InvalidParameter, "say which issuer the member is of: argument \"issuer\"").
		With("argument", "issuer").With("available", known)
	if len(known) == 0 {
		f = f.Fix("set an issuer first")
	}
	return "", f
}

// issuersOf are the URLs of all issuers whose people may come to the tenant. A workload is nobody's member.
func (t *Team) issuersOf(s *State) []string {
	known := t.deployment()
	for _, i := range s.Issuers() {
		if i.People() && !t.Disabled(i) {
			known = append(known, i.URL)
		}
	}
	slices.SortFunc(known, strings.Compare)
	return slices.Compact(known)
}
