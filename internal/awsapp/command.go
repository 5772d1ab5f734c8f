package awsapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// operator is the principal of commands. The deployment decides who may invoke the function itself.
const operator = "rookery"

// A tokenEvent is the command that creates an API token, and its tenant if it does not exist.
// Without an identity provider, this is how the first token is created. All fields are required;
// the tool validates them.
type tokenEvent struct {
	Tenant string    `json:"tenant"`
	Name   string    `json:"name"`
	Role   auth.Role `json:"role"`
}

// command executes a command of an operator, an event that does not come from a gateway:
// {"rookery": "token-create", …}. Only the function that serves everything has commands. Who may
// invoke a function is decided by the policies of AWS. Errors contain no internal text, because the
// service that invoked the function may log them.
func (a *App) command(ctx context.Context, name string, payload []byte) ([]byte, error) {
	if a.opt.Part != Everything {
		return nil, errUnknown
	}
	if name != "token-create" {
		return nil, errors.New("there is no such command: it must be token-create")
	}
	var e tokenEvent
	if json.Unmarshal(payload, &e) != nil {
		return nil, errors.New("tenant, name and role must be texts")
	}
	made, err := a.createToken(ctx, e)
	if f := (*fault.Fault)(nil); errors.As(err, &f) {
		return nil, fmt.Errorf("%s: %s", f.Code, f.Message)
	}
	if err != nil {
		a.opt.Log.ErrorContext(ctx, "a token could not be made", "cause", err)
		return nil, errors.New("the token could not be made; the log says why")
	}
	return made, nil
}

// createToken creates a token, and its tenant if it does not exist. It calls the tool, so that the
// token is checked and audited as every other. It returns the id and the token as JSON; the token
// cannot be read again.
func (a *App) createToken(ctx context.Context, e tokenEvent) ([]byte, error) {
	if err := a.teams.Make(ctx, e.Tenant); err != nil {
		return nil, err
	}
	args, err := tool.Marshal(map[string]any{"name": e.Name, "role": e.Role})
	if err != nil {
		return nil, err
	}
	data, err := a.host.Catalogue.Invoke(auth.WithCaller(ctx, auth.Caller{
		Tenant: e.Tenant, Principal: operator, Name: operator, Agent: operator, Session: auth.DefaultSession,
		Roles: map[string]auth.Role{auth.AllVaults: auth.Admin},
	}), "team_token_create", args)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Token string `json:"token"`
			ID    string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("read the answer of a tool: %w", err)
	}
	return tool.Marshal(answer.Data)
}
