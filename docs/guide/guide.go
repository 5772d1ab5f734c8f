// Package guide is the guide for users and agents, as the program carries it.
package guide

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.md
var files embed.FS

// A Page is one page of the guide.
type Page struct {
	Name    string // agents
	Title   string // its heading
	Summary string // its first sentence
	Text    string // all of it, in Markdown
}

// Pages are the pages: the one for agents first.
func Pages() []Page {
	var all []Page
	for _, name := range []string{
		"agents", "orientation", "notes", "tree", "queries", "order", "memory", "ci",
		"vaults", "http", "people", "obsidian", "hosting", "access",
		"cloud", "deploy",
	} {
		text, err := files.ReadFile(name + ".md")
		if err != nil {
			panic(fmt.Sprintf("guide: %v", err))
		}
		all = append(all, page(name, string(text)))
	}
	return all
}

// page takes the title and the summary off a page.
func page(name, text string) Page {
	title, rest, _ := strings.Cut(text, "\n")
	summary, _, _ := strings.Cut(strings.TrimSpace(rest), ". ")
	return Page{
		Name: name, Title: strings.TrimPrefix(title, "# "), Text: text,
		Summary: strings.Join(strings.Fields(summary), " ") + ".",
	}
}
