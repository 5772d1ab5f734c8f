package clitool

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rookery/internal/tool"
)

// add adds the answer of one more call: numbers are summed, lists joined, and of anything else the
// last one counts.
func (ans *answer) add(more *answer) {
	ans.data = sum(ans.data, more.data)
	ans.meta = sum(ans.meta, more.meta)
	ans.warn(more.warnings)
}

// warn adds warnings, up to the most that an answer has (CONTRACT §1).
func (ans *answer) warn(more []tool.Warning) {
	const most = 100
	ans.warnings = slices.Concat(ans.warnings, more)
	if len(ans.warnings) > most {
		ans.warnings = append(ans.warnings[:most-1], tool.Warning{
			Code:    "WARNINGS_TRUNCATED",
			Message: fmt.Sprintf("only the first %d warnings are listed", most-1),
		})
	}
}

// sum is b added to a. What is not in b stays, and what is of another kind in b is replaced.
func sum(a, b value) value {
	switch {
	case b.kind == nullKind:
		return a
	case a.kind != b.kind:
		return b
	case b.kind == numberKind:
		return sumNumbers(a, b)
	case b.kind == listKind:
		return value{kind: listKind, items: slices.Concat(a.items, b.items)}
	case b.kind == objectKind:
		all := value{kind: objectKind, members: slices.Clone(a.members)}
		for _, m := range b.members {
			all.set(m.name, sum(a.get(m.name), m.value))
		}
		return all
	}
	return b
}

// joined is a page of an answer added to those before: lists are joined, and of anything else the last page
// counts.
func joined(before, page value) value {
	if page.kind != objectKind {
		return page
	}
	all := value{kind: objectKind, members: slices.Clone(page.members)}
	for i, m := range all.members {
		if was := before.get(m.name); m.kind == listKind && was.kind == listKind {
			all.members[i].value = value{kind: listKind, items: slices.Concat(was.items, m.items)}
		}
	}
	return all
}

// sumNumbers is exact for whole numbers of 64 bits.
func sumNumbers(a, b value) value {
	x, errX := strconv.ParseInt(a.text, 10, 64)
	y, errY := strconv.ParseInt(b.text, 10, 64)
	if errX == nil && errY == nil {
		return value{kind: numberKind, text: strconv.FormatInt(x+y, 10)}
	}
	f, errF := strconv.ParseFloat(a.text, 64)
	g, errG := strconv.ParseFloat(b.text, 64)
	if errF != nil || errG != nil {
		return b
	}
	return value{kind: numberKind, text: strconv.FormatFloat(f+g, 'g', -1, 64)}
}

// ofFiles is the data of an answer about files, for people. Where a document fixes the data, what there is to say
// beside it is in the meta.
func (ans *answer) ofFiles(family *tool.Family) value {
	data := ans.data
	if family == nil || !family.Terse {
		return data
	}
	data = value{kind: objectKind, members: slices.Clone(data.members)}
	data.remove("count") // there is the list
	for _, name := range []string{"skipped", "left_out"} {
		if v, ok := ans.meta.member(name); ok {
			data.set(name, v.value)
		}
	}
	return data
}

// summary prints on one line what came of files that went in or out, and on Err what was left out.
func (p *printer) summary(data value) {
	left := data.get("left_out")
	data.remove("left_out")
	var parts []string
	for _, m := range data.members {
		switch {
		case m.kind == listKind:
			parts = append(parts, fmt.Sprintf("%d %s", len(m.items), words(m.name)))
		case m.kind == numberKind:
			parts = append(parts, m.text+" "+words(m.name))
		case m.kind == boolKind && m.text == "true":
			parts = append(parts, words(m.name))
		case m.kind == textKind:
			parts = append(parts, words(m.name)+" "+m.text)
		}
	}
	if len(parts) > 0 {
		p.printf("%s\n", strings.Join(parts, ", "))
	}
	p.leftOut(left.items)
}

// words are the name of a member as people write it.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// leftOut names what was left out, the first of each reason, and counts the rest.
func (p *printer) leftOut(items []value) {
	const most = 20
	byReason := map[string][]string{}
	for _, item := range items {
		reason := item.get("reason").text
		byReason[reason] = append(byReason[reason], item.get("path").text)
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		names := byReason[reason]
		line := strings.Join(names[:min(most, len(names))], ", ")
		if n := len(names) - most; n > 0 {
			line += fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(p.err, "skipped (%s): %s\n", reason, harmless(line))
	}
}
