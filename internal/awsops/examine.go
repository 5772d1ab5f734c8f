package awsops

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
)

// expires is the attribute with the time at which DynamoDB deletes an item.
const expires = "x"

// apart is the largest difference of two clocks that is accepted.
const apart = time.Minute

// Examine examines the API, the functions, the stores and the queues of the stack. It changes
// nothing.
func (s *Stack) Examine(ctx context.Context) []doctor.Finding {
	checks := []doctor.Check{s.api}
	for _, check := range []func(context.Context) doctor.Finding{
		s.health, s.timeToLive, s.backups, s.versions, s.stream, s.jobs, s.deadLetters,
	} {
		checks = append(checks, doctor.One(check))
	}
	return doctor.Run(ctx, checks...)
}

// wrong returns the finding for a resource that differs from the template.
func wrong(check, message, fix string) doctor.Finding {
	return doctor.Failure(check, fault.New(fault.Unavailable, "%s", message), fix)
}

// api calls the API without a token. The API must answer with a challenge, so that an MCP client
// finds out where to get a token.
func (s *Stack) api(ctx context.Context) []doctor.Finding {
	if s.URL == "" {
		return []doctor.Finding{wrong("api", "the stack has no output Url", "deploy template.yaml")}
	}
	a, err := s.ask(ctx, http.MethodPost, "/mcp")
	if err != nil {
		return []doctor.Finding{wrong("api", "the API does not answer", "check its URL and its domain: "+s.URL)}
	}
	return []doctor.Finding{s.challenge(ctx, a), clock(a)}
}

// An answer is the API's response to a request without a token.
type answer struct {
	status int
	header http.Header
}

// ask sends a request without a token.
func (s *Stack) ask(ctx context.Context, method, path string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(s.URL, "/")+path,
		strings.NewReader("{}"))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	got, err := s.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(got.Body, 1<<20)) // so that the connection can be reused
	return answer{got.StatusCode, got.Header}, err
}

// challenge checks that the gateway forwards the challenge of a refused request.
func (s *Stack) challenge(ctx context.Context, a answer) doctor.Finding {
	const check = "challenge"
	if a.status != http.StatusUnauthorized {
		return wrong(check, fmt.Sprintf("a request without a token is answered %d, not 401", a.status),
			"read the log of the function mcp")
	}
	if strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
		return doctor.Good(check, "a refused request contains the address for tokens")
	}
	const fix = "deploy infra/cloudfront.yaml in front of the API (docs/guide/deploy.md, The challenge), " +
		"or give clients of MCP a token"
	said := "the gateway renames WWW-Authenticate"
	known, err := s.ask(ctx, http.MethodGet, "/.well-known/oauth-protected-resource")
	switch {
	case err == nil && known.status == http.StatusNotFound:
		return doctor.Good(check, said+"; the stack has no identity provider, so that clients need an API token")
	case err != nil || known.status != http.StatusOK:
		return wrong(check, said+", and /.well-known/oauth-protected-resource does not answer", fix)
	}
	return doctor.Warning(check,
		said+": clients that do not look at /.well-known/oauth-protected-resource cannot log in", fix)
}

// clock compares the clock of this machine with that of AWS.
func clock(a answer) doctor.Finding {
	date, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		return doctor.Skipped("clock", "the API sends no time", "")
	}
	off := time.Since(date).Round(time.Second)
	if off.Abs() > apart {
		return doctor.Warning("clock", fmt.Sprintf("the clock of this machine is %v off", off), "set the clock")
	}
	return doctor.Good("clock", "the clocks of this machine and of AWS agree")
}

// health asks the function that consumes the queue of jobs for its health.
func (s *Stack) health(ctx context.Context) doctor.Finding {
	var is struct {
		Version string
		Now     time.Time
		Holds   bool
	}
	if err := s.invoke(ctx, jobsID, map[string]string{"rookery": "health"}, &is); err != nil {
		return doctor.Refused("functions", err)
	}
	said := "the functions run release " + is.Version
	if is.Holds {
		said += "; for up to 15 minutes after an upgrade images of the release before are kept"
	}
	return doctor.Good("functions", said)
}

// timeToLive checks that the table deletes expired items.
func (s *Stack) timeToLive(ctx context.Context) doctor.Finding {
	const check = "time to live"
	out, err := s.table.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{
		TableName: aws.String(s.resources[tableID]),
	})
	if err != nil {
		return doctor.Refused(check, failed("describe the table", err))
	}
	d := out.TimeToLiveDescription
	if d == nil || d.TimeToLiveStatus != dynamotypes.TimeToLiveStatusEnabled ||
		aws.ToString(d.AttributeName) != expires {
		return wrong(check, "the table does not delete items that have expired",
			"enable its time to live on the attribute x")
	}
	return doctor.Good(check, "the table deletes items that have expired")
}

// backups checks that the table can be restored to an earlier time.
func (s *Stack) backups(ctx context.Context) doctor.Finding {
	const check = "backups"
	out, err := s.table.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{
		TableName: aws.String(s.resources[tableID]),
	})
	if err != nil {
		return doctor.Refused(check, failed("describe the backups of the table", err))
	}
	d := out.ContinuousBackupsDescription
	if d == nil || d.PointInTimeRecoveryDescription == nil ||
		d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus != dynamotypes.PointInTimeRecoveryStatusEnabled {
		return wrong(check, "the table cannot be restored to an earlier time", "enable its point-in-time recovery")
	}
	return doctor.Good(check, "the table can be restored to an earlier time")
}

// versions checks that the bucket keeps versions of objects.
func (s *Stack) versions(ctx context.Context) doctor.Finding {
	const check = "versions"
	out, err := s.files.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{
		Bucket: aws.String(s.resources[bucketID]),
	})
	if err != nil {
		return doctor.Refused(check, failed("describe the bucket", err))
	}
	if out.Status != s3types.BucketVersioningStatusEnabled {
		return wrong(check, "the bucket keeps no versions of objects", "enable its versioning")
	}
	return doctor.Good(check, "the bucket keeps versions of objects")
}

// stream checks that the stream of the table invokes its function.
func (s *Stack) stream(ctx context.Context) doctor.Finding {
	const check = "stream"
	out, err := s.functions.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{
		FunctionName: aws.String(s.resources[streamID]),
	})
	if err != nil {
		return doctor.Refused(check, failed("look at what invokes StreamFunction", err))
	}
	for i := range out.EventSourceMappings {
		m := &out.EventSourceMappings[i]
		if state := aws.ToString(m.State); state != "Enabled" {
			return wrong(check, "files are not written: what invokes StreamFunction is "+state,
				"sam deploy with Paused=false")
		}
		if last := aws.ToString(m.LastProcessingResult); strings.HasPrefix(last, "PROBLEM") {
			return wrong(check, "the last records of the stream could not be processed",
				"read the log of the function stream")
		}
	}
	if len(out.EventSourceMappings) == 0 {
		return wrong(check, "nothing invokes StreamFunction: files are not written", "deploy template.yaml")
	}
	return doctor.Good(check, "the stream of the table invokes its function")
}

// manyJobs is the number of waiting messages in the queue of jobs above which there is a warning.
const manyJobs = 1000

// jobs checks the number of waiting jobs.
func (s *Stack) jobs(ctx context.Context) doctor.Finding {
	n, err := s.count(ctx, "JobsQueue")
	if err != nil {
		return doctor.Refused("jobs", err)
	}
	said := fmt.Sprintf("%d messages wait in the queue of jobs", n)
	if n > manyJobs {
		return doctor.Warning("jobs", said, "raise JobsConcurrency, or read the log of the function jobs")
	}
	return doctor.Good("jobs", said)
}

// deadLetters checks that there are no dead letters.
func (s *Stack) deadLetters(ctx context.Context) doctor.Finding {
	const check = "dead letters"
	var said []string
	for _, q := range queues {
		n, err := s.count(ctx, q.id)
		if err != nil {
			return doctor.Refused(check, err)
		}
		if n > 0 {
			said = append(said, fmt.Sprintf("%d of %s", n, q.name))
		}
	}
	if len(said) > 0 {
		return doctor.Warning(check, strings.Join(said, ", "), "rookery dead-letters list --stack "+s.Name)
	}
	return doctor.Good(check, "there are none")
}
