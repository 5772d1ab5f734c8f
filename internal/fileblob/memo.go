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
	// mostTags is the number of cached tags.
	mostTags = 4096

	// atRest is the minimum age of a file's last change for its tag to be cached: a second change
	// within the same tick of the file system's clock would not be visible in the modification
	// time.
	atRest = 2 * time.Second
)

// A memo caches the tags of files of which a part was read. A tag is a digest of the whole file, so
// without the cache reading a part would cost as much as reading the whole segment. Large objects
// that are read in parts, such as segments, never change, so a cached tag stays valid. It is safe
// for concurrent use.
type memo struct {
	mu  sync.Mutex
	lru *simplelru.LRU[string, knownTag]
}

// A knownTag is the tag that a file had when it had this metadata.
type knownTag struct {
	info fs.FileInfo
	tag  blob.Tag
}

// newMemo returns an empty cache.
func newMemo() *memo {
	lru, err := simplelru.NewLRU[string, knownTag](mostTags, nil)
	if err != nil {
		panic(err) // cannot happen: the size is positive
	}
	return &memo{lru: lru}
}

// find returns the tag of a file if it is cached and the file has not changed since: it is the same
// file, with the same size and modification time.
func (m *memo) find(key string, now fs.FileInfo) (blob.Tag, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.lru.Get(key)
	same := ok && os.SameFile(known.info, now) && known.info.Size() == now.Size() &&
		known.info.ModTime().Equal(now.ModTime())
	return known.tag, same
}

// learn caches the tag of a file that was not modified within atRest.
func (m *memo) learn(key string, c content) {
	if time.Since(c.info.ModTime()) < atRest {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lru.Add(key, knownTag{c.info, c.tag})
}
