package vault

import (
	"crypto/sha256"
	"encoding/hex"
)

// traitText is how many characters of a trait's text its id depends on.
const traitText = 50

// TraitText is the part of a trait's text that makes its identity: the first 50 characters.
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

// TraitID is the id of a trait before anything is done about others with the same one: its type and
// the first eight hex digits of a hash of its parent's id, its type and its text
// (reference/raven.md §6.4).
func TraitID(parent, trait, text string) string {
	sum := sha256.Sum256([]byte(parent + ":" + trait + ":" + TraitText(text)))
	return trait + "-" + hex.EncodeToString(sum[:4])
}
