package markdown

// Enter waits until a note of a length may be parsed.
var Enter = enter
