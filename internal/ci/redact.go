package ci

import (
	"regexp"
	"slices"
	"strings"
)

// secretNames are parts of the names of variables with secret values. leastSecret is the length in
// bytes from which on such a value is redacted: a shorter one is a word such as `true` that is in
// many texts.
var secretNames = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL", "AUTH"}

const leastSecret = 8

// hidden replaces secrets.
const hidden = "***"

// secretShapes are patterns of secrets: tokens of services, other tokens, and passwords in URLs.
var secretShapes = []variable{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), hidden},
	{regexp.MustCompile(`\brk_[A-Za-z0-9_.-]{8,}`), hidden},
	{regexp.MustCompile(`\b(?:gh[a-z]_|github_pat_|glpat-|xox[a-z]-|npm_|sk-)[A-Za-z0-9_-]{8,}`), hidden},
	{regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{12,}`), hidden},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?`), hidden},
	{regexp.MustCompile(`(://)[^/\s:@]*:[^/\s@]+@`), "${1}" + hidden + "@"},
	{regexp.MustCompile(`(?i)(\bauthorization: *(?:bearer|basic) +)\S+`), "${1}" + hidden},
}

var mask = regexp.MustCompile(`(?m)^.*::add-mask::(.*)$`)

// A Redactor removes secrets from texts, before they leave the machine.
type Redactor struct{ secrets []string }

// NewRedactor returns a Redactor for the secrets of an environment, whose entries are NAME=VALUE,
// and for those that an output asks GitHub to mask.
func NewRedactor(environ []string, output string) Redactor {
	var r Redactor
	add := func(secret string) {
		if secret = strings.TrimSpace(secret); len(secret) >= leastSecret {
			r.secrets = append(r.secrets, secret)
		}
	}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if isSecret(name) {
			add(value)
			for line := range strings.Lines(value) {
				add(line)
			}
		}
	}
	for _, m := range mask.FindAllStringSubmatch(output, -1) {
		add(m[1])
	}
	// The longest come first, because one may contain another.
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	r.secrets = slices.Compact(r.secrets)
	return r
}

// isSecret reports whether the value of a variable is secret, by its name.
func isSecret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) })
}

// Redact returns a text with its secrets replaced.
func (r Redactor) Redact(text string) string {
	text = mask.ReplaceAllString(text, "::add-mask::"+hidden)
	for _, secret := range r.secrets {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	for _, shape := range secretShapes {
		text = shape.of.ReplaceAllString(text, shape.put)
	}
	return text
}
