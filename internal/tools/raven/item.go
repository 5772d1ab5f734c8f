package raven

import (
	"regexp"
	"strings"
)

var (
	listMarker = regexp.MustCompile(`^\s*([-*+]|\d{1,9}[.)])(\s|$)`)
	codeFence  = regexp.MustCompile("^(`{3,}|~{3,})")
)

// items returns the list items of a text, each as its lines. A line starts a new item unless it is
// indented, in a fenced code block, or blank with such a line after it. Indentation that all lines
// have in common is removed first.
//
// Lines of an item are joined with the blank lines between them; blank lines between items are
// dropped. A code block ends at a line with at least the marks that it began with.
func items(text string) [][]string {
	var all [][]string
	fence, blank := "", 0
	for line := range strings.SplitSeq(dedent(text), "\n") {
		if strings.TrimSpace(line) == "" {
			blank++
			continue
		}
		mark := codeFence.FindString(line)
		inside := fence != "" || mark != "" || line[0] == ' ' || line[0] == '\t'
		switch {
		case fence == "":
			fence = mark
		case strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]+" \t") == "":
			fence = ""
		}
		if !inside || len(all) == 0 {
			all, blank = append(all, nil), 0
		}
		last := len(all) - 1
		for ; blank > 0; blank-- {
			all[last] = append(all[last], "")
		}
		all[last] = append(all[last], line)
	}
	return all
}

// dedent removes the indentation that all lines have in common.
func dedent(text string) string {
	lines := strings.Split(text, "\n")
	margin, first := "", true
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		own := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if first {
			margin, first = own, false
		}
		for !strings.HasPrefix(own, margin) {
			margin = margin[:len(margin)-1]
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, margin)
	}
	return strings.Join(lines, "\n")
}

// asItem returns an item as it is written: with a list marker, unless it has one, then the time if
// it is not empty. The other lines are indented so that they belong to the item.
//
// An existing marker is kept, so a numbered list stays numbered, unless a time is added: then it
// becomes a dash.
func asItem(item []string, time string) string {
	first := strings.TrimLeft(item[0], " \t")
	switch {
	case time != "":
		first = "- " + time + " " + listMarker.ReplaceAllString(first, "")
	case !listMarker.MatchString(first):
		first = "- " + first
	}
	marker := listMarker.FindString(first)
	more := max(0, len(strings.TrimRight(marker, " \t"))+1-indentation(item[1:]))
	lines := []string{first}
	for _, line := range item[1:] {
		if line != "" {
			line = strings.Repeat(" ", more) + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// indentation returns the smallest indentation of the lines in columns, with tab stops every four
// columns. It ignores empty lines.
func indentation(lines []string) int {
	least := -1
	for _, line := range lines {
		n := 0
	columns:
		for _, c := range line {
			switch c {
			case ' ':
				n++
			case '\t':
				n += 4 - n%4
			default:
				break columns
			}
		}
		if line != "" && (least < 0 || n < least) {
			least = n
		}
	}
	return max(least, 0)
}
