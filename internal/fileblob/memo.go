package fileblob

import (
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"rookery/internal/blob"
)

const (
	// mostTags is how many tags are remembered.
	mostTags = 4096

	// atRest is how long a file must not have changed for its tag to be remembered: a change within the
	// same tick of the file system's clock would not show in its time.
	atRest = 2 * time.Second
)

// A memo remembers the tags of files of which a part was read. A tag is a digest of the whole file, so
// without it every part costs as much as all of a segment.
type memo struct {
	mu  sync.Mutex
	lru *simplelru.LRU[string, knownTag]
}

// A knownTag is the tag that a file had when it looked like this.
type knownTag struct {
	info fs.FileInfo
	tag  blob.Tag
}

func newMemo() *memo {
	lru, err := simplelru.NewLRU[string, knownTag](mostTags, nil)
	if err != nil {
		panic(err) // never: the size is positive
	}
	return &memo{lru: lru}
}

// find is the tag of a file, if it is known and the file has not changed since.
func (m *memo) find(key string, now fs.FileInfo) (blob.Tag, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.lru.Get(key)
	same := ok && os.SameFile(known.info, now) && known.info.Size() == now.Size() &&
		known.info.ModTime().Equal(now.ModTime())
	return known.tag, same
}

// learn remembers the tag of a file that has been at rest.
func (m *memo) learn(key string, c content) {
	if time.Since(c.info.ModTime()) < atRest {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lru.Add(key, knownTag{c.info, c.tag})
}
