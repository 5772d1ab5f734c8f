package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// text returns a text that is not empty; "" after a problem. A number or a boolean without quotes
// is a problem, because YAML could change it: 1.10 would become 1.1.
func (r *reader) text(v value) string {
	switch {
	case v.node.Kind == yaml.AliasNode:
		r.report(v.at, "%s must be written out: aliases are not supported here", v)
	case v.node.Kind != yaml.ScalarNode:
		r.report(v.at, "%s must be a text", v)
	case v.node.ShortTag() == "!!null" || v.node.Value == "":
		r.report(v.at, "%s has no value; give it one, or leave it out", v)
	case v.node.ShortTag() != "!!str":
		r.report(v.at, "%s must be a text: put it in quotes", v)
	case strings.ContainsFunc(v.node.Value, unicode.IsControl) || !utf8.ValidString(v.node.Value):
		r.report(v.at, "%s must be a text of one line, without control characters", v)
	default:
		return v.node.Value
	}
	return ""
}

// number returns a whole number from 1 to a million. Zero is not accepted, because for a limit it
// could mean none or everything.
func (r *reader) number(v value) int { return int(r.upTo(v, 1_000_000)) }

// large returns a whole number from 1 to a billion.
func (r *reader) large(v value) int64 { return r.upTo(v, 1_000_000_000) }

// upTo returns a whole number from 1 to most, and 0 or the invalid number after a problem.
func (r *reader) upTo(v value, most int64) int64 {
	var n int64
	if v.node.Kind != yaml.ScalarNode || v.node.ShortTag() != "!!int" || v.node.Decode(&n) != nil ||
		n < 1 || n > most {
		r.report(v.at, "%s must be a whole number from 1 to %d", v, most)
	}
	return n
}

// size returns a number of bytes, which may have a unit, such as 2GiB; 0 after a problem.
func (r *reader) size(v value) Size {
	if v.node.Kind == yaml.ScalarNode && v.node.ShortTag() != "!!null" {
		if n, err := ParseSize(v.node.Value); err == nil {
			return Size(n)
		}
	}
	r.report(v.at, "%s must be a number of bytes above 0, or one with a unit such as 512MiB or 2GiB", v)
	return 0
}

// flag returns true or false; false after a problem. Only the YAML words are accepted, not yes or
// 1.
func (r *reader) flag(v value) bool {
	var on bool
	if v.node.Kind != yaml.ScalarNode || v.node.ShortTag() != "!!bool" || v.node.Decode(&on) != nil {
		r.report(v.at, "%s must be true or false", v)
	}
	return on
}

// list returns the entries of a list that is not empty, each with its name and line; nil after a
// problem. An empty list is a problem, because it looks like a setting and means none.
func (r *reader) list(v value) []value {
	if v.node.Kind != yaml.SequenceNode || len(v.node.Content) == 0 {
		r.report(v.at, "%s must be a list with one entry at least", v)
		return nil
	}
	var all []value
	for i, node := range v.node.Content {
		all = append(all, v.below(fmt.Sprintf("%s[%d]", v.name, i), node))
	}
	return all
}

// texts returns a list of texts, with "" in place of an invalid one, and records the positions of
// the entries.
func (r *reader) texts(v value) []string {
	var all []string
	for _, entry := range r.list(v) {
		r.places[entry.name] = entry.at
		all = append(all, r.text(entry))
	}
	return all
}

// conditions returns a mapping of names to texts that is not empty; nil after a problem with the
// mapping itself. The names are those of claims, so any text is allowed.
func (r *reader) conditions(v value) map[string]string {
	if v.node.Kind != yaml.MappingNode || len(v.node.Content) == 0 {
		r.report(v.at, "%s must be a mapping of claims to their required values", v)
		return nil
	}
	all := map[string]string{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := r.text(v.below("a claim of "+v.name, v.node.Content[i]))
		entry := v.below(v.under(short(key)), v.node.Content[i+1])
		if _, twice := all[key]; twice && key != "" {
			r.report(entry.at, "%s is given twice; keep one of them", entry)
		}
		all[key] = r.text(entry)
	}
	return all
}

// errSize is the error of ParseSize.
var errSize = errors.New("it must be a number of bytes above 0, or one with KiB, MiB or GiB behind it, " +
	"such as 128MiB")

// shifts returns the powers of two of the units, by their names in lower case.
func shifts() map[string]int {
	return map[string]int{"": 0, "b": 0, "kib": 10, "mib": 20, "gib": 30}
}

// ParseSize returns the number of bytes of a size such as 134217728, 128MiB or "1 GiB". Units are
// powers of 1024, and their case is ignored; decimal units such as MB are not known. A size of 0,
// and one that does not fit into an int64, is an error. Flags of the command line use it too.
func ParseSize(text string) (int64, error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsDigit(r) })
	shift, known := shifts()[strings.ToLower(strings.TrimSpace(text[len(digits):]))]
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || !known || n == 0 || n > math.MaxInt64>>shift {
		return 0, errSize
	}
	return int64(n) << shift, nil
}
