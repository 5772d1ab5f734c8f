package localapp

import (
	"context"
	"fmt"

	"rookery/internal/fault"
	"rookery/internal/httptool"
	"rookery/internal/repo"
)

// held examines a directory that another process has open.
func (e *examination) held(ctx context.Context) {
	const check = "lock"
	at, err := readAddress(e.dir)
	if err != nil || at.URL == "" {
		e.add(repo.Warning(check, "another process holds the directory, and is no server: a command that "+
			"is running", "wait until it has ended, and look again"))
		e.add(repo.Skipped("database", "another process holds it", ""))
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
	e.add(repo.Good(check, by))
	e.add(repo.Skipped("database", "its server holds it",
		"stop the server to check pages, payloads and cursors"))
	if err != nil {
		e.add(unshown(err))
		return
	}
	s.examine(ctx)
}

// ask asks the server of a directory for its vaults, through its listener if that can be used, and
// otherwise at its URL.
func (e *examination) ask(ctx context.Context, at Address) (*served, error) {
	client := &httptool.Client{Base: at.URL, HTTP: Direct(at.direct()), Token: at.Key}
	if e.Token != nil && at.Key == "" {
		var err error
		if client.Token, err = e.Token(ctx, at.URL); err != nil {
			e.add(repo.Failure("login", err, ""))
		}
	}
	s := &served{examination: e, call: asking(client)}
	return s, s.list(ctx)
}

// answers reports whether an error is the answer of a running server that refuses this caller.
func answers(err error) bool {
	switch fault.Of(err).Status() {
	case fault.StatusUnauthenticated, fault.StatusForbidden, fault.StatusRateLimited:
		return true
	}
	return false
}

// unshown returns the finding for vaults that the server does not let this caller read.
func unshown(err error) repo.Finding {
	f := fault.Of(err)
	fix := "show a token of an admin: ROOKERY_TOKEN"
	if len(f.Fixes) > 0 {
		fix = f.Fixes[0]
	}
	return repo.Skipped("vaults", f.Message, fix)
}

// unanswered returns the finding for a server whose URL does not answer: the server is stuck, or
// only its URL cannot be reached from this machine.
func unanswered(ctx context.Context, at Address, err error) repo.Finding {
	const check = "lock"
	why := fault.Of(err).Message
	if at.alive(ctx) {
		return repo.Warning(check, fmt.Sprintf("process %d serves, and its listener answers; but %s does not "+
			"answer from this machine: %s", at.PID, at.URL, why),
			"the server needs nothing; see whether others reach that address, and if they do not, look at the "+
				"proxy and the name before it")
	}
	return repo.Failure(check, fault.New(fault.Unavailable, "process %d holds the directory, and its "+
		"server at %s does not answer: %s", at.PID, at.URL, why),
		fmt.Sprintf("look at the log of process %d; if it is stuck, end it and serve anew", at.PID))
}
