package query

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A predicate reports whether a value in a note passes a test. The note is where references are resolved.
type predicate func(v any, n *index.Note) bool

// A literal is a value of a query, in each way in which a field may mean it.
type literal struct {
	text   string
	folded string
	number float64

	isNumber bool // the text spells one
	rank     int  // among the values of a choice; -1: none of them
	span     vault.Interval
	id       string // of what it leads to as a reference; "": nothing
	isRef    bool   // it is compared as a reference
}

// folded is a text in which the case of letters does not count.
func folded(s string) string {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < 0x80
	}
	if ascii {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, s)
}

// literal reads a value of a query for a field. That it can be one is checked before.
func (e *evaluator) literal(v Value, d fieldDef) literal {
	l := literal{text: v.Text, folded: folded(v.Text), isRef: v.Ref || d.class == leads}
	number, err := strconv.ParseFloat(v.Text, 64)
	l.number, l.isNumber = number, err == nil
	switch d.class {
	case choice:
		l.rank = rankOf(v.Text, d.values)
	case moment:
		l.span, _ = vault.ParseTime(v.Text, e.Clock)
	}
	if d.fold != nil {
		l.folded = d.fold(v.Text)
	}
	if d.get != nil && d.class == choice { // `date` is the older name of a type
		l.folded = folded(vault.TypeName(v.Text))
	}
	if l.isRef {
		l.id = e.Index.ResolveArg(v.Text, e.Clock).ID
	}
	return l
}

// rankOf is the position of a word among some, whatever its case; -1 if it is none.
func rankOf(word string, words []string) int {
	return slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, word) })
}

// textOf is a value as a text.
func (e *evaluator) textOf(v any, n *index.Note, isRef bool) string {
	switch v := v.(type) {
	case string:
		if isRef {
			return e.leadsTo(v, n)
		}
		return v
	case markdown.Ref:
		return e.leadsTo(string(v), n)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	case markdown.Nested:
		return ""
	}
	return fmt.Sprint(v)
}

// leadsTo is the id that a reference in a note leads to, else the reference as it is written.
func (e *evaluator) leadsTo(text string, n *index.Note) string {
	ref, ok := vault.ParseRef(text)
	if !ok {
		return text
	}
	if to := e.resolve(n, string(ref)); to.ID != "" {
		return to.ID
	}
	return string(ref)
}

// resolve is what a reference in a note leads to; in no note, what it leads to from everywhere.
func (e *evaluator) resolve(n *index.Note, ref string) index.Resolution {
	if n == nil {
		return e.refs.Resolve(ref)
	}
	return e.refs.From(n, ref)
}

// compare makes the predicate of an operator for one value that is not null.
func (e *evaluator) compare(op Op, l literal, d fieldDef) predicate {
	if op == Differs {
		same := e.compare(Equal, l, d)
		return func(v any, n *index.Note) bool { return !same(v, n) }
	}
	switch {
	case l.isRef:
		return e.sameTarget(l, d)
	case d.class == numeric:
		return func(v any, _ *index.Note) bool {
			number, ok := numberOf(v)
			return ok && ordered(op, compareNumbers(number, l.number))
		}
	case d.class == moment:
		return func(v any, _ *index.Note) bool { return e.inTime(op, v, l.span) }
	case d.class == choice && op != Equal:
		return func(v any, n *index.Note) bool {
			rank := rankOf(e.textOf(v, n, false), d.values)
			return rank >= 0 && ordered(op, rank-l.rank)
		}
	case op == Equal && d.fold != nil:
		return func(v any, n *index.Note) bool { return d.fold(e.textOf(v, n, false)) == l.folded }
	case op == Equal && !d.exact:
		return func(v any, n *index.Note) bool {
			switch v := v.(type) {
			case markdown.Nested:
				return false
			case float64:
				return l.isNumber && v == l.number
			}
			return folded(e.textOf(v, n, false)) == l.folded
		}
	}
	return func(v any, n *index.Note) bool {
		return ordered(op, strings.Compare(e.textOf(v, n, false), l.text))
	}
}

// sameTarget makes the predicate that a value leads where a literal does. Where the literal leads nowhere,
// both are compared as they are written.
func (e *evaluator) sameTarget(l literal, d fieldDef) predicate {
	return func(v any, n *index.Note) bool {
		if _, nested := v.(markdown.Nested); nested {
			return false
		}
		if l.id == "" {
			return folded(e.textOf(v, n, true)) == l.folded
		}
		return e.textOf(v, n, d.class == leads || l.isRef) == l.id
	}
}

func compareNumbers(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// ordered reports whether the order of a value and a literal is that of an operator.
func ordered(op Op, order int) bool {
	switch op {
	case Equal:
		return order == 0
	case Less:
		return order < 0
	case AtMost:
		return order <= 0
	case More:
		return order > 0
	}
	return order >= 0
}

// numberOf is a value that is a number, or a text that spells one.
func numberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return n, err == nil
	}
	return 0, false
}

// inTime reports whether a day or an instant is to a time as an operator says. It is an instant only if
// both have a clock; else it is the start of its day.
func (e *evaluator) inTime(op Op, v any, x vault.Interval) bool {
	day, at, clock, ok := e.momentOf(v)
	if !ok {
		return false
	}
	if op == Equal {
		if !clock {
			return x.Covers(day, e.zone)
		}
		return x.Contains(at)
	}
	if !clock || !x.Instant() {
		at = day.Start(e.zone)
	}
	switch op {
	case Less:
		return !x.From.IsZero() && at.Before(x.From)
	case AtMost:
		return x.To.IsZero() || at.Before(x.To) || x.Instant() && at.Equal(x.To)
	case More:
		return x.After(at)
	}
	return x.Since(at)
}

// momentOf is the day of a value, and the instant if it has a clock.
func (e *evaluator) momentOf(v any) (day vault.Date, at time.Time, clock, ok bool) {
	switch v := v.(type) {
	case time.Time:
		return vault.DateOf(v.In(e.zone)), v, true, true
	case string:
		if day, ok := vault.ParseDate(v); ok {
			return day, time.Time{}, false, true
		}
		if x, err := vault.ParseTime(v, e.Clock); err == nil && x.Instant() && strings.Contains(v, "T") {
			return vault.DateOf(x.From.In(e.zone)), x.From, true, true
		}
	}
	return "", time.Time{}, false, false
}

// inText makes the predicate of a function that looks into a text.
func (e *evaluator) inText(t *Test, isRef bool) predicate {
	if t.Op == Matches {
		return e.matches(t, isRef)
	}
	find := map[Op]func(s, part string) bool{
		Includes: strings.Contains, StartsWith: strings.HasPrefix, EndsWith: strings.HasSuffix,
	}[t.Op]
	part := t.Text
	if !t.Case {
		part = folded(part)
	}
	return func(v any, n *index.Note) bool {
		s := e.textOf(v, n, isRef)
		if !t.Case {
			s = folded(s)
		}
		return find(s, part)
	}
}

func (e *evaluator) matches(t *Test, isRef bool) predicate {
	re, err := compilePattern(t)
	if err != nil {
		return func(any, *index.Note) bool { return false } // Check refuses it
	}
	return func(v any, n *index.Note) bool {
		s := e.textOf(v, n, isRef)
		return e.visit(len(s)/matchedBytes) && re.MatchString(s)
	}
}

// compilePattern compiles the regular expression of a test.
func compilePattern(t *Test) (*regexp.Regexp, error) {
	if t.Case {
		return regexp.Compile(t.Text)
	}
	return regexp.Compile("(?i)" + t.Text)
}
