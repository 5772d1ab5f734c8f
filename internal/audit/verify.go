package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"rookery/internal/blob"
)

// Verify reads all archives, and says how many entries they have. It is INDEX_ERROR where one is missing,
// altered, or none of the chain, where an archive is not where the table says, and where there are
// archives and no head that names them. Entries of the last minutes, which are not archived yet, stand
// in no chain.
func (r Refusals) Verify(ctx context.Context) (entries int, err error) {
	h, _, err := r.readHead(ctx)
	if err != nil {
		return 0, err
	}
	spans, err := r.spans(ctx)
	if err != nil {
		return 0, err
	}
	c := chain{log: r, head: h, spans: spans, most: h.N}
	for _, s := range spans {
		c.most = max(c.most, s.N)
	}
	if err := c.walk(ctx); err != nil {
		return 0, err
	}
	return c.entries, c.strangers(ctx)
}

// spans are the items of all archives, by their keys.
func (r Refusals) spans(ctx context.Context) (map[string]span, error) {
	all := map[string]span{}
	for it, err := range r.table.Query(ctx, partArchives, "", headKey) {
		if err != nil {
			return nil, unread(err)
		}
		var s span
		if it.Sort == headKey {
			continue
		}
		if err := json.Unmarshal(it.Data, &s); err != nil {
			return nil, broken("the item of an archive cannot be read", err)
		}
		all[it.Sort] = s
	}
	return all, nil
}

// A chain is the archives as they are read one after the other.
type chain struct {
	log     Refusals
	head    head
	spans   map[string]span
	most    uint64 // the last one that the table names
	links   []link // of those that were read, the first one first
	entries int
}

// A link is the hash of an archive, and that of the one before as the archive names it.
type link struct{ hash, prev []byte }

// walk reads the archives from the first to the last that is there. Behind the head there may be
// one that was put just now.
func (c *chain) walk(ctx context.Context) error {
	for {
		n := uint64(len(c.links)) + 1
		a, hash, err := c.log.archive(ctx, n)
		if err == nil {
			err = c.take(a)
		}
		if errors.Is(err, blob.ErrNotExist) && n > c.head.N {
			return c.linked()
		}
		if err != nil {
			return cmp.Or(c.linked(), err) // what was altered before comes first
		}
		c.links = append(c.links, link{hash, a.Prev})
	}
}

// linked is a fault of the first archive that is not what the one behind it, or the head, says of it.
func (c *chain) linked() error {
	var before []byte // the first has none before it
	for i, l := range c.links {
		n := uint64(i) + 1
		switch {
		case n == 1 && len(l.prev) > 0, n == c.head.N+1 && !bytes.Equal(l.prev, before):
			return offChain(n, errors.New("it does not name the hash of the one before"))
		case n == c.head.N && !bytes.Equal(l.hash, c.head.Hash):
			return offChain(n, errors.New("its hash is not that of the head"))
		case n != c.head.N && i+1 < len(c.links) && !bytes.Equal(l.hash, c.links[i+1].prev):
			return offChain(n, errors.New("its hash is not what the one behind it names"))
		}
		before = l.hash
	}
	return nil
}

// take counts the entries of an archive. It is a fault if they are not what they should be.
func (c *chain) take(a archive) error {
	first, last := a.Entries[0].Key, a.Entries[len(a.Entries)-1].Key
	if !slices.IsSortedFunc(a.Entries, byKey) || dayOf(first) != dayOf(last) {
		return offChain(a.N, errors.New("its entries are not those of one day, oldest first"))
	}
	there, known := c.spans[a.spanKey().Sort]
	if known && there != a.span() || !known && a.N <= c.head.N {
		return offChain(a.N, errors.New("the table says that it has other entries"))
	}
	if known {
		c.entries += len(a.Entries)
	}
	delete(c.spans, a.spanKey().Sort)
	return nil
}

// strangers is a fault if there is more than the chain: behind the head as it is now at most one archive,
// and no item or object of another.
func (c *chain) strangers(ctx context.Context) error {
	h, _, err := c.log.readHead(ctx)
	if err != nil {
		return err
	}
	if c.most > h.N || uint64(len(c.links)) > h.N+1 {
		return broken("its head is missing, or an older one", nil)
	}
	if len(c.spans) > 0 {
		return broken("the table names an archive that is not there", nil)
	}
	for o, err := range c.log.bucket.List(ctx, archivePrefix) {
		if err != nil {
			return unread(err)
		}
		var n uint64
		_, _ = fmt.Sscanf(o.Key, archivePrefix+"%d.jsonl", &n) // what it is not has no number
		if n == 0 || archiveKey(n) != o.Key || n > h.N+1 {
			return broken("there is an object next to the archives that is not in the chain", nil)
		}
	}
	return nil
}
