// Package notes contains the tools of the notes family, which access notes as Markdown with
// frontmatter, by path (spec/knowtation-cli-json.md).
//
// The specification is that of another product, whose clients use these tools unchanged. Names of
// arguments, the forms of answers, slugs and the order of lists therefore follow it, and the
// frontmatter is read as JavaScript programs read it (markdown.StrictHead). Where the specification
// allows it, the tools do more: answers have the version of the vault, and tools that read notes
// take as_of.
//
// # Reading
//
// The tools that read one note (get.go) find it by its path with document, which returns its text
// as frontmatter and body. The tools that list or search notes share a filter (filter.go). It
// decides about most notes from their rows in the index, which are small and adjacent in memory,
// and reads the others from their cards; no text is read. list.go selects one page of the result
// with a pageSelector, whose memory does not grow with the vault. search.go ranks by words, or
// finds an exact text: the search index names the candidates, and their texts are read to verify
// them.
//
// # Writing
//
// write.go creates or changes one note. import.go imports files of other products and of vaults,
// and memories (importfile.go, with package convert). export.go returns notes as files. All writes
// are drafts of package mutation, which adds dry runs, expected versions and idempotency.
package notes

import (
	"context"
	"embed"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Family is the family of these tools. In the bare form, answers and failures have the format of
// the specification; a failure is {error, code}. Every invalid argument has the code
// INVALID_PARAMETER, unless a tool says otherwise.
var Family = &tool.Family{
	Name: "notes", Base: "/v1/vaults/{vault}", Docs: docs,
	Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter, Several: fault.InvalidParameter,
	Terse: true, Bare: bare, Exit: exit,
}

// docs contains the documentation of the tools, each in a file that is named after the tool.
//
//go:embed *.md
var docs embed.FS

// A failure is a fault in the bare form.
type failure struct {
	Error string     `json:"error"`
	Code  fault.Code `json:"code"`
}

// bare converts a fault to the bare form. The message contains the location in a file, because the
// form has no other member for it. Fixes and details are not part of the form.
func bare(f *fault.Fault) any {
	message := f.Message
	if at := f.Location; at != nil && at.Line > 0 {
		message = fmt.Sprintf("%s:%d: %s", at.File, at.Line, message)
	} else if at != nil {
		message = at.File + ": " + message
	}
	return failure{message, f.Code}
}

// The exit codes of a command that failed. A command line that cannot be parsed also exits with
// exitUsage.
const (
	exitUsage   = 1 // an argument is wrong
	exitRuntime = 2 // anything else
)

// exit returns the exit code for a fault: exitUsage if the caller can correct the arguments, and
// otherwise exitRuntime.
//
// The codes are those of the specification.
func exit(c fault.Code) int {
	if c.Status() == fault.StatusInvalidArgument {
		return exitUsage
	}
	return exitRuntime
}

// Tools returns the tools of the family for these tenants. memories reads the files of an import of
// memories.
func Tools(t *tenant.Registry, memories MemoryReader) []*tool.Tool {
	f := tools{state.Source{Teams: t, Family: Family}, memories}
	return []*tool.Tool{
		f.get(), f.outline(), f.tree(), f.facets(), f.list(), f.search(), f.complete(),
		f.write(), f.export(), f.importFiles(),
	}
}

// A tools has the functions of the tools as methods, and the access to vaults that they share.
type tools struct {
	state.Source
	memories MemoryReader // imports memories
}

// The kinds of values that can be completed. The tag `complete` of an argument names one.
const (
	kindProject = "project"
	kindTag     = "note_tag"
)

// A completeIn is the input of notes_complete: the kind, and the typed prefix with the limit of a
// page.
type completeIn struct {
	tool.Vault
	// the kind of suggestions
	Kind string `json:"kind" enum:"project,note_tag"`
	tool.CompletionIn
}

// complete returns the tool that completes names of projects and tags.
func (f tools) complete() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_complete", Short: "complete", Family: Family, Title: "Complete a project or tag",
		Role: auth.Reader, Kind: tool.Read,
		Route:     tool.Route{Method: "GET", Path: "/note-complete"},
		Commands:  []tool.Command{{Words: "complete notes", Args: []string{"kind", "prefix?"}}},
		Completes: []string{kindProject, kindTag},
	}, f.completeValue)
}

// completeValue lists the slugs of projects or tags that begin with the typed prefix, sorted. Only
// notes that lists include are considered.
func (f tools) completeValue(ctx context.Context, c auth.Caller, in completeIn) (tool.Values, error) {
	return f.Complete(ctx, c, in.Vault.Vault, in.CompletionIn, func(v state.View) iter.Seq2[string, string] {
		return func(yield func(string, string) bool) {
			for _, slug := range slices.Sorted(maps.Keys(in.slugs(ctx, v))) {
				if !yield(slug, "") {
					return
				}
			}
		}
	})
}

// slugs returns the set of slugs of the requested kind. It is incomplete if the call ends early. A
// slug that is longer than an argument may be is left out, because it could not be used. It goes
// through the rows of all notes.
//
// A shell needs the values of the prefix only, but the index has no list of slugs in order, so all
// are collected for each call.
func (in *completeIn) slugs(ctx context.Context, v state.View) map[string]bool {
	slugs := map[string]bool{}
	add := func(slug string) {
		if slug != "" && len(slug) <= tool.MaxID {
			slugs[slug] = true
		}
	}
	for r := range rowsWith(ctx, v.Index, &filter{}) {
		if in.Kind == kindProject {
			add(r.Project())
			continue
		}
		for _, tag := range r.Card().Tags {
			add(tag)
		}
	}
	return slugs
}

// drive matches the beginning of an absolute path on Windows.
var drive = regexp.MustCompile(`^[A-Za-z]:`)

// cleanPath returns the path in an argument in the form of the paths of a vault: without
// surrounding space, empty segments and `.`, and with / as the separator. The root of the vault is
// "". It returns INVALID_PATH for a path that could lead out of the vault: an absolute one, one
// with a drive, and one with `..`, even if it would lead back. The fault does not quote the path.
func cleanPath(argument, path string) (string, error) {
	path = strings.ReplaceAll(trim(path), `\`, "/")
	segments := strings.Split(path, "/")
	switch {
	case strings.ContainsRune(path, 0):
		return "", badPath(argument, "a path must not contain NUL")
	case strings.HasPrefix(path, "/"):
		return "", badPath(argument, "a path must be relative to the vault and not begin with /")
	case drive.MatchString(path):
		return "", badPath(argument, "a path must be relative to the vault and not contain a drive")
	case slices.Contains(segments, ".."):
		return "", badPath(argument, "a path must not contain the folder ..")
	}
	segments = slices.DeleteFunc(segments, func(s string) bool { return s == "" || s == "." })
	return vault.CleanPath(strings.Join(segments, "/")), nil
}

// badPath returns an INVALID_PATH fault about an argument.
func badPath(argument, message string) error {
	return fault.New(fault.InvalidPath, "%s", message).With("argument", argument)
}

// notePath returns the path of a note in an argument, as cleanPath does, but refuses the root. It
// does not read the vault, so an invalid path costs no request.
func notePath(argument, path string) (string, error) {
	path, err := cleanPath(argument, path)
	if err == nil && path == "" {
		err = badPath(argument, "a path must not be empty")
	}
	return path, err
}

// noteAt returns the note at a path from notePath, which may omit `.md`. A path that exists as it
// is written takes precedence. It returns NOT_FOUND if there is none.
//
// The suffix is optional because people type paths without it. Only .md is tried, and only at the
// end.
func noteAt(idx *index.Index, path string) (*index.Note, error) {
	if n, ok := idx.Note(path); ok {
		return n, nil
	}
	if n, ok := idx.Note(path + ".md"); ok {
		return n, nil
	}
	return nil, noNote(idx, path)
}

// maxNear is the maximum number of similar paths that a fault suggests.
const maxNear = 3

// noNote returns the NOT_FOUND fault for a path, with calls that read the notes with the most
// similar paths, or a call that lists notes if there are none. It says so if the setting exclude
// hides the note.
func noNote(idx *index.Index, path string) error {
	message := "there is no note at that path"
	if idx.Hides(path) || idx.Hides(path+".md") {
		message += ": it is excluded by " + vault.ConfigRaven
	}
	f := fault.New(fault.NotFound, "%s", message).With("argument", "path")
	var near []string
	for _, id := range idx.Nearest(strings.TrimSuffix(path, ".md")) {
		if n, ok := idx.ByID(id); ok && len(near) < maxNear {
			near = append(near, n.Path)
		}
	}
	if len(near) == 0 {
		return f.Try("notes_list", nil)
	}
	f = f.With("nearest", near)
	for _, path := range near {
		f = f.Try("notes_get", fault.Args{"path": path})
	}
	return f
}
