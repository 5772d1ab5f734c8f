package localapp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A served is an examination of a directory that a server has open, through the tools of that
// server. It sees what its caller may see.
type served struct {
	*examination
	call   func(ctx context.Context, name string, args, data any) error
	vaults []string
}

// toolCaller returns a function that calls a tool of a server and decodes the data of its answer into
// data. The fault of an answer is returned as an error.
func toolCaller(client *httptool.Client) func(ctx context.Context, name string, args, data any) error {
	return func(ctx context.Context, name string, args, data any) error {
		in, err := tool.Marshal(args)
		if err != nil {
			return err
		}
		raw, err := client.Invoke(ctx, name, in)
		if err != nil {
			return err
		}
		answer := struct{ Data any }{data}
		if err := json.Unmarshal(raw, &answer); err != nil {
			return fmt.Errorf("read the answer of the server: %w", err)
		}
		return nil
	}
}

// list lists the active vaults that are examined, 200 at most, which is more than a tenant can
// have.
func (s *served) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	var all struct {
		Items []struct{ Name, State string }
	}
	if err := s.call(ctx, "team_vault_list", map[string]any{"limit": 200}, &all); err != nil {
		return err
	}
	for _, v := range all.Items {
		if v.State == string(eventlog.Active) && (s.Vault == "" || s.Vault == v.Name) {
			s.vaults = append(s.vaults, v.Name)
		}
	}
	return nil
}

// examine examines every vault, and the issuers of the tenant.
func (s *served) examine(ctx context.Context) {
	if s.Vault != "" && len(s.vaults) == 0 {
		s.add(doctor.Failure("vault", fault.NoVault(s.Vault), ""))
	}
	for _, name := range s.vaults {
		s.add(doctor.InVault(name, append(s.stats(ctx, name), s.chain(ctx, name)))...)
	}
	s.issuers(ctx)
}

// issuers adds a finding for every disabled issuer of the tenant. It is skipped if the caller is
// not an admin of the tenant. Without a disabled issuer there is no finding.
func (s *served) issuers(ctx context.Context) {
	const check = "issuers"
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	var all struct {
		Items []struct{ Name, Disabled string }
	}
	err := s.call(ctx, "team_issuer_list", map[string]any{"limit": tenant.MaxIssuers}, &all)
	switch {
	case fault.Is(err, fault.PermissionDenied):
		s.add(doctor.Skipped(check, "the token does not have the role admin", ""))
	case err != nil:
		s.add(doctor.Failure(check, err, ""))
	}
	for _, i := range all.Items {
		if i.Disabled != "" {
			s.add(doctor.DisabledIssuer(i.Name))
		}
	}
}

// A counts is the part of the data of raven_stats that is examined. Fields that the answer lacks,
// because the server is of an earlier release, have their zero values, which are no findings.
type counts struct {
	Notes       int            `json:"file_count"`
	Quarantined int            `json:"quarantined_count"`
	Unparsed    []string       `json:"quarantined"`
	Unindexed   int            `json:"unindexed_count"`
	Crowded     []string       `json:"unindexed"`
	Conflicts   int            `json:"conflict_count"`
	Copies      []string       `json:"conflicts"`
	Freshness   repo.Freshness `json:"freshness"`
	Edited      int            `json:"edited_outside_count"`
	EditedFiles []string       `json:"edited_outside"`
	Missing     []string       `json:"missing_files"`
	Pending     int            `json:"pending_outside_count"`
	PendingList []string       `json:"pending_outside"`
	Held        *repo.Held     `json:"held"`
	Unwatched   repo.Unwatched `json:"unwatched"`
	Left        int            `json:"left_count"`
	LeftFiles   []leftFile     `json:"left"`
}

// A leftFile is a skipped file.
type leftFile struct {
	File   string      `json:"file"`
	Reason repo.Reason `json:"reason"`
	Twin   string      `json:"twin"`
}

// control returns a control item with the counts, so that the findings are those of an examination
// without a server.
func (n *counts) control() repo.Control {
	c := repo.Control{FileState: repo.FileState{
		Sweep: &repo.Sweep{
			Count: n.Edited, Edited: n.EditedFiles, Missed: len(n.Missing), Missing: n.Missing,
		},
		Noticed: &repo.Noticed{Count: n.Pending, Paths: n.PendingList},
		Held:    n.Held, Unwatched: n.Unwatched,
	}}
	if n.Left > 0 {
		c.Left = &repo.Left{Count: n.Left}
		for _, f := range n.LeftFiles {
			c.Left.Files = append(c.Left.Files, repo.LeftFile{Path: f.File, Why: f.Reason, Twin: f.Twin})
		}
	}
	return c
}

// stats returns the findings about the notes and files of a vault. They are made by the functions
// that examine a vault without a server, from a control item with the same numbers.
func (s *served) stats(ctx context.Context, name string) []doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	var n counts
	if err := s.call(ctx, "raven_stats", map[string]any{"vault": name}, &n); err != nil {
		return []doctor.Finding{doctor.Failure("log", err, "")}
	}
	all := []doctor.Finding{doctor.Good("log", fmt.Sprintf("%d notes", n.Notes))}
	all = append(all, repo.CheckFiles(n.control(), n.Freshness)...)
	all = append(all, doctor.Conflicts(n.Conflicts, n.Copies), doctor.Unparsed(n.Quarantined, n.Unparsed))
	if n.Unindexed > 0 {
		all = append(all, doctor.Unindexed(n.Unindexed, index.MaxThings, n.Crowded))
	}
	return all
}

// chain asks the server to verify the history of a vault, if Full is set, which takes at most
// fullPatience. Otherwise the check is skipped.
func (s *served) chain(ctx context.Context, name string) doctor.Finding {
	const check = "chain"
	if !s.Full {
		return doctor.Skipped(check, "its server has the log open", "rookery doctor --full asks it to verify")
	}
	ctx, cancel := context.WithTimeout(ctx, fullPatience)
	defer cancel()
	var done struct {
		Commits uint64 `json:"commit_count"`
	}
	if err := s.call(ctx, "team_audit_verify", map[string]any{"vault": name}, &done); err != nil {
		return doctor.Failure(check, err, "")
	}
	return doctor.Good(check, fmt.Sprintf("%d commits in an unbroken chain, verified against their headers; "+
		"the audit log is verified too", done.Commits))
}
