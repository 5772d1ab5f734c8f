package tenant

import (
	"encoding/json"
	"fmt"
	"github.com/rookeryhq/rookery/internal/eventlog"
)

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
func encodeImage(s *State) eventlog.Drawing {
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
	return eventlog.Drawn(text)
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
