package doctor

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Fault returns the fault of the first finding that is an error; nil if there is none. Its code and
// fix are those of the finding, and its message has the number of errors if there are several.
func Fault(found []Finding) *fault.Fault {
	var first *Finding
	failed := 0
	for i, f := range found {
		if f.Level != LevelError {
			continue
		}
		if failed++; first == nil {
			first = &found[i]
		}
	}
	if first == nil {
		return nil
	}
	f := fault.New(first.Code, "%s: %s", first.Check, first.Message)
	if failed > 1 {
		f = fault.New(first.Code, "%d checks found something broken; the first is %s: %s", failed,
			first.Check, first.Message)
	}
	if first.Fix != "" {
		f = f.Fix("%s", first.Fix)
	}
	return f
}

// Table returns the findings as a table, one line each: the level, the check, the vault and the
// message. The fix is on the line below, in the column of the messages.
func Table(found []Finding) string {
	var cells, b strings.Builder
	for _, f := range found {
		of := f.Vault
		if f.Tenant != "" {
			of = f.Tenant + "/" + f.Vault
		}
		fmt.Fprintf(&cells, "%s\t%s\t%s\t%s\n", f.Level, f.Check, of, onOneLine(f.Message))
		if f.Fix != "" {
			fmt.Fprintf(&cells, "\t\t\ttry: %s\n", onOneLine(f.Fix))
		}
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, err := w.Write([]byte(cells.String()))
	if err = errors.Join(err, w.Flush()); err != nil {
		panic(err) // never: a strings.Builder returns no errors
	}
	return b.String()
}

// onOneLine returns a text on one line, for a cell of the table. A line break or a tab in a message
// would break the columns.
func onOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
