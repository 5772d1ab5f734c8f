package ci

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
)

// PrintPrefix is the prefix of fingerprints. It contains the version of their algorithm.
const PrintPrefix = "fp1-"

// mostPrinted is how many characters of each part are in a fingerprint.
const mostPrinted = 300

// Fingerprint returns the id of a failure. It is the same on every machine, at every time and in
// every job, and differs between failures. It is independent of lines and columns. root is the
// directory of the checkout.
func (f Finding) Fingerprint(root string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		f.Tool, f.Kind, normalise(f.File, root), normalise(f.Symbol, root), normalise(f.Message, root),
	}, "\x00")))
	return PrintPrefix + hex.EncodeToString(sum[:8])
}

// In returns a finding with the paths in its file and message relative to the checkout.
func (f Finding) In(root string) Finding {
	f.File, f.Message = relative(f.File, root), relative(f.Message, root)
	return f
}

// relative returns a text with the paths of the checkout relative to it.
func relative(text, root string) string {
	if root == "" || root == "/" {
		return strings.TrimPrefix(text, "./")
	}
	root = strings.TrimSuffix(strings.ReplaceAll(root, `\`, "/"), "/") + "/"
	text = strings.ReplaceAll(text, root, "")
	text = strings.ReplaceAll(text, strings.ReplaceAll(root, "/", `\`), "")
	return strings.TrimPrefix(text, "./")
}

// A variable is a pattern of text that differs between two runs with the same failure, and its
// replacement.
type variable struct {
	of  *regexp.Regexp
	put string
}

// variables are in the order in which they are replaced.
var variables = []variable{
	{regexp.MustCompile(`(^|[^\w:/.>-])(?:/[^\s"'()\[\],:;]+|[A-Za-z]:\\[^\s"'()\[\],:;]+)(?::\d+){0,2}`),
		"${1}<path>"},
	{regexp.MustCompile(`\b(https?://[^/\s"'):]+)(?::\d+)?(?:/[^\s"')]*)?`), "$1"},
	{regexp.MustCompile(`\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?`),
		"<time>"},
	{regexp.MustCompile(`\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b`), "<time>"},
	{regexp.MustCompile(`\b(?:\d+(?:\.\d+)?(?:h|m|s|ms|µs|us|ns))+\b|` +
		`\b\d+(?:\.\d+)? ?(?:seconds?|secs?|milliseconds?|minutes?|hours?)\b`), "<time>"},
	{regexp.MustCompile(`\b(?i:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b`), "<id>"},
	{regexp.MustCompile(`\b0x[0-9a-fA-F]+\b`), "<addr>"},
}

var (
	hexWord  = regexp.MustCompile(`\b[0-9a-f]{7,}\b`)
	hostPort = regexp.MustCompile(`(?:\b[\w-]+(?:\.[\w-]+)+|\blocalhost|\[[0-9a-fA-F:]+\]):\d{2,5}\b`)
	thread   = regexp.MustCompile(`\b(?i:(goroutine|thread|pid)([ -#]+))\d+\b`)
	numbers  = regexp.MustCompile(`\bexit (?:status|code:?)? ?\d+\b|\b\d{2,}\b`)
	spaces   = regexp.MustCompile(`\s+`)
	position = regexp.MustCompile(
		`(\.(?:go|py|[cm]?[jt]sx?|vue|rs|c|cc|cpp|cxx|h|hh|hpp|m|mm|java|kt|scala|rb|cs|php|swift|sh)):\d+(?::\d+)?\b`)
)

// normalise returns a text without the parts that differ between two runs with the same failure:
// positions in files, times, ids, addresses, hosts and numbers.
func normalise(text, root string) string {
	text = relative(strings.TrimSpace(text), root)
	for _, v := range variables {
		text = v.of.ReplaceAllString(text, v.put)
	}
	text = hexWord.ReplaceAllStringFunc(text, func(word string) string {
		if strings.ContainsAny(word, "0123456789") && strings.ContainsAny(word, "abcdef") {
			return "<hash>"
		}
		return word
	})
	text = position.ReplaceAllString(text, "$1")
	text = hostPort.ReplaceAllString(text, "<host>")
	text = thread.ReplaceAllString(text, "$1$2<n>")
	text = numbers.ReplaceAllStringFunc(text, func(n string) string {
		if strings.HasPrefix(n, "exit") {
			return n
		}
		return "<n>"
	})
	text = strings.TrimSpace(spaces.ReplaceAllString(text, " "))
	if r := []rune(text); len(r) > mostPrinted {
		return string(r[:mostPrinted])
	}
	return text
}

// A junitCase is a test in a JUnit XML report.
type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr"`
	Failure *junitFailure `xml:"failure"`
	Error   *junitFailure `xml:"error"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// junit finds the failed tests in the reports of a run.
func junit(r Run) []Finding {
	var all []Finding
	for _, report := range r.Reports {
		for _, c := range failedCases(report) {
			all = append(all, c.finding())
		}
	}
	return all
}

// failedCases returns the failed tests of a report. It stops where the report cannot be parsed.
func failedCases(report []byte) []junitCase {
	var all []junitCase
	dec := xml.NewDecoder(bytes.NewReader(report))
	dec.CharsetReader = func(string, io.Reader) (io.Reader, error) {
		return nil, errors.New("the report is not in UTF-8")
	}
	for {
		token, err := dec.Token()
		if err != nil {
			return all
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "testcase" {
			continue
		}
		var c junitCase
		if err := dec.DecodeElement(&c, &start); err != nil {
			return all
		}
		if c.Failure != nil || c.Error != nil {
			all = append(all, c)
		}
	}
}

// finding returns the finding of a failed test.
func (c junitCase) finding() Finding {
	f := Finding{
		Tool: "junit", Kind: KindTest, Category: categoryTest, File: c.File, Line: c.Line, Symbol: c.Name,
	}
	if c.Class != "" {
		f.Symbol = c.Class + "." + c.Name
	}
	told := c.Failure
	if told == nil {
		told, f.Kind, f.Category = c.Error, KindCrash, categoryRuntime
	}
	f.Message = firstLine(told.Message, told.Text, told.Type, "failed")
	return f
}

// firstLine returns the first line in some texts that is not blank, or "".
func firstLine(texts ...string) string {
	for _, text := range texts {
		for line := range strings.Lines(Plain(text)) {
			if line = strings.TrimSpace(line); line != "" {
				return line
			}
		}
	}
	return ""
}
