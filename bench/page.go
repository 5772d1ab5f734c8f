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

// A page is what is written of a run.
type page struct {
	Machine machine
	Command string
	Date    string
	Seed    uint64
	Ops     int
	Times   int // that what is quick is measured
	Limit   time.Duration
	Results []result
	Hosted  *hosting  // nil: the page is not about a hosted server
	Start   *starting // nil: the page is not about the start of a function
	Cloud   *clouded  // nil: the page is not about functions over emulators
	Notes   []noting  // empty: the page is not about the tools for notes and for orientation

	Queries  []querying    // empty: the page is not about queries, checks and moves
	Memories []remembering // empty: the page is not about memories
}

// begin makes a folder to measure in, which end removes, and the page of the run.
func begin(cfg config) (p *page, dir string, end func(), err error) {
	if dir, err = os.MkdirTemp(cfg.dir, "rookery-bench-"); err != nil {
		return nil, "", nil, fmt.Errorf("make a folder to measure in: %w", err)
	}
	end = func() { _ = os.RemoveAll(dir) } // what it leaves lies among temporary files
	if p, err = newPage(cfg, dir); err != nil {
		end()
		return nil, "", nil, err
	}
	return p, dir, end, nil
}

// newPage is the page of a run that begins now, with its data below a folder.
func newPage(cfg config, dir string) (*page, error) {
	m, err := thisMachine(dir)
	return &page{
		Machine: m, Command: cfg.command(), Date: time.Now().UTC().Format(time.DateOnly),
		Seed: cfg.seed, Ops: cfg.ops, Times: cfg.times, Limit: cfg.limit,
	}, err
}

// write writes the page to a file, or to standard output if none is named.
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

// text is the template of the page.
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

// showMicros is a time in microseconds, and showPercent a share in percent.
func showMicros(d time.Duration) string {
	return showNumber(float64(d)/float64(time.Microsecond)) + " µs"
}

func showPercent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// showMillis is a time in milliseconds.
func showMillis(d time.Duration) string { return showNumber(millis(d)) + " ms" }

// showNumber is a number with as many digits as it deserves.
func showNumber(v float64) string {
	switch {
	case v < 1:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return showCount(int(v + 0.5))
}

func showBytes(n int64) string {
	if n == 0 {
		return "unknown"
	}
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func showKilobytes(n int) string { return showNumber(float64(n)/(1<<10)) + " KiB" }

// AskedOps is how many calls of one kind that reads are made, at most.
func (p *page) AskedOps() int { return (p.Ops + askedLess - 1) / askedLess }

// AskedLimit is how long they are made, at most.
func (p *page) AskedLimit() time.Duration { return p.Limit / askedLess }

// showCount is a number with a comma before each three digits.
func showCount(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// showRefused lists how many operations were refused, by code.
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
