package vault

import (
	"crypto/sha256"
	"encoding/hex"
)

// traitText is the number of leading characters of a trait's text that determine its id.
const traitText = 50

// TraitText returns the part of a trait's text that determines its identity: the first 50
// characters.
func TraitText(text string) string {
	n := 0
	for i := range text {
		if n == traitText {
			return text[:i]
		}
		n++
	}
	return text
}

// TraitID returns the id of a trait, before duplicates are numbered: its type, a dash, and the
// first eight hex digits of the SHA-256 of its parent's id, its type and its TraitText
// (reference/raven.md §6.4).
func TraitID(parent, trait, text string) string {
	sum := sha256.Sum256([]byte(parent + ":" + trait + ":" + TraitText(text)))
	return trait + "-" + hex.EncodeToString(sum[:4])
}
