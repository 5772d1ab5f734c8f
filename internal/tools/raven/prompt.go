package raven

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"text/template"

	"rookery/internal/auth"
	"rookery/internal/tool"
)

// promptTexts are the instructions, and what each of them is for: prompt_NAME.text.md and
// prompt_NAME.md. The texts are templates.
//
//go:embed prompt_*.md
var promptTexts embed.FS

// promptTemplates parses all texts. They are part of the program: one that does not parse is malformed.
func promptTemplates() *template.Template {
	return template.Must(template.ParseFS(promptTexts, "prompt_*.text.md"))
}

// promptDoc is what a prompt is for.
func promptDoc(name string) string {
	doc, err := promptTexts.ReadFile("prompt_" + name + ".md")
	if err != nil {
		panic(fmt.Sprintf("raven: prompt %s has no doc: %v", name, err))
	}
	return string(doc)
}

type promptOut struct {
	tool.Aside `json:"-"`
	Text       string `json:"text" jsonschema:"the instruction, for a model"`
}

type startWorkIn struct {
	tool.Vault
	Path string `json:"path" max:"512" complete:"path" jsonschema:"the file that work begins on: one of the code, or a note of the vault"`
}

type recordLearntIn struct {
	tool.Vault
	About string `json:"about,omitempty" max:"512" complete:"id" jsonschema:"what was worked on: a file, a topic or the id of a note"`
}

type weeklySummaryIn struct {
	tool.Vault
	To string `json:"to,omitempty" max:"512" complete:"path" jsonschema:"the note that the summary goes into; without it, it is only shown"`
}

// promptFacts are what the texts are filled with.
type promptFacts struct {
	Vault string
	Given string // what the person gave
	Note  string // the id of the note that this names, empty if it names none
}

func (f tools) startWork() *tool.Tool {
	return newPrompt(f, tool.Spec{
		Name: "raven_prompt_start_work", Short: "start_work", Title: "Start work on a file",
		Commands: []tool.Command{{Words: "prompt start-work", Args: []string{"path"}}},
	}, func(in startWorkIn) promptFacts { return promptFacts{in.Vault.Vault, in.Path, ""} })
}

func (f tools) recordLearnt() *tool.Tool {
	return newPrompt(f, tool.Spec{
		Name: "raven_prompt_record_learnt", Short: "record_learnt", Title: "Record what was learnt",
		Commands: []tool.Command{{Words: "prompt record-learnt", Args: []string{"about?"}}},
	}, func(in recordLearntIn) promptFacts { return promptFacts{in.Vault.Vault, in.About, ""} })
}

func (f tools) weeklySummary() *tool.Tool {
	return newPrompt(f, tool.Spec{
		Name: "raven_prompt_weekly_summary", Short: "weekly_summary", Title: "Weekly summary",
		Commands: []tool.Command{{Words: "prompt weekly-summary", Args: []string{"to?"}}},
	}, func(in weeklySummaryIn) promptFacts { return promptFacts{in.Vault.Vault, in.To, ""} })
}

// newPrompt makes a prompt of a Spec that says how it is called, and of what it takes from its
// input.
func newPrompt[In any](f tools, s tool.Spec, facts func(In) promptFacts) *tool.Tool {
	s.Family, s.Prompt, s.Role, s.Kind = Family, true, auth.Reader, tool.Read
	s.Doc = promptDoc(s.Short)
	s.Route = tool.Route{Method: "GET", Path: "/prompts/" + strings.ReplaceAll(s.Short, "_", "-")}
	text := promptTemplates().Lookup("prompt_" + s.Short + ".text.md")
	return tool.New(s, func(ctx context.Context, c auth.Caller, in In) (promptOut, error) {
		known := facts(in)
		v, err := f.view(ctx, c, known.Vault)
		if err != nil {
			return promptOut{}, err
		}
		if o, ok := v.idx.Find(known.Given); ok && known.Given != "" {
			known.Note = o.ID()
		}
		var b strings.Builder
		if err := text.Execute(&b, known); err != nil {
			return promptOut{}, fmt.Errorf("fill in the prompt: %w", err)
		}
		out := promptOut{Text: b.String()}
		out.Note("version", v.version())
		return out, nil
	})
}
