package notes

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/convert"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// The types of imports that package convert does not implement.
const (
	importRaven  = "raven"  // the files of a vault, with its audit log
	importMemory = "memory" // memories in the format of memory_export
)

// maxImportFiles is the maximum number of files, or parts of files, of one call.
const maxImportFiles = 1000

// An importIn is the input of notes_import. Project, OutputDir and Tags apply only to types that
// make new notes.
type importIn struct {
	tool.Vault
	// the source program or format
	Type string `json:"type" enum:"markdown,chatgpt-export,claude-export,mem0-export,mif,json-rows,generic-csv,raven,memory"`
	// the files of the export; one whose name ends in .zip is unpacked
	Files []importFile `json:"files"`
	// project of the new notes
	Project string `json:"project,omitempty" complete:"project"`
	// folder of the new notes
	OutputDir string `json:"output_dir,omitempty" what:"path" absent:"projects/PROJECT/inbox; without a project inbox"`
	// tags to add to the new notes
	Tags []string `json:"tags,omitempty"`
	tool.Mutation
}

// An importFile is one file of an export, or one part of a file.
//
// Content is for texts and Base64 for archives and other binary files; only one of them can be
// given. A client can split a large file over several calls. Offset is the number of lines of the
// file before Content, so that problems name the lines of the whole file.
type importFile struct {
	// its path in the export
	Path string `json:"path" size:"id"`
	// its text
	Content string `json:"content,omitempty" max:"4194304"`
	// its bytes, if it is not text
	Base64 string `json:"content_base64,omitempty" max:"4194304"`
	// for a file in several pieces: the number of this piece, from 1
	Part int `json:"part,omitempty" min:"0"`
	// elements or rows of the file in the pieces before
	Offset int `json:"offset,omitempty" min:"0"`
}

// An importOut is the answer of notes_import. It is used also if some notes were refused: then the
// call has an error as well.
//
// Imported lists the created notes in the order of the export. The metadata contains the number of
// skipped notes, and the files of which nothing was imported.
type importOut struct {
	tool.Aside `json:"-"`
	// notes that this call wrote; meta.skipped counts existing ones
	Imported []importedNote `json:"imported"`
	Count    int            `json:"count"`
	DryRun   bool           `json:"dry_run,omitempty"`

	partly bool // other notes were refused
}

// Partly reports that the import succeeded for some notes and failed for others. It implements
// tool.Partial.
func (o *importOut) Partly() bool { return o.partly }

// An importedNote is a note that was created.
type importedNote struct {
	Path string `json:"path"`
	// its id in the source
	SourceID string `json:"source_id"`
}

// importFiles returns the tool that imports exports of other products, vaults, and memories.
func (f tools) importFiles() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_import", Short: "import", Family: Family, Title: "Import files as notes",
		Role: auth.Editor, Kind: tool.Write, Idempotent: true, List: "imported",
		Route:    tool.Route{Method: "POST", Path: "/import"},
		Commands: []tool.Command{{Words: "import", Args: []string{"type"}}},
		// The command line reads a file, an archive or a folder, and divides input that is too
		// large for one call.
		Input: &tool.Files{
			Arg: "files", MaxFiles: maxImportFiles, MaxBytes: tool.MaxBody - 256<<10,
			Body: "content", Binary: "content_base64", Any: true, Single: true,
			Split: map[string]tool.Split{".json": tool.Elements, ".csv": tool.Rows, ".tsv": tool.Rows,
				".jsonl": tool.Lines},
			Pick: &tool.Pick{Arg: "type", Names: importNames()},
		},
	}, f.importNotes)
}

// importNames returns the patterns of the file names of each type of import.
func importNames() map[string][]string {
	names := map[string][]string{
		importRaven:  {"*.md", "schema.yaml", "raven.yaml", "rookery.yaml", ".raven/audit.log", ".raven/audit.*.log"},
		importMemory: {"*.jsonl", "*.md"},
	}
	for _, k := range convert.Kinds() {
		names[string(k)] = k.FilePatterns()
	}
	return names
}

// importNotes imports the notes of the files. Notes that are refused do not stop the import of the
// others: the output then has both the imported notes and an error. An import can be repeated:
// notes that the vault has already, by their source and id, are skipped.
//
// The steps are: open the files and unpack archives; convert them to notes; compose the texts;
// write all valid notes as one commit. Only the last step reads notes of the vault, and only it is
// repeated if another commit comes first.
func (f tools) importNotes(ctx context.Context, c auth.Caller, in importIn) (importOut, error) {
	files, err := in.files()
	if err != nil {
		return importOut{}, err
	}
	switch in.Type {
	case importRaven:
		return f.importVault(ctx, c, in, files)
	case importMemory:
		return f.importMemories(ctx, c, in, files)
	}
	read, err := convert.Read(convert.Kind(in.Type), files)
	if err != nil {
		return importOut{}, err
	}
	v, err := f.Vault(ctx, c, in.Vault.Vault)
	if err != nil {
		return importOut{}, err
	}
	job, err := in.job(read, v.Now())
	if err != nil {
		return importOut{}, err
	}
	out, err := mutation.Draft(ctx, f.Source, mutation.Request{
		Caller: c, Vault: in.Vault.Vault, Mutation: &in.Mutation,
	}, job.run)
	if err != nil {
		return out, err
	}
	out.leaveOut(read.Skipped)
	// The draft was written: the error below is about the other notes only.
	refused := fault.Join(commonCode(job.refused), job.refused)
	if refused == nil {
		return out, nil
	}
	out.partly = true
	return out, refused
}

// A leftOut is a file from which no note was made, with the reason.
type leftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// leaveOut lists files that are not part of the export, up to fault.MaxProblems of them.
func (o *importOut) leaveOut(files []string) {
	var left []leftOut
	for _, path := range files[:min(len(files), fault.MaxProblems)] {
		left = append(left, leftOut{path, "not a file of this export format"})
	}
	if len(left) > 0 {
		o.Note("left_out", left)
	}
}

// commonCode returns the code that all problems share, or INVALID_PARAMETER if they have different
// codes or there are none. A client that handles a code sees it even if several files have the
// problem.
func commonCode(problems []*fault.Fault) fault.Code {
	code := fault.InvalidParameter
	if len(problems) > 0 {
		code = problems[0].Code
	}
	if slices.ContainsFunc(problems, func(f *fault.Fault) bool { return f.Code != code }) {
		return fault.InvalidParameter
	}
	return code
}

// files returns the files of the call, with archives unpacked. It returns all problems as one
// fault, and no files then: an import with a damaged file would be incomplete without a notice.
func (in *importIn) files() ([]convert.File, error) {
	if len(in.Files) == 0 {
		return nil, fault.New(fault.InvalidParameter, "files must have at least one file").With("argument", "files")
	}
	var all []convert.File
	var problems []*fault.Fault
	for _, f := range in.Files {
		some, err := f.open(in.Type)
		if err != nil {
			problems = append(problems, fault.Of(err).With("argument", "files"))
		}
		all = append(all, some...)
	}
	return all, fault.Join(commonCode(problems), problems).Err()
}

// open returns the file of an entry or, if it is an archive, the files in it. Hidden files of an
// archive are left out, except the audit logs of a vault. kind is the type of the import.
func (f importFile) open(kind string) ([]convert.File, error) {
	path, err := notePath("files", f.Path)
	if err != nil {
		return nil, err
	}
	file := convert.File{Path: path, Data: []byte(f.Content), Offset: f.Offset}
	if f.Base64 != "" {
		if f.Content != "" {
			return nil, fault.New(fault.InvalidParameter, "a file has content or content_base64, not both").At(path, 0)
		}
		if file.Data, err = base64.StdEncoding.DecodeString(f.Base64); err != nil {
			return nil, fault.New(fault.InvalidParameter,
				"content_base64 is not base64: standard alphabet, with padding").
				At(path, 0)
		}
	}
	if !convert.IsArchive(path) {
		return []convert.File{file}, nil
	}
	return convert.Unpack(file, func(name string) bool {
		return !convert.IsHidden(name) || kind == importRaven && vault.Path(name).Kind() == vault.KindAudit
	})
}

// An importJob creates the notes of one call.
//
// It is created once for each call. run can be called several times, with other transactions, and
// changes nothing in the job.
type importJob struct {
	*importIn
	notes   []convert.Note // the notes to write, with their texts
	folder  string         // folder of the new notes; empty: the root of the vault
	tags    []string       // tags for all notes, without #
	project string         // slug of the project for all notes; empty: none
	today   string         // date of a note that has none
	refused []*fault.Fault // problems of the notes that are not imported
}

// job checks the arguments and composes the texts of the notes. A note that is not valid is
// recorded as refused. now is the time of the call, whose day becomes the date of notes without
// one. It reads no vault, so its result does not depend on the version that is written.
//
// The reading of an export never fails because of one note: its problem is one of refused, with the
// place in the export. A wrong argument fails the call, because it would apply to all notes.
func (in *importIn) job(read *convert.Result, now time.Time) (*importJob, error) {
	folder, err := cleanPath("output_dir", in.OutputDir)
	if err != nil {
		return nil, err
	}
	j := &importJob{importIn: in, folder: folder, today: now.UTC().Format(time.DateOnly), refused: read.Refused}
	if in.Project != "" {
		if j.project = markdown.PlainSlug(in.Project); j.project == "" {
			return nil, fault.New(fault.InvalidParameter, "a project must contain a letter a to z or a digit").
				With("argument", "project")
		}
	}
	switch {
	// The folder of the call takes precedence, even if it is the root of the vault.
	case trim(in.OutputDir) != "":
	case j.project != "":
		j.folder = "projects/" + j.project + "/inbox"
	default:
		j.folder = "inbox"
	}
	// An element can have several tags, separated by commas, as on a command line.
	for _, list := range in.Tags {
		for tag := range strings.SplitSeq(list, ",") {
			if tag = strings.TrimPrefix(trim(tag), "#"); tag != "" && !slices.Contains(j.tags, tag) {
				j.tags = append(j.tags, tag)
			}
		}
	}
	for _, n := range read.Notes {
		if problem := j.finish(&n); problem != nil {
			j.refused = append(j.refused, problem)
			continue
		}
		j.notes = append(j.notes, n)
	}
	return j, nil
}

// run writes the notes that the vault does not have yet, in one transaction, and lists them in out.
// Existing ones are counted as skipped.
//
// The paths depend on the notes that the vault has, so they are determined here and not in job.
func (j *importJob) run(ctx context.Context, tx *repo.Tx, out *importOut) error {
	p := pathFinder{Tx: tx, known: knownSources(tx), next: map[string]int{}}
	out.Imported = make([]importedNote, 0, len(j.notes))
	skipped := 0
	var paths []string
	for _, n := range j.notes {
		path, there, err := p.find(ctx, n)
		if err != nil {
			return err
		}
		if there {
			skipped++
			continue
		}
		if err := tx.Put(ctx, path, n.Text); err != nil {
			return err
		}
		paths = append(paths, string(path))
		out.Imported = append(out.Imported, importedNote{string(path), n.SourceID})
	}
	out.Count, out.DryRun = len(out.Imported), j.DryRun
	out.Note("skipped", skipped)
	warnQuarantined(tx, &out.Aside, paths)
	return nil
}

// warnQuarantined adds a warning for each note whose frontmatter does not parse. The note is
// stored, and its text can be read.
func warnQuarantined(tx *repo.Tx, a *tool.Aside, paths []string) {
	for _, path := range paths {
		if n, ok := tx.Index().Note(path); ok && n.Quarantine() != nil {
			a.Warn("NOTE_QUARANTINED", path+" does not parse; it is kept as text",
				map[string]any{"path": path, "line": n.Quarantine().Line})
		}
	}
}
