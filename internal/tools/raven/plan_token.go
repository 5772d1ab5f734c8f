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

// A plan token is planMark and, as base64 for URLs, the version on which the plan was made, the digest of the
// call, and the digest of what it stages. It grants nothing: it only says what is expected.
const (
	planMark   = "q1."
	callDigest = 16 // bytes
)

// A planned is what a call must do: what the plan of its token says. The zero value is a call that is not planned.
type planned struct {
	call  [callDigest]byte
	token string
}

// planOf is the plan of a call of a tool with these arguments: all that change what it does.
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
		return p, fault.New(fault.InvalidValue, "plan_token is from another call: of another tool, or with other arguments").
			With("argument", "plan_token").Fix("repeat the planned call, with plan_token in place of dry_run")
	}
	return p, nil
}

// readPlanToken takes a token apart.
func readPlanToken(token string) (version uint64, call, plan []byte, ok bool) {
	text, marked := strings.CutPrefix(token, planMark)
	data, err := base64.RawURLEncoding.DecodeString(text)
	if !marked || err != nil || len(data) != 8+callDigest+sha256.Size {
		return 0, nil, nil, false
	}
	return binary.BigEndian.Uint64(data), data[8 : 8+callDigest], data[8+callDigest:], true
}

// check is CONFLICT if the draft is not what the token says. Of a dry run it returns the token of the draft.
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

// planDigest is the digest of what is staged: by path, the texts before and after. What goes to the trash is not in
// it: its name there may depend on the version.
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

// digestOf is the digest of a text; nil if there is none.
func digestOf(text []byte) any {
	if text == nil {
		return nil
	}
	return sha256.Sum256(text)
}

// maxPlanChanged is how many files a conflict names.
const maxPlanChanged = 50

// changedAfter are the first of the files that changed after a version.
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
