package search

import "bytes"

// commonBytes are the bytes that are frequent in texts, the most frequent first: letters in the
// order of their frequency in European languages, after the first bytes of the letters of most
// scripts.
const commonBytes = " \xd0\xd1\xc3\xce\xcf\xe4\xe5\xe6\xe7\xe8\xe9\xe3\xe1eainrtosldcumpghbvfkwzyxjq"

// rarity contains the position of each byte in commonBytes, from 1; other bytes are the rarest.
var rarity = newRarity()

// newRarity computes rarity.
func newRarity() (all [256]uint8) {
	for i := range all {
		all[i] = uint8(len(commonBytes) + 1)
	}
	for i := range len(commonBytes) {
		all[commonBytes[i]] = uint8(i + 1)
	}
	return all
}

// A needle is a sequence of bytes that is searched for in texts by the byte of it that is probably
// the rarest in them. So most of a text is skipped with a vectorized search for one byte.
type needle struct {
	text []byte
	rare int // offset of that byte
}

// newNeedle returns a needle for a text, which must not be empty.
func newNeedle(text []byte) needle {
	n := needle{text: text}
	for i, c := range text {
		if rarity[c] > rarity[text[n.rare]] {
			n.rare = i
		}
	}
	return n
}

// patience is the number of occurrences of the rare byte outside of the needle after which the byte
// must be rarer than one in patience bytes, for the search by it to be faster than that of bytes.Index.
const patience = 16

// index returns the offset of the first occurrence in a text from an offset on; -1 if there is none.
func (n needle) index(text []byte, from int) int {
	misses := 0
	for at := from; at+len(n.text) <= len(text); at++ {
		i := bytes.IndexByte(text[at+n.rare:len(text)-len(n.text)+n.rare+1], n.text[n.rare])
		if i < 0 {
			return -1
		}
		at += i
		if bytes.Equal(text[at:at+len(n.text)], n.text) {
			return at
		}
		if misses++; misses > patience && misses*patience > at-from {
			if i = bytes.Index(text[at+1:], n.text); i < 0 {
				return -1
			}
			return at + 1 + i
		}
	}
	return -1
}
