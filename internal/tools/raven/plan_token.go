package raven

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A plan token is planMark followed by base64url of three values: the version on which the plan is
// based (8 bytes), a digest of the call, and the SHA-256 of the staged files. A token grants no
// rights; it only states the expected result.
const (
	planMark   = "q1."
	callDigest = 16 // bytes
)

// A planned is the expected result of a call with a plan token. The zero value expects nothing.
//
// Every call of a tool with plan tokens has one: in a dry run it issues a token, in a call with a
// token it checks it, and otherwise it does nothing.
type planned struct {
	// call is a digest of the tool and its arguments.
	call [callDigest]byte
	// token is the plan token of the call; empty: none.
	token string
}

// planOf returns the expected result of a call. arguments must be all arguments that influence the
// result. A malformed token, or one of another call, is INVALID_VALUE.
//
// The digest covers the JSON of the tool's name and the arguments. Arguments that only shape the
// answer need not be among them.
func planOf(token, tool string, arguments ...any) (planned, error) {
	data, err := json.Marshal(append([]any{tool}, arguments...))
	if err != nil {
		return planned{}, err
	}
	sum := sha256.Sum256(data)
	p := planned{token: token}
	copy(p.call[:], sum[:])
	if token == "" {
		return p, nil
	}
	_, call, _, ok := readPlanToken(token)
	switch {
	case !ok:
		return p, fault.New(fault.InvalidValue, "plan_token is not from a dry run").
			With("argument", "plan_token").Fix("call with dry_run, and use data.plan_token of the answer")
	case !bytes.Equal(call, p.call[:]):
		return p, fault.New(fault.InvalidValue,
			"plan_token is from another call: of another tool, or with other arguments").
			With("argument", "plan_token").Fix("repeat the planned call, with plan_token in place of dry_run")
	}
	return p, nil
}

// readPlanToken returns the three values in a token, or false if it is malformed.
func readPlanToken(token string) (version uint64, call, plan []byte, ok bool) {
	text, marked := strings.CutPrefix(token, planMark)
	data, err := base64.RawURLEncoding.DecodeString(text)
	if !marked || err != nil || len(data) != 8+callDigest+sha256.Size {
		return 0, nil, nil, false
	}
	return binary.BigEndian.Uint64(data), data[8 : 8+callDigest], data[8+callDigest:], true
}

// check returns CONFLICT if the draft differs from the expected result. In a dry run it returns a
// token for the draft.
//
// It compares texts and not versions: a commit of someone else that does not change the result is
// no conflict. It must be called when the draft is complete. The fault lists the files that changed
// since the plan was made.
func (p planned) check(ctx context.Context, tx *repo.Tx) (token string, err error) {
	if p.token == "" && !tx.DryRun() {
		return "", nil
	}
	sum, err := planDigest(ctx, tx)
	if err != nil {
		return "", err
	}
	if version, _, plan, ok := readPlanToken(p.token); ok && !bytes.Equal(plan, sum) {
		latest := repo.Version(tx.Before().Version())
		return "", fault.New(fault.Conflict, "the result of the call would differ from the plan").
			With("latest_version", latest).With("changed", changedAfter(tx.Before(), version)).
			Fix("call with dry_run again, and check the new plan")
	}
	if !tx.DryRun() {
		return "", nil
	}
	data := binary.BigEndian.AppendUint64(nil, tx.Before().Version())
	data = append(append(data, p.call[:]...), sum...)
	return planMark + base64.RawURLEncoding.EncodeToString(data), nil
}

// planDigest returns the SHA-256 of the staged files: their paths, and the texts before and after.
// It ignores the trash, because paths in it can depend on the version.
//
// The order of staging does not matter. For each file the digest contains the JSON of its path and
// of the two digests, null where there is no text, followed by nothing: JSON arrays delimit
// themselves.
func planDigest(ctx context.Context, tx *repo.Tx) ([]byte, error) {
	staged, err := tx.Staged(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(staged, func(a, b repo.Staged) int { return cmp.Compare(a.Path, b.Path) })
	sum := sha256.New()
	for _, s := range staged {
		if strings.HasPrefix(string(s.Path), vault.Trash) {
			continue
		}
		line, err := json.Marshal([]any{s.Path, digestOf(s.Old), digestOf(s.New)})
		if err != nil {
			return nil, err
		}
		sum.Write(line)
	}
	return sum.Sum(nil), nil
}

// digestOf returns the SHA-256 of a text, or nil for nil.
func digestOf(text []byte) any {
	if text == nil {
		return nil
	}
	return sha256.Sum256(text)
}

// maxPlanChanged is the maximum number of files that a conflict lists.
const maxPlanChanged = 50

// changedAfter returns the first files that changed after a version, without hidden ones.
func changedAfter(idx *index.Index, version uint64) []string {
	paths := []string{}
	for f := range idx.Files() {
		if f.Version > version && f.Path[0] != '.' {
			if paths = append(paths, f.Path); len(paths) == maxPlanChanged {
				break
			}
		}
	}
	return paths
}
