package notes

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/convert"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// finish sets the path in the vault and the whole text of a note. It returns a fault if the note
// would not be valid, or nil. The fault names the place in the export and the source id, and never
// quotes the note.
//
// A file of an export can contain private texts. So a fault names only the place, and has no fixes,
// which can quote a name.
func (j *importJob) finish(n *convert.Note) *fault.Fault {
	refuse := func(err error) *fault.Fault {
		f := *fault.Of(err)
		f.Fixes = nil // fixes can quote a name
		g := (&f).At(n.Location.File, n.Location.Line).With("source_id", n.SourceID)
		if g.Code == fault.InvalidValue || g.Code == fault.InvalidField {
			g.Code = fault.InvalidParameter
		}
		return g
	}
	p, err := vault.NewPath(path.Join(j.folder, vault.CleanPath(n.Path)))
	if err != nil {
		return refuse(err)
	}
	n.Path = string(p)
	if err := j.compose(n); err != nil {
		return refuse(err)
	}
	if len(n.Text) > repo.MaxNote {
		return refuse(fault.New(fault.NoteTooLarge, "the note would have %d bytes; a note has at most %d",
			len(n.Text), repo.MaxNote))
	}
	return nil
}

// compose sets the text of a note. A note that is Markdown already keeps its text and gets the
// fields that it lacks. If its frontmatter cannot be edited, it is not changed: the note is stored,
// quarantined, and reported with a warning.
//
// A note that is built from an export gets the provenance first, then the fields of the export,
// then those of the call. In a Markdown note the fields of its own take precedence over the
// provenance: a note that was imported before keeps its first source.
func (j *importJob) compose(n *convert.Note) (err error) {
	n.Date = cmp.Or(n.Date, j.today)
	if n.Text == nil {
		fields := append(provenance(n), n.Fields...)
		n.Text, err = markdown.Compose(j.withOwn(fields, nil), strings.TrimRight(n.Body, "\n")+"\n")
		return err
	}
	head, _ := markdown.StrictHead(bytes.TrimPrefix(n.Text, []byte("\ufeff")))
	var lacking []markdown.Field
	for _, f := range provenance(n) {
		if v, _ := head.Get(f.Key); v == nil || markdown.TextOf(v) == "" {
			lacking = append(lacking, f)
		}
	}
	tags, _ := head.Get("tags")
	if text, err := markdown.SetFields(n.Text, j.withOwn(lacking, markdown.TextsOf(tags))); err == nil {
		n.Text = text
	}
	return nil
}

// provenance returns the fields of every imported note, by which a later import recognizes it.
func provenance(n *convert.Note) []markdown.Field {
	return []markdown.Field{
		{Key: "source", Value: n.Source}, {Key: "source_id", Value: n.SourceID}, {Key: "date", Value: n.Date},
	}
}

// withOwn adds the project and the tags of the call to fields. tags are the tags that the note has;
// if they include all tags of the call, they are not written again. Otherwise all tags of the note
// are written as one list, the new ones last.
func (j *importJob) withOwn(fields []markdown.Field, tags []string) []markdown.Field {
	if j.project != "" {
		fields = append(fields, markdown.Field{Key: "project", Value: j.project})
	}
	all := slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return tag == "" })
	for _, tag := range j.tags {
		if !slices.Contains(all, tag) {
			all = append(all, tag)
		}
	}
	if len(all) == len(tags) {
		return fields
	}
	list := make([]any, len(all))
	for i, tag := range all {
		list[i] = tag
	}
	return append(fields, markdown.Field{Key: "tags", Value: list})
}

// An origin identifies a note in the product from which it was imported.
//
// Notes of the same origin are the same note: an import skips one whose origin the vault has
// already.
type origin struct{ source, id string }

// knownSources returns the origins of all notes of a vault. It goes through all notes, once for an
// import.
func knownSources(tx *repo.Tx) map[origin]bool {
	known := map[origin]bool{}
	for n := range tx.Before().Notes("") {
		if o := originIn(n); o.id != "" {
			known[o] = true
		}
	}
	return known
}

// originIn returns the origin that the fields of a note name, or the zero origin if it has no
// source_id. It reads the index and no text.
func originIn(n *index.Note) origin {
	id, ok := n.Field("source_id")
	if !ok {
		return origin{}
	}
	source, _ := n.Field("source")
	return origin{fieldText(source.Value), fieldText(id.Value)}
}

// fieldText returns the value of a field as a text.
func fieldText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// A pathFinder finds the paths of new notes. next makes many notes with the same name take linear
// time.
type pathFinder struct {
	*repo.Tx
	known map[origin]bool // origins of the notes in the vault and in the draft
	next  map[string]int  // by wanted name without suffix, the next number to try
}

// find returns the path for a new note: its own or, if that is taken, the next free one: a.md,
// a-2.md. there reports that the vault already has the note: a note of the same origin anywhere, or
// a note with the same text at one of these paths. Paths that differ only in case are the same
// path.
//
// The number in next only grows, so names that were found to be taken are not tried again in the
// same call.
func (p pathFinder) find(ctx context.Context, n convert.Note) (at vault.Path, there bool, err error) {
	from := origin{n.Source, n.SourceID}
	if p.known[from] {
		return "", true, nil
	}
	stem := strings.TrimSuffix(n.Path, ".md")
	key := vault.Fold(stem)
	for ; ; p.next[key]++ {
		at = vault.Path(n.Path)
		if k := p.next[key]; k > 0 {
			at = vault.Path(fmt.Sprintf("%s-%d.md", stem, k+1))
		}
		taken, ok := p.Folded(at)
		if !ok {
			p.known[from] = true
			return at, false, nil
		}
		text, _, err := p.Text(ctx, vault.Path(taken))
		if err != nil {
			return "", false, err
		}
		// The index does not have the fields of a quarantined note, so the text is compared as
		// well.
		if bytes.Equal(text, n.Text) || originOf(text) == from {
			return "", true, nil
		}
	}
}

// originOf returns the origin that the frontmatter of a text names. The index does not have it for
// a note that does not parse.
func originOf(text []byte) origin {
	head, _ := markdown.StrictHead(bytes.TrimPrefix(text, []byte("\ufeff")))
	of := func(name string) string {
		if v, _ := head.Get(name); v != nil {
			return markdown.TextOf(v)
		}
		return ""
	}
	return origin{of("source"), of("source_id")}
}

// A MemoryReader reads files of memories in the format of memory_export, for a vault. The function
// write stores them in a draft of the caller.
type MemoryReader = func(ctx context.Context, c auth.Caller, to convert.Batch) (
	write func(tx *repo.Tx) (convert.Stored, error), err error,
)

// importMemories imports memories. They are not stored as notes; the output lists them as
// memories/ID, the path under which the memory tools have them. The files are read before the
// transaction; its function only writes.
//
// The memories are read and checked by the memory family, through tools.memories, so that both
// imports accept the same files. The faults of that family are converted, because clients of this
// family do not know the codes of the other.
func (f tools) importMemories(
	ctx context.Context, c auth.Caller, in importIn, files []convert.File,
) (importOut, error) {
	if err := in.rejectNoteArgs("memories keep their fields"); err != nil {
		return importOut{}, err
	}
	write, err := f.memories(ctx, c, convert.Batch{Vault: in.Vault.Vault, DryRun: in.DryRun, Files: files})
	if err != nil {
		return importOut{}, translateFault(err)
	}
	out, err := mutation.Draft(ctx, f.Source, mutation.Request{
		Caller: c, Vault: in.Vault.Vault, Mutation: &in.Mutation,
	}, func(_ context.Context, tx *repo.Tx, out *importOut) error {
		stored, err := write(tx)
		out.Imported = make([]importedNote, 0, len(stored.IDs))
		for _, id := range stored.IDs {
			out.Imported = append(out.Imported, importedNote{"memories/" + id, id})
		}
		out.Count, out.DryRun = len(stored.IDs), in.DryRun
		out.Note("skipped", stored.Skipped)
		out.leaveOutLines(stored)
		return err
	})
	return out, translateFault(err)
}

// leaveOutLines lists the lines and links of memories that were not stored, and counts those beyond
// the list.
func (o *importOut) leaveOutLines(stored convert.Stored) {
	var left []leftOut
	for _, l := range stored.Left {
		left = append(left, leftOut{fmt.Sprintf("%s:%d", l.File, l.Line), l.Reason})
	}
	if len(left) > 0 {
		o.Note("left_out", left)
	}
	if stored.MoreLeft > 0 {
		o.Note("more_left_out", stored.MoreLeft)
	}
}

// rejectNoteArgs returns INVALID_PARAMETER, with the message why, if the call has an argument that
// applies only to new notes.
func (in *importIn) rejectNoteArgs(why string) error {
	var given []string
	for name, is := range map[string]bool{
		"project": in.Project != "", "output_dir": in.OutputDir != "", "tags": len(in.Tags) > 0,
	} {
		if is {
			given = append(given, name)
		}
	}
	if len(given) == 0 {
		return nil
	}
	slices.Sort(given)
	return fault.New(fault.InvalidParameter, "%s", why).With("argument", given[0]).Fix("leave %s out", given[0])
}

// translateFault returns an error of the memory family with the code of this family: INVALID_QUERY
// becomes INVALID_PARAMETER.
func translateFault(err error) error {
	if !fault.Is(err, fault.InvalidQuery) {
		return err
	}
	f := *fault.Of(err)
	f.Code = fault.InvalidParameter
	return &f
}

// A vaultFile is an imported file of a vault: a note, a file of settings or an audit log. Its bytes
// are not changed.
type vaultFile struct {
	path          vault.Path
	text          []byte
	alreadyLogged bool // an audit log that adds nothing to the vault's own
}

// importVault imports the files of another vault at their paths: all of them, or none. The notes
// keep their ids and, through the audit log, their times.
//
// The audit log of an export contains the commits of the notes, with their times. It is imported as
// a file of the vault, which the index reads; so notes that are imported with it keep their dates.
func (f tools) importVault(
	ctx context.Context, c auth.Caller, in importIn, files []convert.File,
) (importOut, error) {
	if err := in.rejectNoteArgs("files of a vault keep their paths and texts"); err != nil {
		return importOut{}, err
	}
	all, left, err := vaultFiles(files)
	if err != nil {
		return importOut{}, err
	}
	v, err := f.Vault(ctx, c, in.Vault.Vault)
	if err != nil {
		return importOut{}, err
	}
	if err := markLogged(ctx, v, all); err != nil {
		return importOut{}, err
	}
	out, err := mutation.Draft(ctx, f.Source, mutation.Request{
		Caller: c, Vault: in.Vault.Vault, Mutation: &in.Mutation,
	}, func(ctx context.Context, tx *repo.Tx, out *importOut) error {
		out.DryRun = in.DryRun
		return stageVault(ctx, tx, all, out)
	})
	if err == nil {
		out.leaveOut(left)
	}
	return out, err
}

// vaultFiles returns the files that can be part of a vault, and the names of the others. It returns
// all problems as one fault: an invalid name, a text that is not UTF-8, or a file that is too
// large. If no file is part of a vault, that is INVALID_PARAMETER.
//
// Files that are not part of any vault, such as pictures, are listed in the answer, and not
// refused.
func vaultFiles(files []convert.File) (all []vaultFile, left []string, err error) {
	var problems []*fault.Fault
	for _, f := range files {
		if vault.Path(f.Path).Kind() == vault.KindNone {
			left = append(left, f.Path)
			continue
		}
		path, err := vault.ParseFile(vault.CleanPath(f.Path))
		if err == nil {
			err = vault.CheckAdded(path)
		}
		switch {
		case err != nil:
		case !utf8.Valid(f.Data):
			err = fault.New(fault.InvalidParameter, "the file is not UTF-8")
		case len(f.Data) > repo.MaxNote:
			err = fault.New(fault.NoteTooLarge,
				"the file has %d bytes; a note has at most %d", len(f.Data), repo.MaxNote)
		}
		if err != nil {
			problems = append(problems, fault.Of(err).At(f.Path, 0).With("argument", "files"))
			continue
		}
		all = append(all, vaultFile{path: path, text: f.Data})
	}
	if len(all)+len(problems) == 0 {
		return nil, nil, fault.New(fault.InvalidParameter, "there are no files of a vault: the names of "+
			"notes end in .md").
			With("argument", "files")
	}
	return all, left, fault.Join(commonCode(problems), problems).Err()
}

// markLogged marks the audit logs whose lines are all in the vault's own audit log already. They
// are skipped, so that an import of a vault into itself changes nothing.
func markLogged(ctx context.Context, v *repo.Vault, files []vaultFile) error {
	var logs [][]byte
	var of []*vaultFile
	for i := range files {
		if f := &files[i]; f.path.Kind() == vault.KindAudit {
			logs, of = append(logs, f.text), append(of, f)
		}
	}
	if len(logs) == 0 {
		return nil
	}
	told, err := v.AuditTold(ctx, logs)
	for i := range told {
		of[i].alreadyLogged = told[i]
	}
	return err
}

// stageVault stages the files. A file that exists with the same text is skipped. If any exists with
// another text, it returns DUPLICATE_ID with all of them. Audit logs are files like the others
// here; the index reads them.
func stageVault(ctx context.Context, tx *repo.Tx, files []vaultFile, out *importOut) error {
	out.Imported = make([]importedNote, 0, len(files))
	var problems []*fault.Fault
	var paths []string
	skipped := 0
	for _, f := range files {
		old, there, err := tx.Text(ctx, f.path)
		if err != nil {
			return err
		}
		if f.alreadyLogged || there && bytes.Equal(old, f.text) {
			skipped++
			continue
		}
		if there {
			problems = append(problems, fault.New(fault.DuplicateID, "%s exists with a different text", f.path).
				With("argument", "files").At(string(f.path), 0))
			continue
		}
		if err := tx.Put(ctx, f.path, f.text); err != nil {
			return err
		}
		paths = append(paths, string(f.path))
		out.Imported = append(out.Imported, importedNote{string(f.path), string(f.path)})
	}
	if f := fault.Join(fault.DuplicateID, problems); f != nil {
		// A merge would change notes of the vault, so all conflicts are reported and nothing is
		// written.
		return f.Fix("import into an empty vault, or use vault import with mode replace or skip")
	}
	out.Count = len(out.Imported)
	out.Note("skipped", skipped)
	warnQuarantined(tx, &out.Aside, paths)
	return nil
}
