package ci

import (
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
