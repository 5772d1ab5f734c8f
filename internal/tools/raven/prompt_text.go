package raven

import (
	"fmt"
	"strconv"
	"strings"
)

// fill returns the text of a prompt with the facts inserted. A line that begins with a condition,
// such as {if note}, is omitted if the condition is false. {step} at the beginning of a line, after
// any condition, becomes the next number. {vault} and similar names are replaced by facts. fill
// panics on an unknown condition.
//
// It does not use text/template, because that makes the linker keep every method of every type
// (docs/design/0032).
func (p promptFacts) fill(text string) string {
	facts, conditions := p.replacer(), p.conditions()
	steps := 0
	var b strings.Builder
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "{if "); ok {
			condition, then, _ := strings.Cut(rest, "}")
			holds, known := conditions[condition]
			if !known {
				panic(fmt.Sprintf("raven: a prompt has no condition %q", condition))
			}
			if !holds {
				continue
			}
			line = then
		}
		if rest, ok := strings.CutPrefix(line, "{step}"); ok {
			steps++
			b.WriteString(strconv.Itoa(steps) + ".")
			line = rest
		}
		_, _ = facts.WriteString(&b, line) // writes to a Builder cannot fail
	}
	return b.String()
}

// conditions returns the conditions that the texts use, by name.
//
// A text may only use these names; fill panics on others.
func (p promptFacts) conditions() map[string]bool {
	writes := p.Given != "" && p.Writes
	return map[string]bool{
		"note": p.Note != "", "no note": p.Note == "", "code": p.Note == "" && p.Given != "",
		"dates": len(p.Dates) > 0, "no dates": len(p.Dates) == 0, "open": len(p.Open) > 0,
		"append": writes && p.Note != "", "create": writes && p.Note == "", "show": !writes,
	}
}

// replacer returns a Replacer that inserts the facts.
func (p promptFacts) replacer() *strings.Replacer {
	about, date := "", ""
	if p.Given != "" {
		about = " about " + strconv.Quote(p.Given)
	}
	if len(p.Dates) > 0 {
		date = p.Dates[0]
	}
	return strings.NewReplacer(
		"{vault}", strconv.Quote(p.Vault), "{given}", strconv.Quote(p.Given),
		"{note}", strconv.Quote(p.Note), "{about}", about, "{date}", date,
		"{open}", traitLists(p.Open, ""), "{late}", traitLists(p.Dates, " .value==past"),
	)
}

// traitLists returns one query call for each trait. test is appended to each query.
//
// The calls are written as a model sees them: the name of the tool and its arguments as JSON.
func traitLists(traits []string, test string) string {
	var calls []string
	for _, name := range traits {
		calls = append(calls, fmt.Sprintf("`raven_query` `{\"query\": %q}`", "trait:"+name+test))
	}
	return strings.Join(calls, " and ")
}
