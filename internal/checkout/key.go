package checkout

import (
	"maps"
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// key returns the name in the folder of a file of the vault. The vault composes characters (NFC),
// and a folder may have them decomposed, so the two can differ for names that are not ASCII. A new
// file is put into the existing folder, whatever its spelling. The caller holds mu.
func (c *Checkout) key(path string) string {
	if key, ok := c.pending.keys[path]; ok {
		return key
	}
	for up := parent(path); up != "" && len(c.pending.keys) > 0; up = parent(up) {
		if key, ok := c.pending.keys[up]; ok {
			return key + path[len(up):]
		}
	}
	return path
}

// recordSpelling records the spelling in the folder of a file, and of the folders that contain it.
// A file whose spelling is that of the vault is recorded too, if the characters could be
// decomposed, because there may be a folder that differs only in that. The caller holds mu.
func (c *Checkout) recordSpelling(path, key string) {
	if isASCII(path) {
		return
	}
	c.pending.keys[path] = key
	for p, k := parent(path), parent(key); p != ""; p, k = parent(p), parent(k) {
		if p == k {
			delete(c.pending.keys, p)
		} else {
			c.pending.keys[p] = k
		}
	}
}

// forget drops the spellings and the sights of files that the folder does not have any more.
func (s *sweep) forget() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	o := &s.c.pending
	maps.DeleteFunc(o.keys, func(path, _ string) bool {
		return !strings.HasSuffix(path, "/") && s.gone(path)
	})
	maps.DeleteFunc(o.seen, func(path string, _ sight) bool { return s.gone(path) })
}

// isASCII reports whether a path has only ASCII characters, so that it has one spelling but for
// case.
func isASCII(path string) bool {
	return strings.IndexFunc(path, func(r rune) bool { return r >= 0x80 }) < 0
}

// parent returns the folder of a file or folder, with a slash at its end; "" for a path in the
// root.
func parent(path string) string { return vault.Path(strings.TrimSuffix(path, "/")).Dir() }
