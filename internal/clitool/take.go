package clitool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// A sink is where the files of an answer go.
type sink interface {
	// put writes one entry. One that is not the first part of its file follows the part before.
	put(f file) error
	// finish makes the last file whole, and the archive if it is one.
	finish() error
	// others counts the files that are there beside those that were put. It is asked after finish.
	others() int
	// name is the name on this system under which a file was written. It is asked after finish.
	name(path string) string
	// drop gives up what is not whole. It does nothing after finish.
	drop()
}

// takeOut writes the files that a tool answers, page by page. A folder keeps the files that the
// tool does not answer.
func (c *command) takeOut(
	ctx context.Context, inv tool.Invoker, r *request,
) (*answer, error) {
	out := &exporting{command: c, inv: inv, path: r.path, args: maps.Clone(r.args)}
	defer out.drop()
	if err := out.run(ctx); err != nil {
		return nil, out.partly(err)
	}
	out.sum.data.remove(c.tool.Output.Arg)
	if c.tool.Output.Fill != "" {
		out.fill()
		return out.sum, nil
	}
	out.sum.data.set("files", numberValue(out.files))
	out.sum.data.set("path", textValue(r.path))
	if others := out.to.others(); others > 0 {
		out.sum.data.set("other_files_kept", numberValue(others))
	}
	return out.sum, nil
}

// An exporting is one run of writing files: as many calls as there are pages.
type exporting struct {
	*command
	inv   tool.Invoker
	path  string
	to    sink // nil until there is an answer to write
	args  map[string]json.RawMessage
	sum   *answer // lists and warnings of all pages, and what else the last one has
	files int     // written, the last one perhaps not whole
	paths map[string]bool
}

// run turns the pages to the last one.
func (out *exporting) run(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = out.page(ctx); err != nil {
			return err
		}
	}
	return out.to.finish()
}

func (out *exporting) drop() {
	if out.to != nil {
		out.to.drop()
	}
}

// page makes one call and writes its files.
func (out *exporting) page(ctx context.Context) (more bool, err error) {
	ans, err := out.patiently(ctx, out.inv, &request{args: out.args})
	if err != nil {
		return false, err
	}
	if out.sum == nil {
		out.sum, out.paths = &answer{ok: true}, map[string]bool{}
	}
	list := ans.data.get(out.tool.Output.Arg)
	ans.data.remove(out.tool.Output.Arg)
	out.sum.data, out.sum.meta = joined(out.sum.data, ans.data), ans.meta
	out.sum.warn(ans.warnings)
	if err := out.write(list); err != nil {
		return false, err
	}
	return out.turn(ans.meta.get("next_page_token"))
}

// write writes the files of one page.
func (out *exporting) write(list value) error {
	of := out.tool.Output
	files, err := filesIn(list, of)
	if err != nil {
		return err
	}
	if out.to == nil {
		if out.to, err = openSink(out.path, of); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := out.to.put(f); err != nil {
			return err
		}
		out.paths[f.path] = true
		if f.part <= 1 {
			out.files++
		}
	}
	return nil
}

// fill puts the names under which files were written into the list that has them.
func (out *exporting) fill() {
	list, key := out.tool.Output.Filled()
	items := out.sum.data.get(list)
	for i, item := range items.items {
		if path := item.get(key); out.paths[path.text] {
			items.items[i].set(key, textValue(out.to.name(path.text)))
		}
	}
}

// turn goes to the next page, if there is one. A page that names itself would never end.
func (out *exporting) turn(next value) (more bool, err error) {
	if next.text == "" {
		return false, nil
	}
	token, err := tool.Marshal(next)
	if err != nil {
		return false, fmt.Errorf("read a page token: %w", err)
	}
	a, ok := out.tool.Meant(tool.MeansToken)
	if !ok || string(token) == string(out.args[a.Name]) {
		return false, errors.New("read a list of files: a page names itself as the next")
	}
	out.args[a.Name] = token
	return true, nil
}

// partly is the failure of a run that has written files.
func (out *exporting) partly(err error) error {
	failed := (*failure)(nil)
	if !errors.As(err, &failed) {
		failed = newFailure(nil, err)
	}
	if out.files > 0 {
		again := "then run the same command again: it writes every file again"
		if out.tool.Output.Fill != "" {
			again = "then delete the files that were written, and run the same command again"
		}
		failed.fault = failed.fault.With("files_written", out.files).Fix("%s", again)
	}
	failed.answer = &answer{fault: failed.fault}
	return failed
}

// checkPath refuses what is not written for anybody: whatever leads out of a folder, and names that
// begin with a dot, which other programs may act on.
func checkPath(name string) error {
	if reason := reasonForFile(name); !validPath(name) || reason == dotfile {
		return fault.New(fault.InvalidPath, "the answer contains the path %q, which is not "+
			"valid: nothing was written there", name)
	}
	return nil
}
