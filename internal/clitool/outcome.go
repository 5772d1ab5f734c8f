package clitool

import (
	"fmt"

	"github.com/spf13/cobra"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// An Outcome is what a command that calls no tool came to.
type Outcome struct {
	Data  any          // of the answer, for programs
	Text  string       // what people see in its place
	Fault *fault.Fault // why it failed; nil: it did not
}

// Finish prints what a command of Extra came to as the answer of a tool is printed: an envelope, the
// bare data, or text. A failure has its data in the envelope, and is printed at the end of Run. What
// Finish answers is what RunE is to answer.
func (a *App) Finish(c *cobra.Command, o Outcome) error {
	f, err := formFor(c)
	if err != nil {
		return err
	}
	raw, err := tool.Marshal(o.Data)
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	data, err := decode(raw)
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	p, ans := a.printer(f), &answer{ok: o.Fault == nil, data: data, fault: o.Fault}
	if f == forPeople {
		p.printf("%s", o.Text)
		ans.data = value{kind: nullKind}
	}
	switch {
	case o.Fault != nil:
		return &failure{fault: o.Fault, answer: ans, form: f}
	case f == forPeople:
		return nil
	}
	return p.success(ans, "")
}
