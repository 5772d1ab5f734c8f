package ci

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Bounds of the output of a command that is kept: bytes of its beginning and of its end.
const (
	mostHead = 64 << 10
	mostTail = 1 << 20
)

// An Output keeps the beginning and the end of a command's output: its first 64 KiB and its last
// MiB. The zero value is empty. It is safe for concurrent use, and Write returns no errors.
type Output struct {
	mu   sync.Mutex
	head []byte
	tail []byte
	lost bool // bytes between the two were dropped
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(len(p), mostHead-len(o.head))
	o.head = append(o.head, p[:n]...)
	o.tail = append(o.tail, p[n:]...)
	if len(o.tail) > 2*mostTail {
		o.shorten()
	}
	return len(p), nil
}

func (o *Output) shorten() {
	if over := len(o.tail) - mostTail; over > 0 {
		o.tail = append(o.tail[:0], o.tail[over:]...)
		o.lost = true
	}
}

// String returns the output without escape sequences. A line with three dots replaces a part that
// was dropped.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shorten()
	if !o.lost {
		return Plain(string(o.head) + string(o.tail))
	}
	return Plain(string(o.head) + "\n...\n" + string(o.tail))
}

// Plain returns a text without terminal escape sequences. A line that a program overwrote becomes a
// separate line, and bytes that are not UTF-8 are replaced.
func Plain(output string) string {
	output = text.StripEscape(strings.ToValidUTF8(output, string(utf8.RuneError)))
	output = strings.ReplaceAll(output, "\r\n", "\n")
	output = strings.ReplaceAll(output, "\r", "\n")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, output)
}

// lines returns the lines of the output.
func (r Run) lines() []string { return strings.Split(r.Output, "\n") }

// Excerpt returns the end of the output, at most most bytes. It begins with a whole line if there
// is a line break.
func Excerpt(output string, most int) string {
	output = strings.TrimSpace(output)
	if len(output) <= most {
		return output
	}
	end := output[len(output)-most:]
	if _, rest, ok := strings.Cut(end, "\n"); ok {
		return rest
	}
	return strings.ToValidUTF8(end, "")
}

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
