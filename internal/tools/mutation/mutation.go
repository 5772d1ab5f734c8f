// Package mutation implements the common parts of all mutations, of a vault and of a tenant: the
// version that a call is based on, the idempotency key, dry runs, and the answer to a repeated
// call.
package mutation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Mutation is the common part of the arguments of all mutations, independent of their names in a
// family of tools. *tool.Mutation implements it.
type Mutation interface {
	Version() string // the if_version argument; empty: none
	Key() string     // the idempotency key; empty: none
	Dry() bool       // whether the call asks only for a plan

	Operation() string    // the name of the tool
	Request() tool.Digest // the digest that the idempotency key is bound to
}

// Call returns the description of a call for the log. A malformed if_version is a fault with the
// family's Malformed code.
func Call(c auth.Caller, m Mutation, f *tool.Family) (eventlog.Call, error) {
	digest := m.Request()
	call := eventlog.Call{
		Who:  Who(c),
		Tool: m.Operation(), Key: m.Key(), Request: digest[:], DryRun: m.Dry(),
		Prefix: c.Prefix, Began: c.Began,
	}
	if m.Version() == "" {
		return call, nil
	}
	v, ok := eventlog.ParseVersion(m.Version())
	if !ok {
		return call, fault.New(f.Malformed, "if_version must be a version such as %q", "v42").
			With("argument", "if_version")
	}
	if call.IfVersion = v; v == 0 {
		call.IfVersion = eventlog.VersionZero
	}
	return call, nil
}

// Who returns the identity that a log records for the caller of a mutation. The issuer and the
// subject are empty if the principal is a user: its name already contains them.
func Who(c auth.Caller) eventlog.Who {
	who := eventlog.Who{
		Principal: c.Principal, Agent: c.Agent, Request: c.RequestID, Token: c.TokenID,
	}
	if c.Principal != auth.User(c.Issuer, c.Subject) {
		who.Issuer, who.Subject = c.Issuer, c.Subject
	}
	return who
}

// A Change describes one change of a vault.
type Change[Out any] struct {
	// About returns the existing files that the arguments of the call name. If one of them changed
	// after the call's if_version, the answer is CONFLICT, before any other check. Nil: no argument
	// names a file. The files that Draft stages are compared with if_version in any case.
	Targets func(context.Context, *repo.Tx) ([]vault.Path, error)

	// Draft drafts the change and fills the output. It may run several times, each time with an
	// empty output. If it returns an error, nothing is written, and Vault returns the error, with
	// the output if that is a tool.Partial whose Partly is true. If the output records a failure of
	// some items, the rest is written and Vault returns that failure. An output that is too large
	// for an answer is BATCH_TOO_LARGE, and nothing is written.
	Draft func(context.Context, *repo.Tx, *Out) error
}

// expect returns CONFLICT if a file that About returns changed after the call's if_version.
func (c Change[Out]) expect(ctx context.Context, tx *repo.Tx, call eventlog.Call) error {
	if c.Targets == nil || call.IfVersion == 0 {
		return nil
	}
	paths, err := c.Targets(ctx, tx)
	if err != nil {
		return err
	}
	return tx.Expect(paths)
}

// ChangeVault carries out a change of a vault and returns its output. The meta of the output contains the
// version of the commit or, if nothing was written, of the state that the call saw. For a repeated
// idempotency key it returns the stored output of the first call, and does not write again. Its
// errors are those of c and of repo.Vault.Update; with an error the output is empty, except as
// Change describes.
func ChangeVault[Out any](
	ctx context.Context, v *repo.Vault, call eventlog.Call, c Change[Out],
) (Out, error) {
	var out Out
	r, err := v.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		if err := c.expect(ctx, tx, call); err != nil {
			return nil, err
		}
		var fresh Out
		if err := c.Draft(ctx, tx, &fresh); err != nil {
			if p, ok := any(&fresh).(tool.Partial); ok && p.Partly() {
				return nil, &unwritten[Out]{err, fresh}
			}
			return nil, err
		}
		// Warnings are added before the output is encoded, so that a repeated call gets them too.
		warnUnindexed(&fresh, tx)
		if err := tool.CheckFits(&fresh); err != nil {
			return nil, err
		}
		out = fresh
		return tool.EncodeReplay(&out), nil
	})
	if partial := (*unwritten[Out])(nil); errors.As(err, &partial) {
		if errors.Is(partial.error, ErrUnwritten) {
			return partial.out, nil
		}
		return partial.out, partial.error
	}
	if err != nil { // the function may still run, so out must not be read
		var none Out
		return none, err
	}
	return Finish(r, out, nil)
}

// ErrUnwritten is the error of a Draft that succeeded but must neither be written nor use up its
// idempotency key. The call then succeeds. The output must be a tool.Partial whose Partly is true.
var ErrUnwritten = errors.New("nothing to write")

// An unwritten is the error of a call that writes nothing but returns an output.
type unwritten[Out any] struct {
	error
	out Out
}

// Unwrap returns the reason why nothing is written.
func (u *unwritten[Out]) Unwrap() error { return u.error }

// ChangeTenant runs a change of a tenant and returns its output, with the version in the meta. The
// function must pass its output to keep each time that it drafts the change, and store the result
// of keep with the commit for repeated calls; the last output counts. With an error the output is
// empty.
func ChangeTenant[Out any](change func(keep func(Out) any) (eventlog.Receipt, error)) (Out, error) {
	var out Out
	r, err := change(func(o Out) any {
		out = o
		return tool.EncodeReplay(&out)
	})
	if err != nil { // the function may still run, so out must not be read
		var none Out
		return none, err
	}
	return Finish(repo.Receipt{Receipt: r}, out, nil)
}

// Finish returns the output of a call, or err if it is not nil. If the receipt has a stored answer
// of the same idempotency key, that answer replaces out. The meta gets the version of the commit,
// or of the state that the call saw.
func Finish[Out any](r repo.Receipt, out Out, err error) (Out, error) {
	var none Out
	if err != nil {
		return none, err
	}
	if r.Replayed != nil {
		out = none
		if err := tool.DecodeReplay(r.Replayed, &out); err != nil {
			return none, err
		}
	}
	return out, noteReceipt(&out, r)
}

// noteReceipt records a receipt in the output that out points to: the version, and a warning for
// each file that cannot be read. It returns the output's recorded failure, nil if there is none. It
// is separate from Finish because Finish is compiled once for each type of output.
func noteReceipt(out any, r repo.Receipt) error {
	a, ok := out.(aside)
	if !ok {
		return nil
	}
	a.Note("version", eventlog.Version(r.Seq))
	for _, f := range r.Unread {
		a.Warn(fileUnread, unread(f), map[string]any{"path": f.Path})
	}
	if failed := a.Failure(); failed != nil {
		return failed
	}
	return nil
}

// warnUnindexed adds a warning to the output that out points to for each changed note that is not
// indexed completely.
func warnUnindexed(out any, tx *repo.Tx) {
	a, ok := out.(aside)
	if !ok {
		return
	}
	for _, n := range tx.Unindexed() {
		a.Warn(notIndexed, repo.UnindexedProblem(n)+"; "+doctor.UntilIndexed, map[string]any{"path": n.Path})
	}
}

// aside is implemented by a pointer to every output that embeds a tool.Aside.
type aside interface {
	Note(key string, value any)
	Warn(code, message string, fields map[string]any)
	Failure() *fault.Fault
}

// fileUnread is the code of the warning that the file of a changed note cannot be read, and was
// left unchanged.
const fileUnread = "FILE_UNREAD"

// notIndexed is the code of the warning that a changed note has more parts than the index accepts.
const notIndexed = "NOTE_NOT_INDEXED"

// unread returns the message of a FILE_UNREAD warning: the reason, and the remedy.
func unread(f repo.LeftFile) string {
	return fmt.Sprintf("the change is saved, but the file of %s on disk does not show it, "+
		"because the file cannot be read: %s; %s", f.Path, f.Problem(), f.Remedy())
}

// A Request is the part of a call that all mutations of a vault have in common.
type Request struct {
	// Caller is the authenticated caller, whose rights have been checked already.
	Caller auth.Caller
	// Vault is the name of the vault in the caller's tenant.
	Vault    string
	Mutation Mutation
	Slim     bool // the answer omits the full content of the change; see Shortener

	// About returns the files whose versions are compared with if_version first; see Change.
	Targets func(context.Context, *repo.Tx) ([]vault.Path, error)
}

// A Shortener is an output that can omit the full content of what a call changed. Shorten removes
// that content.
type Shortener interface{ Shorten() }

// Draft changes a vault: it runs fn, which drafts the change and fills the output, and returns the
// output. fn may run several times; see Change. For an idempotency key the log stores the full
// output, so a repeated call can ask for either form. Malformed arguments are faults of
// from.Family, and a missing vault is NOT_FOUND.
func Draft[Out any](
	ctx context.Context, from state.Source, w Request,
	fn func(context.Context, *repo.Tx, *Out) error,
) (Out, error) {
	var none Out
	call, err := Call(w.Caller, w.Mutation, from.Family)
	if err != nil {
		return none, err
	}
	v, err := from.Vault(ctx, w.Caller, w.Vault)
	if err != nil {
		return none, err
	}
	out, err := ChangeVault(ctx, v, call, Change[Out]{Targets: w.Targets, Draft: fn})
	if s, ok := any(&out).(Shortener); ok && w.Slim {
		s.Shorten()
	}
	return out, err
}

// JobTool is the name of the tool that reports the state of a job, for the Job of a tool.Spec.
const JobTool = "team_job_get"

// JobResult returns the result of a job and a summary of the job. The result is nil if the job is
// not done, or if the result was too large to be stored. If the job failed or was cancelled,
// JobResult returns only an error.
func JobResult[T any](it job.Item) (*T, *job.Brief, error) {
	switch it.State {
	case job.Failed:
		return nil, nil, it.Error
	case job.Cancelled:
		return nil, nil, fault.New(fault.Conflict, "the job was cancelled before it was done").
			With("job", job.BriefOf(it))
	}
	// The job is not done, or its result was too large to be stored.
	if it.State != job.Done || len(it.Result) == 0 {
		return nil, job.BriefOf(it), nil
	}
	out := new(T)
	if err := json.Unmarshal(it.Result, out); err != nil {
		return nil, nil, fmt.Errorf("read the result of a job: %w", err)
	}
	return out, job.BriefOf(it), nil
}

// A FileChange is one file that a dry run would change: the beginning of the text of a new file, or
// the lines of an existing file that differ.
//
// Line is the number, in both texts, of the first line that differs; 0 for a new or deleted file.
// OldContent and NewContent are the differing lines, without the last line break. Nil: there are
// none.
type FileChange struct {
	Path string `json:"path"`
	// create, modify or delete
	Action  string `json:"action"`
	Preview string `json:"content_preview,omitempty"`
	Line    int    `json:"line,omitempty"`
	// absent if lines are only added
	OldContent *string `json:"old_content,omitempty"`
	// absent if lines are only removed
	NewContent *string `json:"new_content,omitempty"`
	// only the parts of the lines around the change are shown
	Cut bool `json:"content_cut,omitempty"`
}

// maxPreview is the maximum number of characters of a new file in a plan.
const maxPreview = 2000

// maxDiffering is the maximum number of bytes of differing lines in a plan, for each of the two
// texts.
const maxDiffering = 16 << 10

// FileChanges returns the files that a draft changes, in the order in which they were staged,
// without the files of the trash. It returns nil if there are none.
func FileChanges(ctx context.Context, tx *repo.Tx) ([]FileChange, error) {
	staged, err := tx.Staged(ctx)
	if err != nil {
		return nil, err
	}
	var all []FileChange
	for _, s := range staged {
		if !strings.HasPrefix(string(s.Path), vault.Trash) {
			all = append(all, ChangeOf(s))
		}
	}
	return all, nil
}

// ChangeOf returns the FileChange of one staged file.
func ChangeOf(s repo.Staged) FileChange {
	c := FileChange{Path: string(s.Path)}
	switch {
	case s.New == nil:
		c.Action = "delete"
	case s.Old == nil:
		c.Action, c.Preview = "create", FirstRunes(string(s.New), maxPreview)
	default:
		c.Action = "modify"
		c.differing(s.Old, s.New)
	}
	return c
}

// FirstRunes returns the first n characters of a text, or the whole text if it has fewer.
func FirstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// differing sets the fields for the lines from the first to the last that differ. A text that has
// no such lines, because lines were only added or only removed, stays nil.
func (c *FileChange) differing(old, now []byte) {
	same := commonPrefix(old, now)
	first := bytes.LastIndexByte(old[:same], '\n') + 1
	last := commonLines(old[first:], now[first:])
	block := func(text []byte) *string {
		text = text[first : len(text)-last]
		if len(text) == 0 {
			return nil
		}
		text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
		c.Cut = c.Cut || len(text) > maxDiffering
		return new(Window(text, min(same-first, len(text)), maxDiffering))
	}
	c.OldContent, c.NewContent = block(old), block(now)
	c.Line = bytes.Count(old[:first], []byte("\n")) + 1
}

// commonPrefix returns the length in bytes of the common prefix of two texts.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// commonLines returns the length in bytes of the whole lines that both texts end with.
func commonLines(a, b []byte) int {
	n, most := 0, min(len(a), len(b))
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	begins := func(text []byte) bool { return n == len(text) || text[len(text)-n-1] == '\n' }
	if begins(a) && begins(b) {
		return n
	}
	// The common suffix begins within a line, which does not count.
	line := bytes.IndexByte(a[len(a)-n:], '\n')
	if line < 0 {
		return 0
	}
	return n - line - 1
}

// NoteFiles records the paths of the files that a draft changes in the meta of an answer:
// files_modified, and file_modified for the first of them. reindex_required is always false,
// because the index follows each commit.
func NoteFiles(ctx context.Context, tx *repo.Tx, a *tool.Aside) error {
	staged, err := tx.Staged(ctx)
	if err != nil {
		return err
	}
	files := []string{}
	for _, s := range staged {
		files = append(files, string(s.Path))
	}
	if len(files) > 0 {
		a.Note("file_modified", files[0])
	}
	a.Note("files_modified", files)
	a.Note("reindex_required", false)
	return nil
}

// windowHead is the number of bytes of a window before its offset.
const windowHead = 150

// Window returns a text, or a part of at most `most` bytes of it if it is longer. The part begins
// windowHead bytes before the offset at, if the text after that is long enough, and has a mark on
// each side where text is omitted.
func Window(text []byte, at, most int) string {
	first, last := WindowAt(text, at, most)
	return Ellipsis(string(text[first:last]), first > 0, last < len(text))
}

// WindowAt returns the offsets of the first byte of a window and of the byte after it. It does not
// cut characters, so that a window can be up to six bytes shorter than most.
func WindowAt(text []byte, at, most int) (first, last int) {
	last = len(text)
	if len(text) > most {
		first = max(0, min(at-windowHead, len(text)-most))
		last = first + most
	}
	for first > 0 && !utf8.RuneStart(text[first]) {
		first++
	}
	for last < len(text) && !utf8.RuneStart(text[last]) {
		last--
	}
	return first, last
}

// Ellipsis returns a text with a mark on each side where text is omitted.
func Ellipsis(text string, before, behind bool) string {
	if before {
		text = tool.CutMark + text
	}
	if behind {
		text += tool.CutMark
	}
	return text
}
