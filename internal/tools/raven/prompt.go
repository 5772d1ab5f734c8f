package raven

import (
	"context"
	"fmt"
	"slices"
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
