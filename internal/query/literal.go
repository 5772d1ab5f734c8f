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

// A predicate reports whether a value in a note passes a test. References are resolved relative
// to the note; nil: independently of any note.
type predicate func(v any, n *index.Note) bool

// A literal is a value of a query, converted for the classes of fields with which it can be
// compared. It is converted once for a query, and then compared with the values of many items.
type literal struct {
	text   string
	folded string
	number float64

	isNumber bool           // whether number is set
	rank     int            // position among the values of a choice; -1: none of them
	span     vault.Interval // of class moment
	id       string         // target of the reference; "": none
	isRef    bool           // it is compared as a reference
}

// folded returns a text in a form that is equal for texts that differ only in case.
//
// It maps each character to one representative of its simple case folding.
func folded(s string) string {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < 0x80
	}
	if ascii {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		// SimpleFold iterates over all cases of a letter; the least one represents them.
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, s)
}

// literal converts a value of a query for a field. The query must have passed Check, which reports
// values that cannot be converted.
func (e *evaluator) literal(v Value, d fieldDef) literal {
	l := literal{text: v.Text, folded: folded(v.Text), isRef: v.Ref || d.class == refClass}
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
	if d.get != nil && d.class == choice { // date is an older name of a type
		l.folded = folded(vault.TypeName(v.Text))
	}
	if l.isRef {
		l.id = e.Index.ResolveArg(v.Text, e.Clock).ID
	}
	return l
}

// rankOf returns the position of a word in a list, ignoring case; -1 if it is not in the list.
func rankOf(word string, words []string) int {
	return slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, word) })
}

// textOf returns a value as text: a reference as the id of its target, a time in RFC 3339, "" for
// a nested value. isRef says that strings are references too.
//
// The note n is the one that contains the value; nil resolves references independently of a note.
func (e *evaluator) textOf(v any, n *index.Note, isRef bool) string {
	switch v := v.(type) {
	case string:
		if isRef {
			return e.targetID(v, n)
		}
		return v
	case markdown.Ref:
		return e.targetID(string(v), n)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	case markdown.Nested:
		return ""
	}
	return fmt.Sprint(v)
}

// targetID returns the id of the target of a reference in a note. If it has none, it returns the
// reference as written, without brackets.
func (e *evaluator) targetID(text string, n *index.Note) string {
	ref, ok := vault.ParseRef(text)
	if !ok {
		return text
	}
	if to := e.resolve(n, string(ref)); to.ID != "" {
		return to.ID
	}
	return string(ref)
}

// resolve resolves a reference in a note; if n is nil, independently of any note.
func (e *evaluator) resolve(n *index.Note, ref string) index.Resolution {
	if n == nil {
		return e.refs.Resolve(ref)
	}
	return e.refs.From(n, ref)
}

// compare returns the predicate of an operator, for a value that is not nil. The class of the field
// determines the comparison:
//
//   - References are equal if they have the same target.
//   - Numbers are compared with numbers, and with texts that are numbers. Other texts do not pass.
//   - Times are compared as inTime describes.
//   - Choices are ordered by their position in the list of values.
//   - Texts are equal if they differ only in case, unless the field is exact; numbers in a text
//     field are equal by value. The order of texts is bytewise.
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

// sameTarget returns the predicate that a value has the same target as a literal. If the literal
// has no target, the texts are compared.
func (e *evaluator) sameTarget(l literal, d fieldDef) predicate {
	return func(v any, n *index.Note) bool {
		if _, nested := v.(markdown.Nested); nested {
			return false
		}
		if l.id == "" {
			return folded(e.textOf(v, n, true)) == l.folded
		}
		return e.textOf(v, n, d.class == refClass || l.isRef) == l.id
	}
}

// compareNumbers returns -1, 0 or 1; it returns 0 if one of the numbers is NaN.
func compareNumbers(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// ordered reports whether an operator holds for the result of a comparison of a value with a
// literal. order is negative, zero or positive, as from cmp.Compare. Differs must be handled by the
// caller.
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

// numberOf returns a number, or a text parsed as one; false for other values.
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

// inTime reports whether an operator holds for a date or time and an interval. Two values are
// compared as instants only if both have a time of day; otherwise the value is the start of its
// day.
//
//	==         the value is in the interval
//	<          the value is before the begin
//	<=         the value is before the end, or is the instant
//	>          the value is at or after the end, or after the instant
//	>=         the value is at or after the begin
//
// The end of an interval is exclusive. A begin or an end that is zero is unbounded.
func (e *evaluator) inTime(op Op, v any, x vault.Interval) bool {
	day, at, clock, ok := e.momentOf(v)
	if !ok {
		return false
	}
	if op == Equal {
		if !clock {
			// The start of the day must be in the interval, or the instant in the day.
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

// momentOf returns the date of a value and, if clock, its instant. ok is false if the value is
// not a date or time.
//
// The date is in the time zone of the state.
func (e *evaluator) momentOf(v any) (day vault.Date, at time.Time, clock, ok bool) {
	switch v := v.(type) {
	case time.Time:
		return vault.DateOf(v.In(e.zone)), v, true, true
	case string:
		if day, ok := vault.ParseDate(v); ok {
			return day, time.Time{}, false, true
		}
		// Other forms of times, such as relative ones, are not values of notes.
		if x, err := vault.ParseTime(v, e.Clock); err == nil && x.Instant() && strings.Contains(v, "T") {
			return vault.DateOf(x.From.In(e.zone)), x.From, true, true
		}
	}
	return "", time.Time{}, false, false
}

// inText returns the predicate of a function that searches a text. isRef says that texts are
// references, which are searched as the id of their target. Without Case, both texts are folded.
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

// matches returns the predicate of a regular expression. It counts visits for long texts.
func (e *evaluator) matches(t *Test, isRef bool) predicate {
	re, err := compilePattern(t)
	if err != nil {
		return func(any, *index.Note) bool { return false } // Check reports the error
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
