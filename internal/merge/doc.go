// Package merge joins what two sides made of one note: theirs, which somebody wrote with an editor or
// synced from elsewhere, and ours, which the log has. The rule is reference/log.md §5, and what it is
// for is that nobody's edit is lost, nobody's is there twice, and every byte that nobody edited stays.
//
// Texts is the merge. It knows the text from which both began, the base, and what it cannot join is
// an overlap: the merged text has ours there, and the caller keeps theirs whole beside it. So an
// overlap loses nothing either, and where the merge has to guess, it calls it one. A Measure finds the
// base among the earlier texts of the note: the nearest.
//
// # What merges how
//
// Line breaks, the byte order mark and a line break at the end are properties of a text, and merge
// apart from the lines: an editor that writes other line breaks has not changed every line. Where a
// text mixes line breaks, lines are compared with theirs.
//
// Frontmatter merges key by key, a key being its lines, to the byte. A key that one side only wrote in
// another way, as editors do that write all of them anew, has not changed. Where a frontmatter does
// not parse, or what comes out would not read as the keys that went in, the whole note merges by line.
//
// The rest merges by line. Three things are other than in most merges, as a note is no program:
//
//   - A blank line is no line of its own, but belongs to the line below it. Blank lines are equal to
//     all others, so they match where nothing else does, and make two copies of one paragraph out of
//     an edit that both sides have. Of what two sides did to the blank lines above a line, ours stays.
//   - What both insert at one place is no overlap, for lists and logs grow at their ends. Ours comes
//     first, and what both have stands once. Items of one list have no blank line between them
//     unless the list has; other pieces are parted as their writers parted them. Blocks of code are
//     never mixed.
//   - Lines that are replaced by as many are changes of line after line, so that two people can tick
//     neighbouring items of a list.
//
// A merge of hunks does not see that a line was moved: it could drop one that one side moved to where
// the other has something else, or keep two of one that both moved. So the lines are counted at the
// end, and hunks of theirs that make a count wrong are left out, which is an overlap.
//
// # What holds
//
// If one side changed nothing, or both did the same, the result is the other's text to the byte. A
// line of ours is in the result unless theirs removed it. A line that theirs added is in the result,
// or it is an overlap. A line that stands once in the base and at most once in either text does not
// stand twice; one that is new in both may, for it was written in two places. If nothing overlaps and
// nothing was moved or is there twice, merging theirs again with the result changes no line of it.
//
// The package is pure, never fails, and takes about linear time: the search for matching lines is
// bounded, so that of texts which have almost nothing in common some lines may count as changed that
// need not.
package merge
