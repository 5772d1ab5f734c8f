// Package tenant implements a tenant: its vaults, and the members, tokens and issuers that determine
// access to them.
//
// A tenant is a log like a vault (DESIGN §1.1). Its entries are records; State is the result of
// applying them. Registry opens the tenants of a deployment by name, and a Tenant opens the vaults of
// its tenant. An open vault may have a folder in which people see its notes, and a Compactor that
// compacts its log in the background; a Memory limits the total size of open vaults.
//
// A name may be used by several vaults, one after the other, and each of these incarnations has its
// own partition of the table and its own part of the bucket. The same applies to the names of
// tenants, which the registry lists. To create a vault, or to change its status or settings, its
// own log is written first and the tenant's log second, so that an interrupted call can be
// repeated.
//
// Erasures are jobs with idempotent steps. The tenant's log, or the registry for a tenant, records
// that the erasure has begun, which cannot be undone. Then the erased log is sealed, files and logs
// are destroyed, the database is compacted, and an hour later data that arrived late is destroyed
// too.
//
// The files belong to these subjects. state.go, image.go: the state and its stored form. tenant.go,
// registry.go, registration.go: tenants and how they are opened. vaults.go, openvault.go, memory.go,
// uses.go, served.go: vaults and how they are opened and closed. member.go, token.go, issuer.go,
// agent.go: access. erase.go, erasejob.go, erasenote.go, tenanterase.go, tenanterasejob.go,
// tenanteraseplan.go, clear.go: erasures. compact.go, jobs.go, followedvault.go, survey.go: work in the
// background and by other processes. rebuild.go, examine.go: repair.
//
// The package does not know how callers are authenticated (package access does), nor tools, nor any
// transport.
package tenant

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
)

// A State is a tenant at one version. It is immutable, and derived from the tenant's log alone, so
// that every process computes the same State from the same commits.
type State struct {
	vaults  map[string]Entry  // by name
	tokens  map[string]Token  // by id
	members map[string]Member // by Member.key
	issuers map[string]Issuer // by name

	ended map[string]time.Time // when tokens were revoked, directly or through a maker, by id; see endTimes
}

// The kinds of records of a tenant's log.
const (
	kindVault  = "vault"  // the record's id is the vault's name
	kindToken  = "token"  // the token's id
	kindMember = "member" // issuer and subject; see Member.key
	kindIssuer = "issuer" // the rule's name
)

// An Entry is the record of a tenant about one of its vaults. Of an erased name, the entry stays
// until a new vault has the name, because it has the number of the last incarnation.
type Entry struct {
	Name        string          `json:"name"`
	Incarnation int             `json:"incarnation"` // number of this vault among those with this name, from 1
	Status      eventlog.Status `json:"status"`
	Created     time.Time       `json:"created"`
	Trashed     time.Time       `json:"trashed,omitzero"`
	Cleared     time.Time       `json:"cleared,omitzero"`   // when its files were removed after its time in the trash
	Erasure     *Erasure        `json:"erasure,omitempty"`  // nil: no erasure has begun
	ReadOnly    bool            `json:"readonly,omitempty"` // as in the vault's own log
	Secrets     Secrets         `json:"secrets,omitempty"`  // empty: Flag

	Changed uint64 `json:"-"` // seq of the tenant's commit that last changed the entry

	// Left are files in the folder of a new vault that belonged to an earlier vault of the name and
	// were changed since. They are kept, but are not notes.
	Left []string `json:"-"`
}

// A Secrets is the policy of a vault for texts that seem to contain a secret.
type Secrets string

// The policies.
const (
	Flag   Secrets = "flag"   // write the text, with a warning in the answer
	Refuse Secrets = "refuse" // do not write it
	Off    Secrets = "off"    // do not check
)

// status returns the status that the vault's own log must have.
func (e Entry) status() eventlog.Status {
	if e.Status == eventlog.Active && e.ReadOnly {
		return eventlog.ReadOnly
	}
	return e.Status
}

// TrashLife is the time that a vault stays in the trash and keeps its name (CONTRACT §4, team).
const TrashLife = 30 * 24 * time.Hour

// Gone reports whether the vault has ended: it is erased, or it was in the trash for TrashLife.
func (e Entry) Gone(now time.Time) bool {
	return e.free() || e.Status == eventlog.Trashed && now.Sub(e.Trashed) >= TrashLife
}

// Vault returns the entry with a name.
func (s *State) Vault(name string) (Entry, bool) {
	e, ok := s.vaults[name]
	return e, ok
}

// Vaults returns the entries sorted by name. Vaults in the trash are included, those with an
// erasure are not.
func (s *State) Vaults() []Entry {
	var all []Entry
	for _, name := range slices.Sorted(maps.Keys(s.vaults)) {
		if e := s.vaults[name]; e.Erasure == nil {
			all = append(all, e)
		}
	}
	return all
}

// fold returns the state after one more commit. It does not change before. It is the Apply function
// of the tenant's log, and must not fail: records of later releases are ignored.
func fold(before *State, c *eventlog.Commit, _ eventlog.PartRef) *State {
	f := stateBuilder{after: *before}
	f.add(c)
	return f.done()
}

// build returns the state after many commits. It does not change from.
func build(from *State, commits iter.Seq2[*eventlog.Commit, eventlog.PartRef]) *State {
	f := stateBuilder{after: *from}
	for c := range commits {
		f.add(c)
	}
	return f.done()
}

// A stateBuilder is a State under construction. It may change only the maps that it owns; others are
// shared with an earlier State. A map is copied when its first entry changes, so applying one
// commit costs the size of one map, and applying a whole log copies each map once.
type stateBuilder struct {
	after State
	owned map[string]bool // kinds of records whose map was copied
	ends  bool            // a token ended, so ended must be computed again
}

// add applies the records of a commit.
func (f *stateBuilder) add(c *eventlog.Commit) {
	for _, r := range c.Records {
		switch r.Kind {
		case kindVault:
			f.after.vaults = applyRecord(f, f.after.vaults, r, func(e *Entry) { e.Changed = c.Seq })
		case kindToken:
			f.after.tokens = applyRecord(f, f.after.tokens, r, func(t *Token) { t.Changed = c.Seq })
			f.ends = f.ends || f.after.affectsEndTimes(r.ID)
		case kindMember:
			f.after.members = applyRecord(f, f.after.members, r, func(m *Member) { m.Changed = c.Seq })
		case kindIssuer:
			f.after.issuers = applyRecord(f, f.after.issuers, r, func(i *Issuer) { i.Changed = c.Seq })
		}
	}
}

// done returns the state, with its derived fields updated.
func (f *stateBuilder) done() *State {
	if f.ends {
		f.after.ended = endTimes(f.after.tokens)
	}
	return &f.after
}

// applyRecord applies a record to the entries of its kind and returns them. mark sets the Changed field
// of an entry. A record without a value deletes the entry. A record that cannot be decoded, such as
// one of a later release, is ignored.
func applyRecord[T any](f *stateBuilder, all map[string]T, r eventlog.Record, mark func(*T)) map[string]T {
	var entry T
	if r.Value != nil && json.Unmarshal(r.Value, &entry) != nil {
		return all
	}
	if !f.owned[r.Kind] {
		all = maps.Clone(all)
		f.own(r.Kind)
	}
	if r.Value == nil {
		delete(all, r.ID)
		return all
	}
	if all == nil {
		all = map[string]T{}
	}
	mark(&entry)
	all[r.ID] = entry
	return all
}

// own notes that the map of a kind was copied.
func (f *stateBuilder) own(kind string) {
	if f.owned == nil {
		f.owned = map[string]bool{}
	}
	f.owned[kind] = true
}

// imageFormat is the version of a tenant's image. It must be raised for each new kind of record,
// and each new field of State that is not derived from others: an older image lacks them, and a
// release that started from it would never see them.
const imageFormat = 1

// An image is a State as it is stored, in JSON, so that a start reads it and only the commits after
// it. It omits fields of State that are derived from others.
type image struct {
	Format  int                           `json:"format"`
	Vaults  map[string]imageEntry[Entry]  `json:"vaults,omitempty"`
	Tokens  map[string]imageEntry[Token]  `json:"tokens,omitempty"`
	Members map[string]imageEntry[Member] `json:"members,omitempty"`
	Issuers map[string]imageEntry[Issuer] `json:"issuers,omitempty"`
}

// An imageEntry is an entry of a State with the commit that last changed it, which is not part of the JSON
// of the entry itself.
type imageEntry[T any] struct {
	Changed uint64 `json:"changed"`
	Entry   T      `json:"entry"`
}

// imageCodec returns the functions that encode and decode images of tenants. There is one version of
// the format: a release that cannot read an image replays the log.
func imageCodec() *eventlog.Imaging[*State] {
	return &eventlog.Imaging[*State]{Draw: encodeImage, Read: readImage}
}

// encodeImage returns the image of a state. Its size is that of the entries, which the limits of a
// tenant bound; map keys are sorted in JSON, so equal states have equal images.
func encodeImage(s *State) blob.Pieces {
	text, err := json.Marshal(image{
		Format:  imageFormat,
		Vaults:  toImage(s.vaults, func(e *Entry) *uint64 { return &e.Changed }),
		Tokens:  toImage(s.tokens, func(t *Token) *uint64 { return &t.Changed }),
		Members: toImage(s.members, func(m *Member) *uint64 { return &m.Changed }),
		Issuers: toImage(s.issuers, func(i *Issuer) *uint64 { return &i.Changed }),
	})
	if err != nil {
		panic(err) // cannot happen: the entries were decoded from JSON
	}
	return blob.Pieces{text}
}

// readImage decodes an image. It returns an error for another format.
func readImage(data []byte) (*State, error) {
	var i image
	if err := json.Unmarshal(data, &i); err != nil {
		return nil, fmt.Errorf("decode the image of a tenant: %w", err)
	}
	if i.Format != imageFormat {
		return nil, fmt.Errorf("the image of a tenant has format %d", i.Format)
	}
	s := &State{
		vaults:  fromImage(i.Vaults, func(e *Entry) *uint64 { return &e.Changed }),
		tokens:  fromImage(i.Tokens, func(t *Token) *uint64 { return &t.Changed }),
		members: fromImage(i.Members, func(m *Member) *uint64 { return &m.Changed }),
		issuers: fromImage(i.Issuers, func(i *Issuer) *uint64 { return &i.Changed }),
	}
	s.ended = endTimes(s.tokens)
	return s, nil
}

// toImage returns entries in the form of an image.
func toImage[T any](all map[string]T, changed func(*T) *uint64) map[string]imageEntry[T] {
	kept := make(map[string]imageEntry[T], len(all))
	for id, entry := range all {
		kept[id] = imageEntry[T]{*changed(&entry), entry}
	}
	return kept
}

// fromImage returns the entries of an image. It is the inverse of toImage.
func fromImage[T any](kept map[string]imageEntry[T], changed func(*T) *uint64) map[string]T {
	all := make(map[string]T, len(kept))
	for id, k := range kept {
		*changed(&k.Entry) = k.Changed
		all[id] = k.Entry
	}
	return all
}
