package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/doctor"
)

// soon is how long before the expiry of a token there is a warning: a week, so that a person who
// runs doctor from time to time sees it before the token expires.
const soon = 7 * 24 * time.Hour

// loginCheck is the name of the check of the server that commands use. Scripts find the finding by
// this name.
const loginCheck = "login"

// serverPatience is the timeout of the call of team_whoami.
const serverPatience = 10 * time.Second

// login returns the finding about the server at an address: whether it answers, and accepts the
// token that commands would send. It is good if authentication is off, a warning if the token
// expires soon, and broken with the code of the fault if the call fails.
func (d *doctorCommand) login(ctx context.Context, t clitool.Target, address string) doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	client, err := connector{d.app}.client(ctx, t, address)
	if err != nil {
		return doctor.Refused(loginCheck, err)
	}
	who, err := whoami(ctx, client)
	if err != nil {
		return doctor.Refused(loginCheck, err)
	}
	if who.open() {
		return doctor.Good(loginCheck, address+": authentication is off")
	}
	f := doctor.Good(loginCheck,
		fmt.Sprintf("%s: %s, the token %s", address, who.who(), who.until()))
	if who.Expires != nil && !who.Expires.IsZero() && time.Until(*who.Expires) < soon {
		f.Level, f.Fix = doctor.LevelWarning, "rookery login --server "+address+" --token -"
	}
	return f
}
