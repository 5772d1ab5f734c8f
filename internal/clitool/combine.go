package clitool

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/tool"
)

// add adds the answer of another call: numbers are summed, lists are joined, and for everything
// else the last value counts. The sum of an import is the answer that one large call would have
// had.
func (ans *answer) add(more *answer) {
	ans.data = sum(ans.data, more.data)
	ans.meta = sum(ans.meta, more.meta)
	ans.warn(more.warnings)
}

// warn adds warnings, up to the maximum of an answer (CONTRACT §1). A warning in place of the last
// one says that there are more.
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

// sum returns b added to a. Members missing in b are kept, and values of another type in b replace
// those in a. Neither is changed.
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

// joined adds a page of an answer to the pages before: lists are joined, and for everything else
// the last page counts. A page that is not an object replaces those before.
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

// sumNumbers adds two numbers. It is exact for 64-bit integers without overflow; other numbers are
// added as floating-point numbers. If one cannot be parsed, b counts.
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

// ofFiles returns the data of an answer about files for people. For families whose data has a fixed
// form it omits the count, because the list itself is shown, and adds skipped and left_out from the
// meta. It does not change the answer, which a program may still get.
func (ans *answer) ofFiles(family *tool.Family) value {
	data := ans.data
	if family == nil || !family.Terse {
		return data
	}
	data = value{kind: objectKind, members: slices.Clone(data.members)}
	data.remove("count") // the list itself is shown
	for _, name := range []string{"skipped", "left_out"} {
		if v, ok := ans.meta.member(name); ok {
			data.set(name, v.value)
		}
	}
	return data
}

// summary prints the result of an import or an export on one line, and on Err the skipped files:
//
//	12 created, 3 replaced, 15 files
//	skipped (not a note): image.png, notes.txt
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

// words returns the name of a member in words: left_out becomes "left out".
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// leftOut prints the skipped files on Err by reason, at most 20 names for each, and how many more
// there are.
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
		fmt.Fprintf(p.err, "skipped (%s): %s\n", reason, escapeControls(line))
	}
}
