package fileblob

import (
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/rookeryhq/rookery/internal/blob"
)

const (
	// maxTags is the number of cached tags.
	maxTags = 4096

	// minTagAge is the minimum age of a file's last change for its tag to be cached: a second change
	// within the same tick of the file system's clock would not be visible in the modification
	// time.
	minTagAge = 2 * time.Second
)

// A tagCache caches the tags of files of which a part was read. A tag is a digest of the whole file, so
// without the cache reading a part would cost as much as reading the whole segment. Large objects
// that are read in parts, such as segments, never change, so a cached tag stays valid. It is safe
// for concurrent use.
type tagCache struct {
	mu  sync.Mutex
	lru *simplelru.LRU[string, knownTag]
}

// A knownTag is the tag that a file had when it had this metadata.
type knownTag struct {
	info fs.FileInfo
	tag  blob.Tag
}

// newTagCache returns an empty cache.
func newTagCache() *tagCache {
	lru, err := simplelru.NewLRU[string, knownTag](maxTags, nil)
	if err != nil {
		panic(err) // cannot happen: the size is positive
	}
	return &tagCache{lru: lru}
}

// find returns the tag of a file if it is cached and the file has not changed since: it is the same
// file, with the same size and modification time.
func (m *tagCache) find(key string, now fs.FileInfo) (blob.Tag, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.lru.Get(key)
	same := ok && os.SameFile(known.info, now) && known.info.Size() == now.Size() &&
		known.info.ModTime().Equal(now.ModTime())
	return known.tag, same
}

// add caches the tag of a file that was not modified within minTagAge.
func (m *tagCache) add(key string, c content) {
	if time.Since(c.info.ModTime()) < minTagAge {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lru.Add(key, knownTag{c.info, c.tag})
}
