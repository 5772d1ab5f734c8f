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

// held examines a directory that another process has open. If the process has no address file, it
// is not a server, and the database cannot be examined. Otherwise the server is asked for its
// vaults. A server that answers and refuses the caller is alive, which is a good finding, but its
// vaults are skipped.
func (e *examination) held(ctx context.Context) {
	const check = "lock"
	at, err := readAddress(e.dir)
	if err != nil || at.URL == "" {
		e.add(doctor.Warning(check, "another process has the directory open, and it is not a server: a "+
			"command is running", "wait until it has ended, and run doctor again"))
		e.add(doctor.Skipped("database", "another process has it open", ""))
		return
	}
	s, err := e.ask(ctx, at)
	if err != nil && !answers(err) {
		e.add(unanswered(ctx, at, err))
		return
	}
	by := fmt.Sprintf("served at %s by process %d", at.URL, at.PID)
	if at.Key != "" {
		by = fmt.Sprintf("open in the `rookery mcp` of an MCP client, process %d", at.PID)
	}
	e.add(doctor.Good(check, by))
	e.add(doctor.Skipped("database", "its server has it open",
		"stop the server to check pages, payloads and cursors"))
	if err != nil {
		e.add(unshown(err))
		return
	}
	s.examine(ctx)
}

// ask asks the server of a directory for its vaults, through its listener if that can be used, and
// otherwise at its URL. It authenticates with the key of the address file, or with the token that
// Examination.Token returns. The error is that of the call.
func (e *examination) ask(ctx context.Context, at Address) (*served, error) {
	client := &httptool.Client{Base: at.URL, HTTP: Direct(at.direct()), Token: at.Key}
	if e.Token != nil && at.Key == "" {
		var err error
		if client.Token, err = e.Token(ctx, at.URL); err != nil {
			e.add(doctor.Failure("login", err, ""))
		}
	}
	s := &served{examination: e, call: toolCaller(client)}
	return s, s.list(ctx)
}

// answers reports whether an error is the answer of a running server that refuses this caller:
// authentication, a missing role, or its rate limit.
func answers(err error) bool {
	switch fault.Of(err).Status() {
	case fault.StatusUnauthenticated, fault.StatusForbidden, fault.StatusRateLimited:
		return true
	}
	return false
}

// unshown returns the finding for vaults that the server does not let this caller read, with the
// server's own advice if it gave any.
func unshown(err error) doctor.Finding {
	f := fault.Of(err)
	fix := "use a token of an admin: ROOKERY_TOKEN"
	if len(f.Fixes) > 0 {
		fix = f.Fixes[0]
	}
	return doctor.Skipped("vaults", f.Message, fix)
}

// unanswered returns the finding for a server whose URL does not answer: the server is stuck, or
// only its URL cannot be reached from this machine. If its listener answers, that is a warning with
// advice about the proxy; otherwise it is a failure.
func unanswered(ctx context.Context, at Address, err error) doctor.Finding {
	const check = "lock"
	why := fault.Of(err).Message
	if at.alive(ctx) {
		return doctor.Warning(check, fmt.Sprintf("process %d is serving and its listener answers, but %s does "+
			"not answer from this machine: %s", at.PID, at.URL, why),
			"the server itself is healthy; check whether that address answers from elsewhere, and if not, "+
				"check the proxy and the DNS name")
	}
	return doctor.Failure(check, fault.New(fault.Unavailable, "process %d has the directory open, and its "+
		"server at %s does not answer: %s", at.PID, at.URL, why),
		fmt.Sprintf("check the log of process %d; if it is stuck, end it and start the server again", at.PID))
}
