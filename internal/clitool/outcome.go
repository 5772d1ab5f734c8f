package clitool

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An Outcome is the result of a command that calls no tool. Data must be set if a program may read
// the answer; Text may be empty. On a terminal, control characters in Text are escaped. A Fault may
// come with Data and Text, such as the findings of a check that has failed.
type Outcome struct {
	Data  any          // data of the answer, for programs
	Text  string       // shown to people instead of Data
	Fault *fault.Fault // nil: the command succeeded
}

// Finish prints the result of an Extra command in the form of a tool's answer: an envelope, the
// bare data, or text. A failure includes the data in its envelope and is printed at the end of Run,
// which derives the exit code from it. RunE must return the result of Finish.
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
