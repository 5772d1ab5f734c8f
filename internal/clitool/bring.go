package clitool

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An importing is one import of files, in as many calls as necessary.
type importing struct {
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

// bringIn imports the files of a folder or an archive. It checks all files before the first call.
func (c *command) bringIn(
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
	in := &importing{command: c, inv: inv, r: r, src: src, sum: answer{ok: true}, cuts: cuts{}}
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

// calls lists the files, and returns those of each call.
func (in *importing) calls() (calls [][]portion, err error) {
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

// importAll imports the files, or returns the plan of a dry run.
func (in *importing) importAll(cmd *cobra.Command, calls [][]portion) (*answer, error) {
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

// picked returns the patterns of the files to import; nil means all files.
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

// nothing returns the fault of a path without files to import.
func (in *importing) nothing() *fault.Fault {
	f := fault.New(in.tool.Family.Malformed, "there is no %s in %q", nounOf(in.tool.Input), in.r.path)
	if in.src.names != nil {
		f.Message += " of such an export: " + strings.Join(in.src.names, ", ")
	}
	return f
}

// refusal returns the failure of an import in which parts of files were refused and the rest was
// imported.
func (in *importing) refusal() error {
	code := in.refused[0].Code
	if slices.ContainsFunc(in.refused, func(f *fault.Fault) bool { return f.Code != code }) {
		code = in.tool.Family.Several
	}
	in.nameLeftOut()
	in.sum.ok, in.sum.fault = false, fault.Join(code, in.refused)
	return &failure{fault: in.sum.fault, answer: &in.sum, summed: true}
}

// nounOf returns the noun for the imported files in messages.
func nounOf(of *tool.Files) string {
	if of.Any {
		return "file"
	}
	return "note"
}

// A portion is the content of one entry of a call: a file, or a piece of one.
type portion struct {
	name  string // of the file
	piece int    // number of the piece, from 1; 0: the file is whole
	last  bool   // it is the last portion of its file
	size  int    // bytes in a call
}

// split reads every file once and distributes the files over calls. It reports the problems of all
// files together.
func (in *importing) split() ([][]portion, error) {
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
	if f := fault.Join(in.tool.Family.Several, problems); f != nil {
		return nil, f
	}
	return calls, nil
}

// leaveOut adds a file with an invalid note name to the skipped files, and reports whether it did.
// If the names of several files may be the same to a file system, the first one is imported.
func (in *importing) leaveOut(name string, err error) bool {
	f := fault.Of(err)
	if in.tool.Input.Any || f.Code != fault.InvalidPath && f.Code != fault.DuplicateID {
		return false
	}
	in.left = append(in.left, leftOut{strings.ToValidUTF8(name, "\ufffd"), "invalid name: " + f.Message})
	return true
}

// portions returns the entries of a file. folded contains the names of earlier files by their
// case-folded names, to detect files that a file system may treat as the same.
func (in *importing) portions(name string, folded map[string]string) ([]portion, error) {
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

// pieces splits a file that is too large for a call.
func (in *importing) pieces(name string, err error) ([]portion, error) {
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

// load reads the content of a portion.
func (in *importing) load(p portion) (file, error) {
	if p.piece == 0 {
		return in.src.read(p.name)
	}
	return in.cuts[p.name].read(p.piece)
}

// sendAll makes the calls in order.
func (in *importing) sendAll(ctx context.Context, calls [][]portion) error {
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
// server or a gateway in front of it, send splits it into two halves. id identifies the call within
// the import.
func (in *importing) send(ctx context.Context, id string, portions []portion) error {
	list, err := in.listOf(portions)
	if err != nil {
		return err
	}
	if in.most > 0 && len(list) >= in.most && len(portions) > 1 {
		return in.halve(ctx, id, portions)
	}
	ans, err := in.patiently(ctx, in.inv, &request{args: in.argsOf(id, list)})
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

// problemsIn returns the individual problems of a fault.
func problemsIn(f *fault.Fault) []*fault.Fault {
	if len(f.Errors) == 0 {
		return []*fault.Fault{f}
	}
	return f.Errors
}

// halve sends portions in two calls.
func (in *importing) halve(ctx context.Context, id string, portions []portion) error {
	half := len(portions) / 2
	if err := in.send(ctx, id+".0", portions[:half]); err != nil {
		return err
	}
	return in.send(ctx, id+".1", portions[half:])
}

// progressBar returns a progress bar of the imported files. It is visible only on a terminal.
func (in *importing) progressBar() *progressbar.ProgressBar {
	return progressbar.NewOptions(len(in.files),
		progressbar.OptionSetWriter(in.app.Err),
		progressbar.OptionSetVisibility(in.app.Progress),
		progressbar.OptionSetDescription(in.tool.Title),
		progressbar.OptionShowCount(),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
	)
}

// listOf returns the JSON list of the entries for portions.
func (in *importing) listOf(portions []portion) (json.RawMessage, error) {
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
// be repeated if its outcome is unknown.
func (in *importing) argsOf(id string, list json.RawMessage) map[string]json.RawMessage {
	args := maps.Clone(in.r.args)
	args[in.tool.Input.Arg] = list
	if a, ok := in.tool.Meant(tool.MeansKey); ok {
		digest := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s", in.key, id))
		args[a.Name] = json.RawMessage(`"` + hex.EncodeToString(digest[:16]) + `"`)
	}
	return args
}

// baseKey returns the caller's idempotency key, or a random one: the same files may be imported
// again intentionally, after they were changed or removed.
func (in *importing) baseKey() string {
	a, _ := in.tool.Meant(tool.MeansKey)
	if raw, ok := in.r.args[a.Name]; ok {
		return string(raw)
	}
	return rand.Text()
}

// partly returns the failure of an import whose first calls succeeded, with the number of imported
// files and a fix.
func (in *importing) partly(err error) error {
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

// nameLeftOut adds the skipped files to the answer.
func (in *importing) nameLeftOut() {
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
