package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A doctorCommand is the command that examines a data directory, a folder or a stack. The checks
// themselves are in packages localapp, repo and awsops; this file chooses the checks and shows the
// findings. It changes nothing.
//
// full and file are the flags --full and --config, and aws is --cloud; cloud has the flags about
// the stack.
type doctorCommand struct {
	app   *clitool.App
	full  bool
	file  string
	aws   bool
	cloud cloud
}

func (d *doctorCommand) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the local data directory or a folder, and suggest fixes",
		Long: "Check the local data directory, or with --vault DIR a served folder, and suggest " +
			"fixes: the disk,\nthe database, and the log, payloads, cursors, files and notes of " +
			"each vault. Nothing is changed.\nWhile a server has the directory open, doctor " +
			"asks that server.\n\nIf commands go to a server, because of rookery login or " +
			"ROOKERY_SERVER, check whether it answers and\naccepts the token, and whether the " +
			"token expires soon; also check the local data directory, if there\nis one.\n\nWith " +
			"--cloud, check a stack in AWS instead: whether the API passes on the headers that " +
			"MCP clients\nneed, and whether functions, table, bucket and queues are configured " +
			"as in the template.\n\nThe exit code is 0 unless something is broken; warnings do " +
			"not change it.",
		Example: "rookery doctor --data ./data\nrookery doctor --data ./data --full --json\n" +
			"rookery doctor --vault ./notes\nrookery doctor --cloud --stack rookery",
		Args: cobra.NoArgs,
		RunE: d.run,
	}
	clitool.Uses(c, "data", "vault", "token", "json", "bare", "envelope")
	c.Flags().BoolVar(&d.full, "full", false, "compare all stored data with its digests")
	d.cloud.flags(c)
	c.Flags().BoolVar(&d.aws, "cloud", false, "check the stack in AWS that --stack names")
	c.Flags().StringVar(&d.file, "config", "", "configuration file of the server: its data "+
		"directory, and its issuers")
	return c
}

// run examines the place that commands use. If they go to a server, it checks whether this server
// accepts the caller, and then the local directory too if there is one, because a person may have
// forgotten which of the two has the notes. With the file of a server it examines that server's
// data directory, unless a flag names another.
//
// --server is refused, because doctor needs the disk and not only the API. A server in the
// environment or in the configuration is not refused: the person asks about it.
//
// A broken check becomes the fault of the answer, so the exit code is that of the error that a call
// would get. Warnings leave it 0.
func (d *doctorCommand) run(c *cobra.Command, _ []string) error {
	if d.aws {
		return d.runCloud(c)
	}
	if d.cloud.stack != "" {
		return fault.New(fault.InvalidParameter, "--stack names a stack in AWS").Fix("add --cloud")
	}
	target, at, err := connector{d.app}.local(c)
	if err != nil {
		return err
	}
	if f := c.Root().PersistentFlags().Lookup("server"); f != nil && f.Changed {
		return fault.New(fault.InvalidParameter, "doctor checks a directory on this machine").
			Fix("run it where the server runs: rookery doctor --data DIR")
	}
	hosted, err := loadConfig(d.app, d.file)
	if err != nil {
		return err
	}
	if target.Data == "" && target.Folder == "" {
		at.Data = cmp.Or(hosted.Data, at.Data)
	}
	address, err := connector{d.app}.server(target)
	if err != nil {
		return err
	}
	var found []doctor.Finding
	if address != "" {
		found = append(found, d.login(c.Context(), target, address))
	}
	if address == "" || exists(at) == nil {
		of := localapp.Examination{
			Data: at.Data, Folder: at.Folder, State: at.State, Vault: target.Vault, Full: d.full, Server: hosted,
		}
		of.Token = func(ctx context.Context, server string) (string, error) {
			return connector{d.app}.token(ctx, target, server)
		}
		found = append(found, localapp.Examine(c.Context(), of)...)
	}
	place(found, target)
	return d.app.Finish(c, clitool.Outcome{
		Data:  map[string]any{"checks": found},
		Text:  doctor.Table(found),
		Fault: doctor.Fault(found),
	})
}

// reindexing is the prefix of the command in findings that compares the files of a vault. The
// checks do not know with which flags doctor was called, so they write the command without a place.
const reindexing = "rookery reindex"

// place adds the flags for the vault and its place to the commands in findings, so that a person
// can copy a fix and run it. A directory in the environment needs no flag. It changes found.
func place(found []doctor.Finding, t clitool.Target) {
	for i, f := range found {
		var flags string
		switch {
		case t.Folder != "":
			flags = " --vault " + tool.ShellWord(t.Folder)
		case f.Vault != "":
			flags = " --vault " + tool.ShellWord(f.Vault)
		}
		if t.Data != "" && !t.InEnvironment("data") {
			flags += " --data " + tool.ShellWord(t.Data)
		}
		found[i].Fix = strings.ReplaceAll(f.Fix, reindexing, reindexing+flags)
	}
}

// runCloud examines a stack in AWS. It does not look at the machine.
func (d *doctorCommand) runCloud(c *cobra.Command) error {
	s, err := d.cloud.open(c.Context())
	if err != nil {
		return err
	}
	found := s.Examine(c.Context())
	return d.app.Finish(c, clitool.Outcome{
		Data: map[string]any{"checks": found}, Text: doctor.Table(found), Fault: doctor.Fault(found),
	})
}

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

// An account is the caller of a server, as team_whoami reports it: the principal that the token
// belongs to, its display name, its tenant, its role in each vault, and the id and expiry of the
// token. The JSON answer of `login` contains it, so the names of its members are part of the
// interface.
type account struct {
	Principal string               `json:"principal"`
	Name      string               `json:"name,omitempty"`
	Tenant    string               `json:"tenant"`
	Roles     map[string]auth.Role `json:"roles"` // by vault
	TokenID   string               `json:"token_id,omitempty"`
	Expires   *time.Time           `json:"expires_at,omitempty"` // nil: never
}

// whoami returns the account of a client's token. It returns UNAVAILABLE if the answer is not that
// of a Rookery server, and the fault of the call if the server refuses the token.
//
// `login` calls it to check a token before it stores it, and `doctor` to check a stored one. The
// address may be that of any web server, so the answer is not trusted: it must be an envelope, and
// sound.
func whoami(ctx context.Context, client *httptool.Client) (account, error) {
	raw, err := client.Invoke(ctx, "team_whoami", nil)
	if err != nil {
		return account{}, err
	}
	var answer struct {
		OK   bool
		Data account
	}
	if json.Unmarshal(raw, &answer) != nil || !answer.OK || !answer.Data.sound() {
		return account{}, fault.New(fault.Unavailable, "%s does not respond like a Rookery "+
			"server", client.Base).
			Fix("check the address of the server")
	}
	return answer.Data, nil
}

// sound reports whether the account is plausible: it has a principal, less than 64 KiB of text, and
// no control characters. The account is printed on a terminal, so a server must not be able to send
// control sequences in it.
func (a account) sound() bool {
	text := a.Principal + a.Name + a.Tenant + a.TokenID
	for vault, role := range a.Roles {
		text += vault + string(role)
	}
	return a.Principal != "" && len(text) < 64<<10 && !strings.ContainsFunc(text, unicode.IsControl)
}

// open reports whether authentication is off on the server: then every caller is the local
// principal.
func (a account) open() bool { return a.Principal == auth.Local }

// who returns the name of the caller for messages: the display name with the principal in
// parentheses, or only the principal, and the tenant if there is one.
func (a account) who() string {
	name := cmp.Or(a.Name, a.Principal)
	if name != a.Principal {
		name += " (" + a.Principal + ")"
	}
	if a.Tenant != "" {
		name += " of " + a.Tenant
	}
	return name
}

// role returns the roles of the account on one line, such as "editor of notes, admin of all
// vaults", sorted by vault. An account without a role can log in, but every call to a vault is
// refused.
func (a account) role() string {
	if len(a.Roles) == 0 {
		return "with no role"
	}
	var parts []string
	for _, vault := range slices.Sorted(maps.Keys(a.Roles)) {
		of := vault
		if vault == auth.AllVaults {
			of = "all vaults"
		}
		parts = append(parts, fmt.Sprintf("%s of %s", cmp.Or(a.Roles[vault], "no role"), of))
	}
	return strings.Join(parts, ", ")
}

// until returns a phrase about the expiry of the token, as the end of a sentence that begins with
// the token: "does not expire" or "expires on 2026-12-01 09:00 UTC".
func (a account) until() string {
	if a.Expires == nil || a.Expires.IsZero() {
		return "does not expire"
	}
	return "expires on " + a.Expires.UTC().Format("2006-01-02 15:04 UTC")
}
