package raven

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

// promptTexts are the instructions, and what each of them is for: prompt_NAME.text.md and
// prompt_NAME.md.
//
//go:embed prompt_*.md
var promptTexts embed.FS

// promptFile returns one of the texts. They are part of the program: without it, that is malformed.
func promptFile(name string) string {
	text, err := promptTexts.ReadFile("prompt_" + name + ".md")
	if err != nil {
		panic(fmt.Sprintf("raven: prompt %s is not there: %v", name, err))
	}
	return string(text)
}

type promptOut struct {
	tool.Aside `json:"-"`
	Text       string `json:"text" jsonschema:"the instructions, for a model"`
}

type startWorkIn struct {
	tool.Vault
	Path string `json:"path" max:"512" complete:"path" jsonschema:"the file to work on: a file of the code, or a note of the vault"`
}

type recordLearntIn struct {
	tool.Vault
	About string `json:"about,omitempty" max:"512" complete:"id" jsonschema:"subject of the work: a file, a topic or the id of a note"`
}

type weeklySummaryIn struct {
	tool.Vault
	To string `json:"to,omitempty" max:"512" complete:"path" jsonschema:"the note to which the summary is added; by default it is only shown"`
}

// promptFacts fill in the texts; see fill.
type promptFacts struct {
	Vault  string
	Given  string   // the argument of the person
	Note   string   // the id of the note that this names, empty if it names none
	Writes bool     // the caller may change the vault
	Dates  []string // the traits of the vault that are dates
	Open   []string // the traits of the vault that mark tasks
}

// complete adds what the vault and the caller's role say.
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

func (f tools) startWork() *tool.Tool {
	return newPrompt(f, tool.Spec{
		Name: "raven_prompt_start_work", Short: "start_work", Title: "Start work on a file",
		Commands: []tool.Command{{Words: "prompt start-work", Args: []string{"path"}}},
		Uses:     []string{"notes_get", "notes_search", "raven_query", "memory_check_file", "memory_recall"},
	}, func(in startWorkIn) promptFacts { return promptFacts{Vault: in.Vault.Vault, Given: in.Path} })
}

func (f tools) recordLearnt() *tool.Tool {
	return newPrompt(f, tool.Spec{
		Name: "raven_prompt_record_learnt", Short: "record_learnt", Title: "Record what was learnt",
		Commands: []tool.Command{{Words: "prompt record-learnt", Args: []string{"about?"}}},
		Uses: []string{"notes_get", "notes_search", "raven_add", "raven_edit", "raven_set",
			"notes_write", "raven_schema", "memory_store"},
	}, func(in recordLearntIn) promptFacts { return promptFacts{Vault: in.Vault.Vault, Given: in.About} })
}

func (f tools) weeklySummary() *tool.Tool {
	return newPrompt(f, tool.Spec{
		Name: "raven_prompt_weekly_summary", Short: "weekly_summary", Title: "Weekly summary",
		Commands: []tool.Command{{Words: "prompt weekly-summary", Args: []string{"to?"}}},
		Uses:     []string{"raven_query", "notes_get", "memory_recall"},
	}, func(in weeklySummaryIn) promptFacts { return promptFacts{Vault: in.Vault.Vault, Given: in.To} })
}

// newPrompt makes a prompt of a Spec that says how it is called, and of what it takes from its
// input.
func newPrompt[In any](f tools, s tool.Spec, facts func(In) promptFacts) *tool.Tool {
	s.Family, s.Prompt, s.Role, s.Kind = Family, true, auth.Reader, tool.Read
	s.Doc = promptFile(s.Short)
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
