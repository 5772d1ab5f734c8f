package tenant

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A Member is a person to whom the tenant itself assigns roles. They replace those in the person's
// tokens. A person is identified by the issuer and the subject of its tokens together, because a
// subject alone is not unique.
type Member struct {
	Issuer  string               `json:"issuer"`
	Subject string               `json:"subject"`
	Roles   map[string]auth.Role `json:"roles"` // by vault, as in auth.Caller
	Prefix  string               `json:"prefix,omitempty"`
	By      string               `json:"by"` // the principal that last set it
	Set     time.Time            `json:"set"`

	Changed uint64 `json:"-"` // seq of the tenant's commit that last changed the entry
}

// key returns the id of a member's record. It is unambiguous because an issuer contains no space.
func (m Member) key() string { return m.Issuer + " " + m.Subject }

// admin reports whether the member is an admin of the tenant as a whole and can therefore assign
// every role: it is an admin of all vaults, has no lower role in any vault, and is not restricted
// to a prefix.
func (m Member) admin() bool {
	for _, role := range m.Roles {
		if !role.Allows(auth.Admin) {
			return false
		}
	}
	return m.Prefix == "" && m.Roles[auth.AllVaults].Allows(auth.Admin)
}

// Member returns the entry of a person.
func (s *State) Member(issuer, subject string) (Member, bool) {
	m, ok := s.members[Member{Issuer: issuer, Subject: subject}.key()]
	return m, ok
}

// Members returns the entries, sorted by issuer and subject.
func (s *State) Members() []Member {
	var all []Member
	for _, key := range slices.Sorted(maps.Keys(s.members)) {
		all = append(all, s.members[key])
	}
	return all
}

// isOnlyAdmin reports whether m is the only admin of the tenant as a whole. A change that would leave
// none is refused, because no one could undo it.
func (s *State) isOnlyAdmin(m Member) bool {
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

// MaxMembers is the maximum number of members of a tenant.
const MaxMembers = 10_000

// SetMember adds a member or replaces its entry; By and Set are set by the commit. answer returns
// the answer to store for the call; created is false if the member existed. An entry that is equal
// to the present one makes no commit. The last admin of the tenant as a whole must remain one,
// otherwise SetMember returns CONFLICT. More than MaxMembers are QUOTA_EXCEEDED.
func (t *Tenant) SetMember(
	ctx context.Context, c eventlog.Call, m Member, answer func(m Member, created bool) any,
) (eventlog.Receipt, error) {
	return t.update(ctx, c, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		m := m
		was, there := d.State().Member(m.Issuer, m.Subject)
		if err := d.Touch(was.Changed); err != nil {
			return nil, err
		}
		switch {
		case there && d.State().isOnlyAdmin(was) && !m.admin():
			return nil, lastAdmin("be given a lower role")
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

// RemoveMember removes a member; the roles in the person's tokens apply again. Only Issuer and
// Subject of m are used. The last admin of the tenant as a whole cannot be removed: CONFLICT. A
// member that does not exist is NOT_FOUND.
func (t *Tenant) RemoveMember(
	ctx context.Context, c eventlog.Call, m Member, answer func(Member) any,
) (eventlog.Receipt, error) {
	return t.update(ctx, c, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		was, there := d.State().Member(m.Issuer, m.Subject)
		if !there {
			return nil, fault.New(fault.NotFound, "there is no such member").
				Try("team_member_list", nil)
		}
		if err := d.Touch(was.Changed); err != nil {
			return nil, err
		}
		if d.State().isOnlyAdmin(was) {
			return nil, lastAdmin("go")
		}
		return answer(was), d.Record(kindMember, was.key(), nil)
	})
}

// lastAdmin returns the fault of a change that would leave the tenant without an admin. what is the
// change as a verb.
func lastAdmin(what string) error {
	return fault.New(fault.Conflict, "the last admin of all vaults who is bound to no folder cannot %s: "+
		"without one, access could not be managed any more", what).
		Fix("make another member an admin of all vaults first").
		Try("team_member_list", nil)
}

// HasAdmin reports whether a member is an admin of the tenant as a whole.
func (s *State) HasAdmin() bool {
	for _, m := range s.members {
		if m.admin() {
			return true
		}
	}
	return false
}

// Begin makes m an admin of the tenant as a whole if it has no such admin (CONTRACT §4, team).
// Otherwise it does nothing. The operator of a server calls it for the first person of a new
// tenant; By is "rookery" then.
func (t *Tenant) Begin(ctx context.Context, m Member) error {
	m.Roles = map[string]auth.Role{auth.AllVaults: auth.Admin}
	_, err := t.update(ctx, eventlog.Call{
		Who: eventlog.Who{Principal: "rookery"}, Tool: "begin",
	}, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		if d.State().HasAdmin() {
			return nil, nil
		}
		m := m
		m.By, m.Set = "rookery", d.Now()
		return nil, d.Record(kindMember, m.key(), m)
	})
	return err
}

// IssuerOf returns the issuer URL of a new member. name is the URL, the name of a rule of the
// tenant, or "" if there is only one possible issuer. Any other name is INVALID_PARAMETER, and the
// fault lists the possible issuers.
func (t *Tenant) IssuerOf(s *State, name string) (string, error) {
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
	f := fault.New(fault.InvalidParameter, "give the issuer of the member: argument \"issuer\"").
		With("argument", "issuer").With("available", known)
	if len(known) == 0 {
		f = f.Fix("set an issuer first")
	}
	return "", f
}

// issuersOf returns the URLs of all issuers of people that the tenant accepts, sorted. A workload
// cannot be a member.
func (t *Tenant) issuersOf(s *State) []string {
	known := t.deployment()
	for _, i := range s.Issuers() {
		if i.People() && !t.Disabled(i) {
			known = append(known, i.URL)
		}
	}
	slices.SortFunc(known, strings.Compare)
	return slices.Compact(known)
}
