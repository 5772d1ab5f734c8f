package ci

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

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
