package clitool

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An importer is one import of files, in as many calls as necessary. It goes through these steps:
// list the files; read each once, to find problems and sizes; distribute them over calls; and make
// the calls in order, reading the files again. So all problems of files are reported before
// anything is changed, and the texts of one call are in memory at a time.
//
// An import is not atomic: each call is one change of the vault. If a call fails, the files of the
// calls before it remain imported, and the failure says how many. The command can be run again: a
// tool skips files that have not changed. With an idempotency key on the line, even a call whose
// outcome is unknown can be repeated, because each call has a key that is derived from it.
type importer struct {
	*command
	inv   tool.Invoker
	r     *request
	src   *source
	files []string
	left  []leftOut
	key   string // base of the idempotency keys of the calls

	sum    answer // combined answer of the calls so far
	done   int    // number of files imported so far
	cuts   cuts
	strict bool // refuse files with invalid note names instead of skipping them

	refused []*fault.Fault // faults of parts of files, in calls whose other parts were imported

	most int // smallest size in bytes of a list that was too large for the server or a gateway; 0: none was
}

// importFiles imports the files of a folder or an archive. It checks all files before the first
// call. A file of another program may be converted first, to an archive that is imported in its
// place.
func (c *command) importFiles(
	cmd *cobra.Command, inv tool.Invoker, r *request,
) (*answer, error) {
	names, err := c.picked(r)
	if err != nil {
		return nil, err
	}
	if convert := c.app.Convert[c.tool.Name]; convert != nil {
		file, done, err := convert(cmd.Context(), r.path)
		if err != nil {
			return nil, err
		}
		defer done()
		r.path = file
	}
	src, err := openSource(r.path, c.tool.Input)
	if err != nil {
		return nil, err
	}
	defer src.closer.Close()
	src.names = names
	in := &importer{command: c, inv: inv, r: r, src: src, sum: answer{ok: true}, cuts: cuts{}}
	defer in.cuts.close()
	if f := cmd.Flags().Lookup(strictFlag); f != nil && !c.tool.Input.Any {
		in.strict = f.Value.String() == "true"
	}
	calls, err := in.calls()
	if err != nil {
		return nil, err
	}
	return in.importAll(cmd, calls)
}

// calls lists the files, and returns those of each call. A folder without files to import, and one
// in which every file has an invalid name, are faults.
func (in *importer) calls() (calls [][]portion, err error) {
	if in.files, in.left, err = in.src.list(); err != nil {
		return nil, err
	}
	if len(in.files) == 0 {
		return nil, in.nothing()
	}
	calls, err = in.split()
	if err == nil && len(calls) == 0 {
		err = fault.New(in.tool.Family.Malformed, "no file in %q has a valid name for a note", in.r.path)
	}
	return calls, err
}

// importAll imports the files, or returns the plan of a dry run. If it fails on the way, the
// failure has the result of the calls before. Files that were skipped are listed in any case.
func (in *importer) importAll(cmd *cobra.Command, calls [][]portion) (*answer, error) {
	in.key = in.baseKey()
	planned, err := in.before(cmd, in.inv, in.r)
	if err != nil {
		return nil, err
	}
	if planned {
		in.sum = *plannedOnly()
		in.sum.data.set("files", numberValue(len(in.files)))
	} else if err := in.sendAll(cmd.Context(), calls); err != nil {
		return nil, in.partly(err)
	}
	if len(in.refused) > 0 {
		return nil, in.refusal()
	}
	in.nameLeftOut()
	return &in.sum, nil
}

// picked returns the patterns of the files to import; nil means all files. Some imports depend on
// an argument, such as the format of an export, which determines the names of its files. An unknown
// value is refused with the known ones, before anything is read.
func (c *command) picked(r *request) ([]string, error) {
	pick := c.tool.Input.Pick
	if pick == nil {
		return nil, nil
	}
	var by string
	if raw, given := r.args[pick.Arg]; !given || json.Unmarshal(raw, &by) != nil {
		return nil, usagef("%s is missing", placeLabel(pick.Arg))
	}
	names, ok := pick.Names[by]
	if !ok {
		all := slices.Sorted(maps.Keys(pick.Names))
		return nil, fault.New(c.tool.Family.Malformed, "argument %q must be one of %s", pick.Arg,
			strings.Join(all, ", ")).With("argument", pick.Arg).Suggest(by, all)
	}
	return names, nil
}

// nothing returns the fault of a path without files to import, with the names that such an export
// would have.
func (in *importer) nothing() *fault.Fault {
	f := fault.New(in.tool.Family.Malformed, "there is no %s in %q", nounOf(in.tool.Input), in.r.path)
	if in.src.names != nil {
		f.Message += " of such an export: " + strings.Join(in.src.names, ", ")
	}
	return f
}

// refusal returns the failure of an import in which parts of files were refused and the rest was
// imported. It has one fault for each part; their common code is that of all if they are equal,
// otherwise the family's code for several problems.
func (in *importer) refusal() error {
	code := in.refused[0].Code
	if slices.ContainsFunc(in.refused, func(f *fault.Fault) bool { return f.Code != code }) {
		code = in.tool.Family.Several
	}
	in.nameLeftOut()
	in.sum.ok, in.sum.fault = false, fault.Join(code, in.refused)
	return &failure{fault: in.sum.fault, answer: &in.sum, summed: true}
}

// nounOf returns the noun for the imported files in messages: note for an import into a vault of
// notes, and file for any other.
func nounOf(of *tool.Files) string {
	if of.Any {
		return "file"
	}
	return "note"
}

// A portion is the content of one entry of a call: a file, or a piece of one. It has no data; load
// reads that when the call is made.
type portion struct {
	name  string // of the file
	piece int    // number of the piece, from 1; 0: the file is whole
	last  bool   // it is the last portion of its file
	size  int    // bytes in a call
}

// split reads every file once and distributes the files over calls, in their order. It reports the
// problems of all files together. A call has at most as many entries, and as many bytes, as the
// tool accepts. The pieces of one file may be in several calls.
func (in *importer) split() ([][]portion, error) {
	var calls [][]portion
	var problems []*fault.Fault
	room, limit := 0, in.tool.Input
	folded := map[string]string{}
	for _, name := range in.files {
		portions, err := in.portions(name, folded)
		if err != nil && !in.strict && in.leaveOut(name, err) {
			continue
		}
		if err != nil {
			problems = append(problems, fault.Of(err))
			continue
		}
		for _, p := range portions {
			n := len(calls) - 1
			if n < 0 || len(calls[n]) == limit.MaxFiles || p.size > room {
				calls, room = append(calls, nil), limit.MaxBytes
				n++
			}
			calls[n] = append(calls[n], p)
			room -= p.size
		}
	}
	return calls, fault.Join(in.tool.Family.Several, problems).Err()
}

// leaveOut adds a file with an invalid note name to the skipped files, and reports whether it did.
// If the names of several files may be the same to a file system, the first one is imported. With
// --strict it is not called, so that such a file is a problem. All other problems, such as a file
// that cannot be read, end the import before the first call.
func (in *importer) leaveOut(name string, err error) bool {
	f := fault.Of(err)
	if in.tool.Input.Any || f.Code != fault.InvalidPath && f.Code != fault.DuplicateID {
		return false
	}
	in.left = append(in.left, leftOut{strings.ToValidUTF8(name, "\ufffd"), "invalid name: " + f.Message})
	return true
}

// portions returns the entries of a file. folded contains the names of earlier files by their
// case-folded names, to detect files that a file system may treat as the same; the name of this
// file is added. A file that is too large for a call is split, if its tool can take it in pieces.
func (in *importer) portions(name string, folded map[string]string) ([]portion, error) {
	if large, err := in.src.isLarger(name); err != nil || large {
		return in.pieces(name, err)
	}
	f, err := in.src.read(name)
	if err != nil {
		return nil, err
	}
	if !in.tool.Input.Any {
		key := vault.Fold(f.path)
		if other, taken := folded[key]; taken {
			return nil, fault.New(fault.DuplicateID,
				"it differs only by case or normalization from %s", other).At(name, 0)
		}
		folded[key] = f.path
	}
	size, err := f.size(in.tool.Input)
	if err == nil && size > in.src.most && in.tool.Input.Any {
		return in.pieces(name, nil)
	}
	return []portion{{name: name, last: true, size: size}}, err
}

// pieces splits a file that is too large for a call. err is an error of its size, which is
// returned. A file whose extension has no way to be split is BATCH_TOO_LARGE.
func (in *importer) pieces(name string, err error) ([]portion, error) {
	if err != nil {
		return nil, err
	}
	way, ok := in.tool.Input.Split[strings.ToLower(path.Ext(name))]
	if _, err := in.src.check(name); err != nil {
		return nil, err
	}
	if !ok {
		return nil, tooLarge(name, in.src.most)
	}
	c, err := in.src.cut(name, way)
	if err != nil {
		return nil, err
	}
	in.cuts[name] = c
	var all []portion
	for i, p := range c.pieces {
		all = append(all, portion{name, i + 1, i == len(c.pieces)-1, p.size})
	}
	return all, nil
}

// load reads the content of a portion: the whole file again, or the piece. The file may have
// changed since it was checked; it is sent as it is now, if it can still be read.
func (in *importer) load(p portion) (file, error) {
	if p.piece == 0 {
		return in.src.read(p.name)
	}
	return in.cuts[p.name].read(p.piece)
}

// sendAll makes the calls in order. It stops at the first failure. On a terminal it shows a
// progress bar, which is removed at the end.
func (in *importer) sendAll(ctx context.Context, calls [][]portion) error {
	bar := in.progressBar()
	for i, portions := range calls {
		before := in.done
		if err := in.send(ctx, strconv.Itoa(i), portions); err != nil {
			return errors.Join(err, bar.Clear())
		}
		if err := bar.Add(in.done - before); err != nil {
			return fmt.Errorf("show the progress: %w", err)
		}
	}
	return nil
}

// send sends portions in one call and adds its answer to the sum. If the call is too large for the
// server or a gateway in front of it, send splits it into two halves, and from then on splits calls
// of that size without trying. id identifies the call within the import: its number, with .0 or .1
// for each half.
//
// A tool that accepts files of any type may import a part of the files of a call and refuse others;
// their faults are collected, and the import continues.
func (in *importer) send(ctx context.Context, id string, portions []portion) error {
	list, err := in.listOf(portions)
	if err != nil {
		return err
	}
	if in.most > 0 && len(list) >= in.most && len(portions) > 1 {
		return in.halve(ctx, id, portions)
	}
	ans, err := in.invokeWithRetry(ctx, in.inv, &request{args: in.argsOf(id, list)})
	if failed := (*failure)(nil); errors.As(err, &failed) && failed.fault.BodyTooLarge && len(portions) > 1 {
		in.most = len(list)
		return in.halve(ctx, id, portions)
	}
	if failed := (*failure)(nil); errors.As(err, &failed) &&
		failed.answer.data.kind == objectKind && in.tool.Input.Any {
		ans, err = failed.answer, nil // the rest of the call was imported
		in.refused = append(in.refused, problemsIn(failed.fault)...)
	}
	if err != nil {
		return err
	}
	in.sum.add(ans)
	for _, p := range portions {
		if p.last {
			in.done++
		}
	}
	return nil
}

// problemsIn returns the individual problems of a fault, or the fault itself if it has none. So the
// sum of several calls has one flat list.
func problemsIn(f *fault.Fault) []*fault.Fault {
	if len(f.Errors) == 0 {
		return []*fault.Fault{f}
	}
	return f.Errors
}

// halve sends portions in two calls, each of which may be halved again. A single portion that is
// too large cannot be, so send returns its fault.
func (in *importer) halve(ctx context.Context, id string, portions []portion) error {
	half := len(portions) / 2
	if err := in.send(ctx, id+".0", portions[:half]); err != nil {
		return err
	}
	return in.send(ctx, id+".1", portions[half:])
}

// progressBar returns a progress bar of the imported files. It is visible only on a terminal. It
// counts files and not calls, because the sizes of calls differ.
func (in *importer) progressBar() *progressbar.ProgressBar {
	return progressbar.NewOptions(len(in.files),
		progressbar.OptionSetWriter(in.app.Err),
		progressbar.OptionSetVisibility(in.app.Progress),
		progressbar.OptionSetDescription(in.tool.Title),
		progressbar.OptionShowCount(),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
	)
}

// listOf returns the JSON list of the entries for portions. It reads the files. A file that has
// become unreadable or longer since it was checked is a fault.
func (in *importer) listOf(portions []portion) (json.RawMessage, error) {
	files := value{kind: listKind}
	for _, p := range portions {
		f, err := in.load(p)
		if err != nil {
			return nil, err
		}
		entry, err := f.entry(in.tool.Input)
		if err != nil {
			return nil, err
		}
		files.items = append(files.items, entry)
	}
	list, err := tool.Marshal(files)
	if err != nil {
		return nil, fmt.Errorf("write a list of files: %w", err)
	}
	return list, nil
}

// argsOf returns the arguments of one call. Each call has its own idempotency key, so that it can
// be repeated if its outcome is unknown: the digest of the key of the import and the id of the
// call. Repeating the whole import with the same key repeats the same calls.
func (in *importer) argsOf(id string, list json.RawMessage) map[string]json.RawMessage {
	args := maps.Clone(in.r.args)
	args[in.tool.Input.Arg] = list
	if a, ok := in.tool.ArgFor(tool.MeansKey); ok {
		digest := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s", in.key, id))
		args[a.Name] = json.RawMessage(`"` + hex.EncodeToString(digest[:16]) + `"`)
	}
	return args
}

// baseKey returns the caller's idempotency key, or a random one: the same files may be imported
// again intentionally, after they were changed or removed.
func (in *importer) baseKey() string {
	a, _ := in.tool.ArgFor(tool.MeansKey)
	if raw, ok := in.r.args[a.Name]; ok {
		return string(raw)
	}
	return rand.Text()
}

// partly returns the failure of an import whose first calls succeeded, with the number of imported
// files and a fix. Its answer is the sum of the calls that were made, with the fault.
func (in *importer) partly(err error) error {
	failed := (*failure)(nil)
	if !errors.As(err, &failed) {
		failed = newFailure(nil, err)
	}
	failed.fault = failed.fault.With("files_in", in.done).With("files", len(in.files))
	if in.done > 0 {
		failed.fault = failed.fault.Fix(
			"then run the same command again: imported files are skipped")
	}
	in.nameLeftOut()
	in.sum.add(failed.answer)
	in.sum.ok, in.sum.fault = false, failed.fault
	failed.answer, failed.summed = &in.sum, in.tool.Family.Terse
	return failed
}

// nameLeftOut adds the skipped files to the answer, each with its reason. A family with a fixed
// form of data has them in the meta.
func (in *importer) nameLeftOut() {
	names := value{kind: listKind}
	for _, left := range in.left {
		entry := value{}
		entry.set("path", textValue(left.path))
		entry.set("reason", textValue(left.reason))
		names.items = append(names.items, entry)
	}
	if !in.tool.Family.Terse {
		in.sum.data.set("left_out", names)
	} else if len(names.items) > 0 { // the data has a fixed form
		in.sum.meta.set("left_out", sum(in.sum.meta.get("left_out"), names))
	}
}

// A file is one entry of a list in a call or an answer: a whole file, or a part of one. Its path
// has slashes, and is relative to the root of the import or export.
type file struct {
	path string
	data []byte

	part   int // number of the part, from 1; 0: the file is whole
	offset int // elements or rows of a split file in the entries before
}

// The keys of an entry whose names are the same for all tools.
const (
	pathKey   = "path"
	partKey   = "part"
	offsetKey = "offset"
)

// entry returns the entry of a file in a call. Its text is in the member that the tool names; bytes
// that are not UTF-8 are in base64 in another member, or are INVALID_VALUE if the tool accepts only
// text. A part has its number and offset.
func (f file) entry(of *tool.Files) (value, error) {
	v := value{}
	v.set(pathKey, textValue(f.path))
	switch {
	case utf8.Valid(f.data):
		v.set(of.BodyKey(), textValue(string(f.data)))
	case of.Binary != "":
		v.set(of.Binary, textValue(base64.StdEncoding.EncodeToString(f.data)))
	default:
		return v, fault.New(fault.InvalidValue, "the text is not valid UTF-8").At(f.path, 0)
	}
	if f.part > 0 {
		v.set(partKey, numberValue(f.part))
		v.set(offsetKey, numberValue(f.offset))
	}
	return v, nil
}

// size returns the size in bytes of the file's entry in a call, by encoding it. A file that is not
// accepted is an error, as for entry. The encoding is the only exact measure: escapes make a text
// longer, and base64 makes bytes longer by a third.
func (f file) size(of *tool.Files) (int, error) {
	v, err := f.entry(of)
	if err != nil {
		return 0, err
	}
	data, err := tool.Marshal(v)
	return len(data), err
}

// filesIn decodes the entries of an answer, in their order. null is an empty list. Base64 that
// cannot be decoded is an error, and a missing path is "". It does not check the paths; see
// checkPath.
func filesIn(list value, of *tool.Files) ([]file, error) {
	if list.kind != listKind && list.kind != nullKind {
		return nil, errors.New("read a list of files: it is not a list")
	}
	var files []file
	for _, v := range list.items {
		f := file{path: v.get(pathKey).text, data: []byte(v.get(of.BodyKey()).text)}
		if raw, ok := v.member(of.Binary); ok && of.Binary != "" {
			data, err := base64.StdEncoding.DecodeString(raw.text)
			if err != nil {
				return nil, fmt.Errorf("read a list of files: %w", err)
			}
			f.data = data
		}
		if _, err := fmt.Sscan(v.get(partKey).text, &f.part); err != nil {
			f.part = 0 // it has none
		}
		files = append(files, f)
	}
	return files, nil
}
