// Package merge merges two versions of one note: theirs, which was written with an editor or synced
// from elsewhere, and ours, which is in the log. The rule is reference/log.md §5. Its goals: no
// edit is lost, none is applied twice, and every byte that was not edited stays.
//
// Texts is the merge. It gets the text from which both versions began, the base. A part that it
// cannot merge is an overlap: the merged text has ours there, and the caller keeps theirs in a
// separate file. So an overlap loses nothing either, and if the merge would have to guess, it
// reports an overlap. A Measure finds the base among the earlier texts of the note: the nearest
// one.
//
// # What is merged how
//
// Line breaks, the byte order mark and a line break at the end are properties of a text, and are
// merged separately from the lines: an editor that writes other line breaks has not changed every
// line. If a text mixes line breaks, lines are compared with theirs.
//
// Frontmatter is merged key by key. A key is the bytes of its lines. If one side only wrote a key
// in another notation, as editors do that rewrite all of them, the key is unchanged. If a
// frontmatter does not parse, or if the result would not parse to the merged keys, the whole note
// is merged by line.
//
// The rest is merged by line. It differs from most merges in three ways, because a note is not a
// program:
//
//   - A blank line is not a line of its own, but belongs to the line below it. Blank lines are
//     equal to each other, so they would match where nothing else does, and turn an edit that both
//     sides have into two copies of a paragraph. If both sides changed the blank lines above a
//     line, ours stay.
//   - Insertions of both sides at one place are not an overlap, because lists and logs grow at
//     their ends. Ours come first, and lines that both have occur once. There are no blank lines
//     between items of a list unless the list has some; between other parts, those of their authors
//     stay. Code blocks are never mixed.
//   - Lines that are replaced by as many lines are changes of single lines, so that two people can
//     tick neighbouring items of a list.
//
// A merge of hunks does not detect moved lines: it could drop a line that one side moved to a place
// that the other changed, or keep two copies of a line that both moved. So the lines are counted at
// the end, and hunks of theirs that make a count wrong are left out, which is an overlap.
//
// # Guarantees
//
// If one side changed nothing, or if both made the same change, the result is exactly the other's
// text. A line of ours is in the result unless theirs removed it. A line that theirs added is in
// the result, or it is an overlap. A line that occurs once in the base and at most once in either
// version does not occur twice in the result; a line that is new in both may, because it was
// written in two places. If nothing overlaps and no line was moved or occurs twice, merging theirs
// again with the result changes no line of it.
//
// The package is pure, never fails, and takes about linear time: the search for matching lines is
// bounded, so in texts with almost nothing in common, some lines may count as changed without need.
package merge
