package localapp

import (
	"context"
	"fmt"

	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
)

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
