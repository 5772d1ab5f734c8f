package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/template"
	"time"
)

//go:embed page.md.tmpl
var pageText string

//go:embed hosted.md.tmpl
var hostedText string

//go:embed start.md.tmpl
var startText string

//go:embed cloud.md.tmpl
var cloudText string

//go:embed notes.md.tmpl
var notesText string

//go:embed queries.md.tmpl
var queriesText string

// A page contains the results of a run. Its template depends on the part that was measured.
type page struct {
	Machine machine
	Command string
	Date    string
	Seed    uint64
	Ops     int
	Times   int // number of measurements of quick operations
	Limit   time.Duration
	Results []result
	Hosted  *hosting  // nil: not measured
	Start   *starting // nil: not measured
	Cloud   *clouded  // nil: not measured
	Notes   []noting  // empty: not measured

	Queries  []querying    // empty: not measured
	Memories []remembering // empty: not measured
}

// begin creates a folder to measure in, which end removes, and the page of the run.
func begin(cfg config) (p *page, dir string, end func(), err error) {
	if dir, err = os.MkdirTemp(cfg.dir, "rookery-bench-"); err != nil {
		return nil, "", nil, fmt.Errorf("make a folder to measure in: %w", err)
	}
	end = func() { _ = os.RemoveAll(dir) } // a file that cannot be removed is in a temporary folder
	if p, err = newPage(cfg, dir); err != nil {
		end()
		return nil, "", nil, err
	}
	return p, dir, end, nil
}

// newPage returns the page of a run that begins now, with its data below a folder.
func newPage(cfg config, dir string) (*page, error) {
	m, err := thisMachine(dir)
	return &page{
		Machine: m, Command: cfg.command(), Date: time.Now().UTC().Format(time.DateOnly),
		Seed: cfg.seed, Ops: cfg.ops, Times: cfg.times, Limit: cfg.limit,
	}, err
}

// write writes the page to a file, or to standard output if the path is empty.
func (p *page) write(path string) error {
	var b bytes.Buffer
	if err := p.render(&b); err != nil {
		return err
	}
	if path == "" {
		_, err := os.Stdout.Write(b.Bytes())
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	progress("wrote %s", path)
	return nil
}

// render writes the page. It panics if the template is malformed.
func (p *page) render(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"ms": showMillis, "mb": showBytes, "number": showNumber, "count": showCount, "known": orUnknown,
		"kb": showKilobytes, "variants": func() int { return variants },
		"agendaTraits": func() int { return agendaTraits }, "months": func() int { return months },
		"headings":  func() int { return handbookHeadings },
		"tailRuns":  func() int { return tailRuns },
		"quiet":     func() time.Duration { return quiet },
		"saveEvery": func() time.Duration { return saveEvery },
		"half":      func(n int) string { return showCount(n / 2) },
		"goals":     goalsOf, "goalSize": func() int { return goalSize }, "refused": showRefused,
		"micros": showMicros, "percent": showPercent,
		"linkCalls": func() int { return linkCalls }, "freshOnes": func() int { return freshOnes },
		"tokenSample": func() int { return tokenSample },
		"cloudTimes":  func() int { return cloudTimes }, "cloudWait": func() time.Duration { return cloudWait },
		"inits": func() int { return inits }, "manyCommits": func() int { return manyCommits },
		"manyObjects": func() int { return manyObjects }, "lags": func() int { return lags },
		"priceDate": func() string { return priceDate }, "imageAfter": func() int { return imageAfter },
		"warmStarts": func() int { return warmStarts }, "maxFunction": func() int64 { return maxFunction },
	}).Parse(p.text())
	if err != nil {
		panic(err) // the program is malformed
	}
	return t.Execute(w, p)
}

// text returns the template of the page.
func (p *page) text() string {
	if p.Hosted != nil {
		return hostedText
	}
	if p.Start != nil {
		return startText
	}
	if p.Cloud != nil {
		return cloudText
	}
	if len(p.Notes) > 0 {
		return notesText
	}
	if len(p.Queries) > 0 {
		return queriesText
	}
	if len(p.Memories) > 0 {
		return memoriesText
	}
	return pageText
}

// showMicros formats a duration in microseconds, and showPercent a share in percent.
func showMicros(d time.Duration) string {
	return showNumber(float64(d)/float64(time.Microsecond)) + " µs"
}

func showPercent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// showMillis formats a duration in milliseconds.
func showMillis(d time.Duration) string { return showNumber(millis(d)) + " ms" }

// showNumber formats a number with a precision that depends on its size.
func showNumber(v float64) string {
	switch {
	case v < 1:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return showCount(int(v + 0.5))
}

// showBytes formats a number of bytes in MiB or GiB; 0 is "unknown".
func showBytes(n int64) string {
	if n == 0 {
		return "unknown"
	}
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// showKilobytes formats a number of bytes in KiB.
func showKilobytes(n int) string { return showNumber(float64(n)/(1<<10)) + " KiB" }

// AskedOps returns the maximum number of calls of each kind that reads.
func (p *page) AskedOps() int { return (p.Ops + askedLess - 1) / askedLess }

// AskedLimit returns the maximum time for each kind of call that reads.
func (p *page) AskedLimit() time.Duration { return p.Limit / askedLess }

// showCount formats a number with commas between groups of three digits.
func showCount(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// orUnknown returns a text, or "unknown" if it is empty.
func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// showRefused lists the numbers of refused operations by code, or returns "none".
func showRefused(codes map[string]int) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		parts = append(parts, fmt.Sprintf("%d %s", codes[code], code))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
