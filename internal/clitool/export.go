package clitool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A sink is the destination of exported files: a folder, an archive, or a single file. Entries are
// put in the order of the answers; the parts of a large file follow each other. A sink is used by
// one goroutine.
type sink interface {
	// put writes one entry. A part of a file must directly follow the part before.
	put(f file) error
	// finish completes the last file, and the archive.
	finish() error
	// others returns the number of other files at the destination. It may be called only after
	// finish.
	others() int
	// name returns the local name under which a file was written. It may be called only after
	// finish.
	name(path string) string
	// drop discards incomplete files. It does nothing after finish.
	drop()
}

// exportFiles exports the files in a tool's answers, page by page. Other files in the folder are
// kept. The answer has the lists and warnings of all pages, without the contents of files, and the
// number of files and the path.
func (c *command) exportFiles(
	ctx context.Context, inv tool.Invoker, r *request,
) (*answer, error) {
	out := &exporter{command: c, inv: inv, path: r.path, args: maps.Clone(r.args)}
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

// An exporter is one export of files, in as many calls as there are pages. A page is written
// before the next one is requested, so memory is bounded by the size of a page.
//
// The pages are of one version only if the tool's page tokens ensure it. Each file gets its name
// when it is complete, so an interrupted export leaves complete files and no half ones.
type exporter struct {
	*command
	inv   tool.Invoker
	path  string
	to    sink // nil until there is an answer to write
	args  map[string]json.RawMessage
	sum   *answer // lists and warnings of all pages, and the other members of the last page
	files int     // number of files written; the last one may be incomplete
	paths map[string]bool
}

// run requests all pages, and completes the destination after the last one.
func (out *exporter) run(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = out.page(ctx); err != nil {
			return err
		}
	}
	return out.to.finish()
}

// drop discards incomplete files, and closes the destination. After a complete export it changes
// nothing.
func (out *exporter) drop() {
	if out.to != nil {
		out.to.drop()
	}
}

// page makes one call and writes its files. It reports whether there is another page. Temporary
// refusals are waited for, because an export reads much and may exceed a rate.
func (out *exporter) page(ctx context.Context) (more bool, err error) {
	ans, err := out.invokeWithRetry(ctx, out.inv, &request{args: out.args})
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

// write writes the files of one page. It opens the destination when the first page has arrived, so
// that a call that fails at once creates nothing.
func (out *exporter) write(list value) error {
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

// fill replaces the paths in the list of Output.Fill by the names under which the files were
// written, which may have got a number. Paths that are not of this export stay.
func (out *exporter) fill() {
	list, key := out.tool.Output.Filled()
	items := out.sum.data.get(list)
	for i, item := range items.items {
		if path := item.get(key); out.paths[path.text] {
			items.items[i].set(key, textValue(out.to.name(path.text)))
		}
	}
}

// turn sets the token of the next page and reports whether there is one. A page that names itself
// as the next is an error, because the export would never end.
func (out *exporter) turn(next value) (more bool, err error) {
	if next.text == "" {
		return false, nil
	}
	token, err := tool.Marshal(next)
	if err != nil {
		return false, fmt.Errorf("read a page token: %w", err)
	}
	a, ok := out.tool.ArgFor(tool.MeansToken)
	if !ok || string(token) == string(out.args[a.Name]) {
		return false, errors.New("read a list of files: a page names itself as the next")
	}
	out.args[a.Name] = token
	return true, nil
}

// partly returns the failure of an export that has written files, with their number and a fix.
// Complete files stay where they are; an incomplete one is removed by drop.
func (out *exporter) partly(err error) error {
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

// checkPath returns INVALID_PATH for paths that are never written: those that lead out of the
// folder, and names that begin with a dot, which other programs may interpret. The answer of a
// server is not trusted. Each file is checked when it is written, so valid files before it remain.
func checkPath(name string) error {
	if reason := reasonForFile(name); !validPath(name) || reason == dotfile {
		return fault.New(fault.InvalidPath, "the answer contains the path %q, which is not "+
			"valid: nothing was written there", name)
	}
	return nil
}
