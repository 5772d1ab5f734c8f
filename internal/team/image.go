package team

import (
	"encoding/json"
	"fmt"

	"github.com/rookeryhq/rookery/internal/repo"
)

// imageFormat is the version of a tenant's image. It must be raised for each new kind of record,
// and each new field of State that is not derived from others: an older image lacks them, and a
// release that started from it would never see them.
const imageFormat = 1

// An image is a State as it is stored, in JSON, so that a start reads it and only the commits after
// it. It omits fields of State that are derived from others.
type image struct {
	Format  int                   `json:"format"`
	Vaults  map[string]at[Entry]  `json:"vaults,omitempty"`
	Tokens  map[string]at[Token]  `json:"tokens,omitempty"`
	Members map[string]at[Member] `json:"members,omitempty"`
	Issuers map[string]at[Issuer] `json:"issuers,omitempty"`
}

// An at is an entry of a State with the commit that last changed it, which is not part of the JSON
// of the entry itself.
type at[T any] struct {
	Changed uint64 `json:"changed"`
	Entry   T      `json:"entry"`
}

// imaging returns the functions that encode and decode images of tenants. There is one version of
// the format: a release that cannot read an image replays the log.
func imaging() *repo.Imaging[*State] {
	return &repo.Imaging[*State]{Draw: drawImage, Read: readImage}
}

// drawImage returns the image of a state. Its size is that of the entries, which the limits of a
// tenant bound; map keys are sorted in JSON, so equal states have equal images.
func drawImage(s *State) repo.Drawing {
	text, err := json.Marshal(image{
		Format:  imageFormat,
		Vaults:  stored(s.vaults, func(e *Entry) *uint64 { return &e.Changed }),
		Tokens:  stored(s.tokens, func(t *Token) *uint64 { return &t.Changed }),
		Members: stored(s.members, func(m *Member) *uint64 { return &m.Changed }),
		Issuers: stored(s.issuers, func(i *Issuer) *uint64 { return &i.Changed }),
	})
	if err != nil {
		panic(err) // cannot happen: the entries were decoded from JSON
	}
	return repo.Drawn(text)
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
		vaults:  loaded(i.Vaults, func(e *Entry) *uint64 { return &e.Changed }),
		tokens:  loaded(i.Tokens, func(t *Token) *uint64 { return &t.Changed }),
		members: loaded(i.Members, func(m *Member) *uint64 { return &m.Changed }),
		issuers: loaded(i.Issuers, func(i *Issuer) *uint64 { return &i.Changed }),
	}
	s.ended = endings(s.tokens)
	return s, nil
}

// stored returns entries in the form of an image.
func stored[T any](all map[string]T, changed func(*T) *uint64) map[string]at[T] {
	kept := make(map[string]at[T], len(all))
	for id, entry := range all {
		kept[id] = at[T]{*changed(&entry), entry}
	}
	return kept
}

// loaded returns the entries of an image. It is the inverse of stored.
func loaded[T any](kept map[string]at[T], changed func(*T) *uint64) map[string]T {
	all := make(map[string]T, len(kept))
	for id, k := range kept {
		*changed(&k.Entry) = k.Changed
		all[id] = k.Entry
	}
	return all
}
