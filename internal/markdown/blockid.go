package markdown

import "bytes"

// A Block is a paragraph or a list item with an id: `^id` at the end of its last line, or on a line
// of its own. References to it are written `[[note#^id]]`.
type Block struct {
	ID   string // without ^
	Line int    // of the file
}

// blockID records the block id at the end of a line, if there is one: a ^ at the start of the line
// or after a blank, followed by ASCII letters, digits and dashes only. line is without its line
// break; number is its line of the file.
func (b *bodyReader) blockID(line []byte, number int) {
	line = bytes.TrimRight(line, " \t")
	at := bytes.LastIndexByte(line, '^')
	if at < 0 || at+1 == len(line) || at > 0 && line[at-1] != ' ' && line[at-1] != '\t' {
		return
	}
	id := line[at+1:]
	for _, c := range id {
		if !isLetter(c) && !isDigit(c) && c != '-' {
			return
		}
	}
	b.doc.Blocks = append(b.doc.Blocks, Block{string(id), number})
}
