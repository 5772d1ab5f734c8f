package raven

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// maxUndoable is the maximum number of versions for which an undo is tried.
//
// Each attempt reads a commit and drafts its inverse, which costs about as much as the undo itself.
const maxUndoable = 20

// undoable fills a page with the newest versions that can be undone, newest first. It tries each of
// the last maxUndoable versions with a dry run of the undo.
//
// Versions that do not begin with the prefix count as tried, so that the cost is bounded for every
// prefix. out.About gets a description of each suggested version.
func (f tools) undoable(
	ctx context.Context, c auth.Caller, v view, in completeIn, out *tool.Values,
) error {
	tried := 0
	for commit, err := range v.Vault.Back(ctx, v.Index.Version(), math.MaxInt) {
		if err != nil {
			return err
		}
		if tried == maxUndoable || len(out.Items) == in.Limit {
			return nil
		}
		version := eventlog.Version(commit.Seq)
		if tried++; !strings.HasPrefix(version, in.Prefix) {
			continue
		}
		undo := undoIn{Vault: in.Vault, Version: version, Mutation: tool.Mutation{DryRun: true}}
		_, err := f.undoCommit(ctx, c, undo)
		// A fault means that this version cannot be undone; other errors end the call.
		if refused := (*fault.Fault)(nil); errors.As(err, &refused) {
			continue
		}
		if err != nil {
			return err
		}
		out.Items = append(out.Items, version)
		if out.About == nil {
			out.About = map[string]string{}
		}
		out.About[version] = describeCommit(commit)
	}
	return nil
}

// describeCommit returns a short description of a commit: tool, notes, principal and time.
func describeCommit(c *eventlog.Commit) string {
	var paths []string
	for _, n := range c.Notes {
		if !strings.HasPrefix(n.Path, ".") {
			paths = append(paths, n.Path)
		}
	}
	what := c.Tool
	switch {
	case len(paths) > 1:
		what += fmt.Sprintf(" %s and %d more", paths[0], len(paths)-1)
	case len(paths) == 1:
		what += " " + paths[0]
	}
	return fmt.Sprintf("%s, by %s, %s", what, c.Who.Principal,
		c.Time.UTC().Format("2006-01-02 15:04 UTC"))
}
