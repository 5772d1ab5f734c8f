package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A resolveIn is the input of raven_resolve.
type resolveIn struct {
	tool.Vault
	// the text between the brackets: people/freya, freya, an alias, 2026-03-02; or today, tomorrow,
	// yesterday
	Reference string `json:"reference" complete:"id" alias:"target,id"`
	tool.AsOf
}

// A resolveOut has one of three forms (raven.md §6.8): the target, several candidates, or neither.
//
// A reference that does not resolve is no error: the tool exists to find that out.
type resolveOut struct {
	tool.Aside `json:"-"`
	Resolved   bool `json:"resolved"`
	*Found
	*Candidates
}

// Found is the target of a reference. For a day without a note, ID is that of the daily note it
// would have.
type Found struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// null for a day without a note
	FilePath *string `json:"file_path"`
	// kind of the match: id, path, short_name, name_field, title, alias, suffix, date, section,
	// keyword
	MatchSource string `json:"match_source"`
}

// Candidates are the possible targets of an ambiguous reference.
type Candidates struct {
	Ambiguous bool `json:"ambiguous"`
	// ids of the candidates, at most 200
	Matches []string `json:"matches"`
}

// resolve returns the tool raven_resolve, which finds the target of a reference.
func (f tools) resolve() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_resolve", Family: Family, Title: "Resolve a reference",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/resolve"},
		Commands: []tool.Command{{Words: "resolve", Args: []string{"reference"}}},
	}, func(_ context.Context, v view, in resolveIn) (resolveOut, error) {
		return resolved(v.Index.ResolveArg(in.Reference, v.Clock)), nil
	})
}

// resolved returns a resolution as the answer shows it.
func resolved(to index.Resolution) resolveOut {
	switch {
	case len(to.Matches) > 0:
		return resolveOut{Candidates: &Candidates{true, firstOf(to.Matches, maxCandidates)}}
	case to.ID == "":
		return resolveOut{}
	}
	found := &Found{ID: to.ID, Type: vault.Daily, MatchSource: to.Source}
	if n := to.Object.Note; n != nil {
		found.Type, found.FilePath = to.Object.Type(), &n.Path
	}
	return resolveOut{Resolved: true, Found: found}
}
