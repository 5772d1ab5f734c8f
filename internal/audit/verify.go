package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rookeryhq/rookery/internal/blob"
)

// Verify reads all archives and returns the number of their entries. It returns INDEX_ERROR if an
// archive is missing, altered or not in the chain, if the items in the table do not match, or if
// there are archives without a head. The entries of the last minutes, which are not archived yet,
// are not protected by the chain. It may run while other processes archive: archives that are added
// meanwhile are no error.
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
	return c.entries, c.checkUnlinked(ctx)
}

// spans returns the items of all archives by their sort keys.
func (r Refusals) spans(ctx context.Context) (map[string]archiveSpan, error) {
	all := map[string]archiveSpan{}
	for it, err := range r.table.Query(ctx, partArchives, "", headKey) {
		if err != nil {
			return nil, unread(err)
		}
		var s archiveSpan
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

// A chain is the state of verifying the archives in order.
type chain struct {
	log     Refusals
	head    head
	spans   map[string]archiveSpan
	most    uint64 // highest archive number in the table
	links   []link // of the archives read so far
	entries int
}

// A link is the hash of an archive, and the hash that it contains for the archive before.
type link struct{ hash, prev []byte }

// walk reads the archives from the first to the last existing one. After the head there may be one
// that was just written. It compares the hashes when it has reached the end, or when an archive
// cannot be read.
func (c *chain) walk(ctx context.Context) error {
	for {
		n := uint64(len(c.links)) + 1
		a, hash, err := c.log.archive(ctx, n)
		if err == nil {
			err = c.addArchive(a)
		}
		if errors.Is(err, blob.ErrNotExist) && n > c.head.N {
			return c.linked()
		}
		if err != nil {
			return cmp.Or(c.linked(), err) // report an earlier alteration first
		}
		c.links = append(c.links, link{hash, a.Prev})
	}
}

// linked returns a fault for the first archive whose hash differs from that in the next archive or
// in the head. Without a fault, every archive up to the head is the one that was written.
func (c *chain) linked() error {
	var before []byte // there is none before the first
	for i, l := range c.links {
		n := uint64(i) + 1
		switch {
		case n == 1 && len(l.prev) > 0, n == c.head.N+1 && !bytes.Equal(l.prev, before):
			return chainError(n, errors.New("it does not name the hash of the one before"))
		case n == c.head.N && !bytes.Equal(l.hash, c.head.Hash):
			return chainError(n, errors.New("its hash is not that of the head"))
		case n != c.head.N && i+1 < len(c.links) && !bytes.Equal(l.hash, c.links[i+1].prev):
			return chainError(n, errors.New("its hash is not the one that its successor names"))
		}
		before = l.hash
	}
	return nil
}

// addArchive counts the entries of an archive. It returns a fault if they do not match the archive's
// item, or are not sorted entries of one day. An archive after the head need not have an item yet,
// and is not counted then.
func (c *chain) addArchive(a archive) error {
	first, last := a.Entries[0].Key, a.Entries[len(a.Entries)-1].Key
	if !slices.IsSortedFunc(a.Entries, byKey) || dayOf(first) != dayOf(last) {
		return chainError(a.N, errors.New("its entries are not those of one day, oldest first"))
	}
	there, known := c.spans[a.spanKey().Sort]
	if known && there != a.span() || !known && a.N <= c.head.N {
		return chainError(a.N, errors.New("the table says that it has other entries"))
	}
	if known {
		c.entries += len(a.Entries)
	}
	delete(c.spans, a.spanKey().Sort)
	return nil
}

// checkUnlinked returns a fault if there are items or objects outside the chain. One archive after the
// current head is allowed.
func (c *chain) checkUnlinked(ctx context.Context) error {
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
		_, _ = fmt.Sscanf(o.Key, archivePrefix+"%d.jsonl", &n) // 0 for another name
		if n == 0 || archiveKey(n) != o.Key || n > h.N+1 {
			return broken("there is an object next to the archives that is not in the chain", nil)
		}
	}
	return nil
}
