package ci

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// A junitCase is a test in a report of JUnit XML.
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

// junit finds the tests that failed in the reports of a run.
func junit(r Run) []Finding {
	var all []Finding
	for _, report := range r.Reports {
		for _, c := range failedCases(report) {
			all = append(all, c.finding())
		}
	}
	return all
}

// failedCases are the tests of a report that did not pass. What follows a place where the report cannot be read
// is left out.
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

// finding is what a test that did not pass tells.
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

// firstLine is the first line that is not blank of some texts.
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
