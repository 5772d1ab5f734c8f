package main

import (
	"context"
	"fmt"
	"strings"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/awsops"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A cloud contains the flags of commands about a stack in AWS. These commands call AWS with the
// credentials of the operator, and not the API of the server: they must work when the API does not.
type cloud struct {
	app *clitool.App

	stack, region, profile string
}

// flags adds the flags to a command, and declares which global flags it uses: only those for the
// form of the answer, because --server and --data have no meaning for a stack.
func (o *cloud) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.stack, "stack", "", "name of the CloudFormation stack")
	c.Flags().StringVar(&o.region, "region", "", "region of AWS (as the AWS CLI finds it)")
	c.Flags().StringVar(&o.profile, "profile", "", "profile of the AWS CLI")
	clitool.Uses(c, "json", "bare", "envelope")
}

// open reads the resources of the stack, with the region and the credentials that the AWS CLI would
// use, unless the flags name others. Every error before the first call to AWS is INVALID_PARAMETER,
// with the flag or the command that helps as a fix.
func (o *cloud) open(ctx context.Context) (*awsops.Stack, error) {
	if o.stack == "" {
		return nil, fault.New(fault.InvalidParameter, "--stack must be the name of a stack").
			Fix("list the stacks: aws cloudformation list-stacks")
	}
	var options []func(*awsconfig.LoadOptions) error
	if o.region != "" {
		options = append(options, awsconfig.WithRegion(o.region))
	}
	if o.profile != "" {
		options = append(options, awsconfig.WithSharedConfigProfile(o.profile))
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fault.New(fault.InvalidParameter, "the configuration of AWS cannot be read").
			Fix("name a profile: --profile NAME, or set AWS_PROFILE").Because(err)
	}
	if cfg.Region == "" {
		return nil, fault.New(fault.InvalidParameter, "no region of AWS is set").
			Fix("name one: --region eu-central-1, or set AWS_REGION")
	}
	return awsops.Open(ctx, cfg, o.stack)
}

// A deadLetters is the group of commands about messages that could not be handled. queue is the
// value of --queue, which both commands have; empty means all queues.
type deadLetters struct {
	cloud
	queue string
}

// command returns the group with its commands list and redrive. The words for kind, tenant and
// vault come from messages, so they are escaped when they are printed.
func (d *deadLetters) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "dead-letters",
		Short: "List or redrive the dead letters of a stack in AWS",
		Long: "List or redrive the messages that the functions of a stack in AWS could not " +
			"process. A message is\nshown with its kind, tenant and vault, never with a path or " +
			"a text.",
		Args: cobra.NoArgs,
	}
	list := &cobra.Command{
		Use: "list", Short: "List the dead letters", Args: cobra.NoArgs, RunE: d.list,
		Long: "List the messages that could not be processed: the number in each queue, and up " +
			"to 100 of each. They\nremain in the queue.",
		Example: "rookery dead-letters list --stack rookery",
	}
	redrive := &cobra.Command{
		Use: "redrive", Short: "Move the dead letters back to their queues", Args: cobra.NoArgs, RunE: d.redrive,
		Long: "Move the messages back to the queues that they came from; those of the stream " +
			"are deleted, and the\njanitor finds the vaults that are behind. Find and fix the " +
			"cause first: a message that fails again\nreturns to the dead letters.",
		Example: "rookery dead-letters redrive --stack rookery --queue jobs",
	}
	for _, sub := range []*cobra.Command{list, redrive} {
		d.flags(sub)
		sub.Flags().StringVar(&d.queue, "queue", "", "one queue: "+strings.Join(awsops.Queues(), ", ")+" (all)")
		c.AddCommand(sub)
	}
	return c
}

// list prints the number of messages in each queue, and then one line for each of those that it has
// read: when it was sent, its queue, its kind, and its tenant and vault.
func (d *deadLetters) list(c *cobra.Command, _ []string) error {
	s, err := d.open(c.Context())
	if err != nil {
		return err
	}
	counts, all, err := s.DeadLetters(c.Context(), d.queue)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, n := range counts {
		fmt.Fprintf(&b, "%s: %d\n", n.Queue, n.Count)
	}
	for _, l := range all {
		fmt.Fprintf(&b, "  %s  %s  %s  %s\n", l.Sent.Format("2006-01-02 15:04:05"), l.Queue,
			control.Escape(l.Kind), control.Escape(l.Tenant+"/"+l.Vault))
	}
	return d.app.Finish(c, clitool.Outcome{
		Data: map[string]any{"queues": counts, "messages": all}, Text: b.String(),
	})
}

// redrive moves the messages back, and prints how many in each queue. It may be repeated after an
// error.
func (d *deadLetters) redrive(c *cobra.Command, _ []string) error {
	s, err := d.open(c.Context())
	if err != nil {
		return err
	}
	moved, err := s.Redrive(c.Context(), d.queue)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, n := range moved {
		fmt.Fprintf(&b, "%s: %d moved\n", n.Queue, n.Count)
	}
	return d.app.Finish(c, clitool.Outcome{Data: map[string]any{"queues": moved}, Text: b.String()})
}

// A restorer is the command that rolls a stack back to an earlier time. from is the table that AWS
// has restored to that time.
type restorer struct {
	cloud
	from string
}

func (r *restorer) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "rollback",
		Short: "Roll a stack in AWS back to an earlier time",
		Long: "Copy into the table of a stack the content of another table, which AWS has " +
			"restored to an earlier\ntime, and then write the files of all vaults as in that " +
			"table. A file with a different text is\ncopied to .trash/ first. The stack must be " +
			"paused. Changes after that time are lost.",
		Example: "rookery rollback --stack rookery --from rookery-restored",
		Args:    cobra.NoArgs,
		RunE:    r.run,
	}
	r.flags(c)
	c.Flags().StringVar(&r.from, "from", "", "name of the table that AWS has restored")
	return c
}

// run restores the stack. Progress is printed on standard error while it works, because it can take
// long; the result has a line for the table and one for each vault. It may be repeated after an
// error.
func (r *restorer) run(c *cobra.Command, _ []string) error {
	if r.from == "" {
		return fault.New(fault.InvalidParameter, "--from must be the name of a table that AWS has restored").
			Fix("restore one: aws dynamodb restore-table-to-point-in-time")
	}
	s, err := r.open(c.Context())
	if err != nil {
		return err
	}
	done, err := s.Restore(c.Context(), r.from, func(what string) {
		_, _ = fmt.Fprintln(r.app.Err, control.Escape(what)) // errors are ignored: it is only progress
	})
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "table: %d items written, %d removed\n", done.Written, done.Removed)
	for _, v := range done.Vaults {
		if v.Vault == "" {
			continue
		}
		fmt.Fprintf(&b, "%s/%s: %s, %d files written, %d texts kept in .trash/\n", v.Tenant, v.Vault,
			v.Version, v.Written, v.Kept)
	}
	return r.app.Finish(c, clitool.Outcome{Data: done, Text: b.String()})
}
