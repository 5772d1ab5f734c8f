package checkout

import (
	"maps"
	"strings"

	"rookery/internal/vault"
)

// key is the name that a file of the vault has, or is to have, in the folder. A new file goes into the
// folder that is there, however that is spelled. The caller holds mu.
func (c *Checkout) key(path string) string {
	if key, ok := c.outside.keys[path]; ok {
		return key
	}
	for up := parent(path); up != "" && len(c.outside.keys) > 0; up = parent(up) {
		if key, ok := c.outside.keys[up]; ok {
			return key + path[len(up):]
		}
	}
	return path
}

// spell notes how the folder spells a file, and the folders that it is in. What is spelled as the vault
// does is noted too where the characters could be decomposed: there may be a folder beside it that
// differs by no more than that. The caller holds mu.
func (c *Checkout) spell(path, key string) {
	if isASCII(path) {
		return
	}
	c.outside.keys[path] = key
	for p, k := parent(path), parent(key); p != ""; p, k = parent(p), parent(k) {
		if p == k {
			delete(c.outside.keys, p)
		} else {
			c.outside.keys[p] = k
		}
	}
}

// forget forgets how files were spelled, and what they had, that the folder does not have any more.
func (s *sweep) forget() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	o := &s.c.outside
	maps.DeleteFunc(o.keys, func(path, _ string) bool {
		return !strings.HasSuffix(path, "/") && s.gone(path)
	})
	maps.DeleteFunc(o.seen, func(path string, _ sight) bool { return s.gone(path) })
}

func isASCII(path string) bool {
	return strings.IndexFunc(path, func(r rune) bool { return r >= 0x80 }) < 0
}

// parent is the folder of a file or folder, with a slash at its end.
func parent(path string) string { return vault.Path(strings.TrimSuffix(path, "/")).Dir() }
