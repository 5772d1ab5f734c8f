package vault

import (
	"crypto/sha256"
	"encoding/hex"
)

// traitText is the number of leading characters of a trait's text that determine its id.
const traitText = 50

// TraitText returns the part of a trait's text that determines its identity: the first 50
// characters. A correction after them does not change the id.
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
// (reference/raven.md §6.4). parent is the id of the note or the section that contains it. Edits of
// the text keep the id of the trait as far as package index finds it again, so an id may differ
// from what TraitID returns for the present text.
func TraitID(parent, trait, text string) string {
	sum := sha256.Sum256([]byte(parent + ":" + trait + ":" + TraitText(text)))
	return trait + "-" + hex.EncodeToString(sum[:4])
}
