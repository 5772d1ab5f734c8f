package convert

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// maxRows is the largest number of notes from a file of rows in one call. The command line divides
// a larger file.
const maxRows = 10_000

// tooMany returns BATCH_TOO_LARGE for a file with too many rows.
func (r reader) tooMany() error {
	return fault.New(fault.BatchTooLarge, "the file has more than %d rows", maxRows).At(r.Path, 0).
		Fix("cut it into several files; the command line does so by itself")
}

// objects reads a list of objects. Unlike the lists of other kinds, it must be a JSON list.
//
// An item that is not an object is refused alone; a file that is not a list, or a list with more
// than maxRows items, fails as a whole.
func (r reader) objects() error {
	raw, err := r.parse()
	if err != nil {
		return err
	}
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil || all == nil {
		return r.fault(0, "the file must be a list of objects")
	}
	if len(all) > maxRows {
		return r.tooMany()
	}
	r.each("item", all, r.object)
	return nil
}

// object adds the note of one JSON object. i is its position in the export. An object without an id
// gets a digest of its content as its id, so the same object is imported once, wherever it is in
// the file. The name of the note also depends on the position.
func (r reader) object(o object, i int) {
	file, text := path.Base(r.Path), compact(o.raw)
	n := Note{
		Source: "json-import", SourceID: truncate(o.text("id", "uuid", "source_id"), maxRowID),
		Path:   fmt.Sprintf("imports/json/item-%05d-%s.md", i, digest(digestName, text, file, strconv.Itoa(i))),
		Fields: []markdown.Field{{Key: "json_file", Value: file}, {Key: "item_index", Value: number(i)}},
		Body:   "## Record\n\n" + fenced(o.raw),
	}
	if n.SourceID == "" {
		n.SourceID = digest(digestID, text)
	}
	title := cmp.Or(scalarText(o.members["title"]), scalarText(o.members["name"]))
	if title = truncate(line(title), maxTitle); title != "" {
		n = conversation(n, title)
	}
	r.add(n)
}

// labels are the columns for the title of a row, in the order of preference. The first one with a
// text is used.
var labels = []string{"title", "name", "subject", "summary", "label"}

// table reads CSV. The first row contains the names of the columns. A row with fewer fields has
// empty ones at its end; one with more is refused. A quote that is wrong makes the rest of the file
// unreadable, so it is an error of the file.
func (r reader) table() error {
	data, err := r.text()
	if err != nil {
		return err
	}
	in := csv.NewReader(bytes.NewReader(data))
	in.Comma, in.FieldsPerRecord = separator(r.Path, data), -1
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return r.fault(0, "the file is empty; its first row must have the names of the columns")
	}
	if err != nil {
		return r.badRow(err)
	}
	// Only the first row can be the names, so a file without names loses that row.
	head = columns(head)
	for i := 1; ; i++ {
		row, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return r.badRow(err)
		case i > maxRows:
			return r.tooMany()
		}
		at, _ := in.FieldPos(0)
		r.row(head, row, r.Offset+i, at)
	}
}

// badRow returns the fault of a row that is not valid CSV, with the line of the quote that is
// wrong, or of the beginning of the field that does not end.
func (r reader) badRow(err error) error {
	var at *csv.ParseError
	if !errors.As(err, &at) {
		return r.fault(0, "the file is not CSV")
	}
	if errors.Is(at.Err, csv.ErrBareQuote) {
		return r.fault(at.Line, `a field with a quote must be in quotes, and the quote in it written twice: "5"" pipe"`)
	}
	return r.fault(at.StartLine,
		"a field in quotes does not end as it must: with a quote before the separator or the end of the row")
}

// columns returns the names of the columns: `column` for one without a name, and with a number for
// a name that occurs again. They become keys of a JSON object.
func columns(head []string) []string {
	seen := map[string]int{}
	names := make([]string, len(head))
	for i, name := range head {
		name = cmp.Or(line(name), "column")
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s %d", name, seen[name])
		}
		names[i] = name
	}
	return names
}

// separator returns the separator of fields: a tab in a .tsv file, and otherwise the one of comma,
// semicolon, tab and | that is most frequent in the first line. If several are, the earlier one in
// this list is used, so a file with one column has commas.
func separator(file string, data []byte) rune {
	if strings.EqualFold(path.Ext(file), ".tsv") {
		return '\t'
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	best := ','
	for _, other := range ";\t|" {
		if bytes.Count(line, []byte(string(other))) > bytes.Count(line, []byte(string(best))) {
			best = other
		}
	}
	return best
}

// row reads a row. i is its number in the export, from 1, and at is the line in which it begins.
// The note has all cells as a list for readers, and as JSON for programs. A row without an id gets
// a digest of its cells, its file and its number.
func (r reader) row(head, row []string, i, at int) {
	cells := make([]string, len(head))
	for c := range head {
		if c < len(row) {
			cells[c] = strings.ReplaceAll(row[c], "\r\n", "\n")
		}
	}
	// A cell without a column would have no name; most likely a separator in a text is not in
	// quotes.
	if len(row) > len(head) {
		r.out.Refused = append(r.out.Refused, r.fault(at, "row %d has %d fields, and there are only %d columns",
			i, len(row), len(head)))
		return
	}
	file, joined := path.Base(r.Path), strings.Join(cells, "\t")
	// The title names the file and the row if no column describes the row.
	title := file + fmt.Sprintf(" (row %d)", i)
	if label := cell(head, cells, labels...); label != "" {
		title = truncate(file+" · "+label, maxTitle)
	}
	id := truncate(cell(head, cells, "id", "uuid", "key", "source_id", "source id", "sourceid"), maxRowID)
	n := Note{
		Source: "csv-import", SourceID: cmp.Or(id, digest(digestID, joined, file, strconv.Itoa(i))),
		Path: fmt.Sprintf("imports/csv/row-%05d-%s.md", i, digest(digestName, joined, file, strconv.Itoa(i))),
		Fields: []markdown.Field{
			{Key: "csv_file", Value: file}, {Key: "row_index", Value: number(i)},
			{Key: "import_column_headers", Value: listed(head)},
		},
		Body:     rowBody(title, head, cells),
		Location: fault.Location{File: r.Path, Line: at},
	}
	r.add(conversation(n, title))
}

// cell returns the text of the first of some columns that has one, on one line; "" if none has.
// Names of columns are compared without case, and the order is that of names.
func cell(head, cells []string, names ...string) string {
	for _, name := range names {
		for c, column := range head {
			if strings.EqualFold(column, name) && line(cells[c]) != "" {
				return line(cells[c])
			}
		}
	}
	return ""
}

// listed returns texts as a list value of frontmatter.
func listed(texts []string) []any {
	all := make([]any, len(texts))
	for i, s := range texts {
		all[i] = s
	}
	return all
}

// rowBody returns a row as a list, and as JSON. Empty cells are shown as a dash. Lines of a cell
// after the first are indented, so that they stay in the list item.
func rowBody(title string, head, cells []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", title)
	members := make([]string, len(head))
	for c, name := range head {
		shown := cmp.Or(strings.ReplaceAll(strings.TrimSpace(cells[c]), "\n", "\n  "), "—")
		fmt.Fprintf(&b, "- **%s:** %s\n", name, shown)
		members[c] = quoted(name) + ":" + quoted(cells[c])
	}
	fmt.Fprintf(&b, "\n## Full row (JSON)\n\n%s", fenced(json.RawMessage("{"+strings.Join(members, ",")+"}")))
	return b.String()
}

// quoted returns a text as a JSON string, without escapes for <, > and &.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return `""` // never: texts can be encoded
	}
	return strings.TrimSpace(b.String())
}
