package raven

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

// promptFile returns the file prompt_NAME.md of docs: the text of a prompt, NAME.text, or its
// description. It panics if the file is missing, because then the program was built incorrectly.
func promptFile(name string) string {
	text, err := docs.ReadFile("prompt_" + name + ".md")
	if err != nil {
		panic(fmt.Sprintf("raven: prompt %s is not there: %v", name, err))
	}
	return string(text)
}

// A promptOut is the output of every prompt.
//
// A prompt changes nothing: its text tells a model which tools to call, and in which order.
type promptOut struct {
	tool.Aside `json:"-"`
	// the instructions, for a model
	Text string `json:"text"`
}

// A startWorkIn is the input of the prompt start_work.
type startWorkIn struct {
	tool.Vault
	// the file to work on: a file of the code, or a note of the vault
	Path string `json:"path" max:"512" complete:"path"`
}

// A recordLearntIn is the input of the prompt record_learnt.
type recordLearntIn struct {
	tool.Vault
	// subject of the work: a file, a topic or the id of a note
	About string `json:"about,omitempty" max:"512" complete:"id"`
}

// A weeklySummaryIn is the input of the prompt weekly_summary.
type weeklySummaryIn struct {
	tool.Vault
	// the note to which the summary is added; by default it is only shown
	To string `json:"to,omitempty" max:"512" complete:"path"`
}

// A promptFacts contains the values that are inserted into the text of a prompt; see fill.
//
// They adapt the text to the vault and to the caller, so that it names only traits that exist and
// asks for changes only where they are allowed.
type promptFacts struct {
	Vault  string
	Given  string   // the argument of the call
	Note   string   // the id of the note that Given names; empty: none
	Writes bool     // the caller may change the vault
	Dates  []string // the traits of the vault that are dates
	Open   []string // the traits of the vault that mark tasks
}

// complete sets the facts that depend on the vault and on the caller's role.
func (p *promptFacts) complete(v view, c auth.Caller) {
	if o, ok := v.Index.Find(p.Given); ok && p.Given != "" {
		p.Note = o.ID()
	}
	p.Writes = !c.ReadOnly && c.Role(p.Vault).Allows(auth.Editor)
	for _, t := range v.Index.Schema().Traits {
		if t.Type == "date" || t.Type == "datetime" {
			p.Dates = append(p.Dates, t.Name)
		}
	}
	p.Open = slices.Clone(p.Dates)
	if _, ok := v.Index.Schema().Trait("todo"); ok {
		p.Open = append(p.Open, "todo")
	}
}

// startWork returns the prompt that prepares an agent for work on a file.
func (f tools) startWork() *tool.Tool {
	return newPrompt(f, tool.Spec{
		Name: "raven_prompt_start_work", Short: "start_work", Title: "Start work on a file",
		Commands: []tool.Command{{Words: "prompt start-work", Args: []string{"path"}}},
		Uses:     []string{"notes_get", "notes_search", "raven_query", "memory_check_file", "memory_recall"},
	}, func(in startWorkIn) promptFacts { return promptFacts{Vault: in.Vault.Vault, Given: in.Path} })
}

// recordLearnt returns the prompt that makes an agent store the results of its work.
func (f tools) recordLearnt() *tool.Tool {
	return newPrompt(f, tool.Spec{
		Name: "raven_prompt_record_learnt", Short: "record_learnt", Title: "Record what was learnt",
		Commands: []tool.Command{{Words: "prompt record-learnt", Args: []string{"about?"}}},
		Uses: []string{"notes_get", "notes_search", "raven_add", "raven_edit", "raven_set",
			"notes_write", "raven_schema", "memory_store"},
	}, func(in recordLearntIn) promptFacts { return promptFacts{Vault: in.Vault.Vault, Given: in.About} })
}

// weeklySummary returns the prompt for a summary of the last week.
func (f tools) weeklySummary() *tool.Tool {
	return newPrompt(f, tool.Spec{
		Name: "raven_prompt_weekly_summary", Short: "weekly_summary", Title: "Weekly summary",
		Commands: []tool.Command{{Words: "prompt weekly-summary", Args: []string{"to?"}}},
		Uses:     []string{"raven_query", "notes_get", "memory_recall"},
	}, func(in weeklySummaryIn) promptFacts { return promptFacts{Vault: in.Vault.Vault, Given: in.To} })
}

// newPrompt returns the tool of a prompt. The Spec needs only a name, a title and the commands;
// facts returns the facts that follow from the input.
//
// The kind, the role, the route and the texts follow from the short name.
func newPrompt[In any](f tools, s tool.Spec, facts func(In) promptFacts) *tool.Tool {
	s.Family, s.Prompt, s.Role, s.Kind = Family, true, auth.Reader, tool.Read
	s.Route = tool.Route{Method: "GET", Path: "/prompts/" + strings.ReplaceAll(s.Short, "_", "-")}
	text := promptFile(s.Short + ".text")
	return tool.New(s, func(ctx context.Context, c auth.Caller, in In) (promptOut, error) {
		known := facts(in)
		v, err := f.view(ctx, c, known.Vault)
		if err != nil {
			return promptOut{}, err
		}
		known.complete(v, c)
		out := promptOut{Text: known.fill(text)}
		out.Note("version", v.Version())
		return out, nil
	})
}

// fill returns the text of a prompt with the facts inserted. A line that begins with a condition,
// such as {if note}, is omitted if the condition is false. {step} at the beginning of a line, after
// any condition, becomes the next number. {vault} and similar names are replaced by facts. fill
// panics on an unknown condition.
//
// It does not use text/template, because that makes the linker keep every method of every type
// (docs/design/0032).
func (p promptFacts) fill(text string) string {
	facts, conditions := p.replacer(), p.conditions()
	steps := 0
	var b strings.Builder
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "{if "); ok {
			condition, then, _ := strings.Cut(rest, "}")
			holds, known := conditions[condition]
			if !known {
				panic(fmt.Sprintf("raven: a prompt has no condition %q", condition))
			}
			if !holds {
				continue
			}
			line = then
		}
		if rest, ok := strings.CutPrefix(line, "{step}"); ok {
			steps++
			b.WriteString(strconv.Itoa(steps) + ".")
			line = rest
		}
		_, _ = facts.WriteString(&b, line) // writes to a Builder cannot fail
	}
	return b.String()
}

// conditions returns the conditions that the texts use, by name.
//
// A text may only use these names; fill panics on others.
func (p promptFacts) conditions() map[string]bool {
	writes := p.Given != "" && p.Writes
	return map[string]bool{
		"note": p.Note != "", "no note": p.Note == "", "code": p.Note == "" && p.Given != "",
		"dates": len(p.Dates) > 0, "no dates": len(p.Dates) == 0, "open": len(p.Open) > 0,
		"append": writes && p.Note != "", "create": writes && p.Note == "", "show": !writes,
	}
}

// replacer returns a Replacer that inserts the facts.
func (p promptFacts) replacer() *strings.Replacer {
	about, date := "", ""
	if p.Given != "" {
		about = " about " + strconv.Quote(p.Given)
	}
	if len(p.Dates) > 0 {
		date = p.Dates[0]
	}
	return strings.NewReplacer(
		"{vault}", strconv.Quote(p.Vault), "{given}", strconv.Quote(p.Given),
		"{note}", strconv.Quote(p.Note), "{about}", about, "{date}", date,
		"{open}", traitLists(p.Open, ""), "{late}", traitLists(p.Dates, " .value==past"),
	)
}

// traitLists returns one query call for each trait. test is appended to each query.
//
// The calls are written as a model sees them: the name of the tool and its arguments as JSON.
func traitLists(traits []string, test string) string {
	var calls []string
	for _, name := range traits {
		calls = append(calls, fmt.Sprintf("`raven_query` `{\"query\": %q}`", "trait:"+name+test))
	}
	return strings.Join(calls, " and ")
}
