package raven

import (
	"regexp"
	"strings"
)

var (
	listMarker = regexp.MustCompile(`^\s*([-*+]|\d{1,9}[.)])(\s|$)`)
	codeFence  = regexp.MustCompile("^(`{3,}|~{3,})")
)

// items are the items of a list that a text is written as: one for each line that does not continue the
// item before. A line continues it if it is indented, if it is in a fenced block of code, or if it is blank
// and such a line follows. What all lines are indented by is no indentation.
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

// dedent takes from all lines the indentation that they have in common.
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

// asItem is an item as it is written: a marker before it, unless it has one, then the time if there is
// one, and the further lines indented so far that they belong to the item.
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

// indentation is how many columns all lines are indented by at least.
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
