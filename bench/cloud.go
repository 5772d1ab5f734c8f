package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/localcloud"
)

// A clouded is what the functions of AWS Lambda cost over the emulators of DynamoDB and S3.
type clouded struct {
	Load      string // of the machine when it began: programs that wanted a processor, a minute's mean; empty: unknown
	Functions []bootstrap
	Calls     []asTwo
	Commits   []sample // of writers at once, see crowds
	Follow    following
}

// An asTwo is one kind of call to a function in this process: over stores of files, and over emulators.
type asTwo struct {
	Tool         string
	Files, Cloud []time.Duration // shortest first
}

// Ratio is how much longer a call takes over emulators, at p50.
func (a asTwo) Ratio() float64 { return float64(a.CloudP(50)) / float64(a.FilesP(50)) }

// FilesP and CloudP are percentiles.
func (a asTwo) FilesP(percent int) time.Duration { return percentile(a.Files, percent) }
func (a asTwo) CloudP(percent int) time.Duration { return percentile(a.Cloud, percent) }

// The variables that name emulators; see localstack.
const (
	awsEmulator    = "ROOKERY_TEST_AWS_ENDPOINT"
	dynamoEmulator = "ROOKERY_TEST_DDB_ENDPOINT"
)

const (
	cloudTimes = 60                   // that each kind of call is measured
	cloudWait  = 4 * time.Millisecond // added to each call of DynamoDB while commits are counted
	cloudLimit = 8 * time.Second      // of the writers
)

// measureCloud measures, and writes the page.
func measureCloud(ctx context.Context, cfg config) error {
	if os.Getenv(awsEmulator) == "" || os.Getenv(dynamoEmulator) == "" {
		return fmt.Errorf("%s and %s must name emulators: make bench-cloud starts them", awsEmulator, dynamoEmulator)
	}
	p, dir, end, err := begin(cfg)
	if err != nil {
		return err
	}
	defer end()
	load, _, _ := strings.Cut(firstLine("/proc/loadavg"), " ")
	p.Cloud = &clouded{Load: load}
	for _, step := range []func(context.Context, string) error{
		p.Cloud.compare, p.Cloud.crowd, p.Cloud.follow, p.Cloud.build,
	} {
		if err := step(ctx, dir); err != nil {
			return err
		}
	}
	return p.write(cfg.out)
}

// emulated is a deployment with a new table and a new bucket of the emulators.
func emulated(ctx context.Context) (localcloud.Deployment, error) {
	return emulatedWith(ctx, func(*localcloud.Deployment) {})
}

// emulatedWith is emulated with more than that.
func emulatedWith(ctx context.Context, more func(*localcloud.Deployment)) (localcloud.Deployment, error) {
	name := fmt.Sprintf("rookery-bench-%d", time.Now().UnixNano())
	d := localcloud.Deployment{
		AWS: os.Getenv(awsEmulator), DynamoDB: os.Getenv(dynamoEmulator), Table: name, Bucket: name,
	}
	more(&d)
	return d, localcloud.MakeStores(ctx, d)
}

// cloudCalls are the calls that are measured, each with arguments that differ from time to time.
var cloudCalls = []struct {
	tool string
	args func(i int) in
}{
	{"raven_stats", func(int) in { return in{"vault": "main"} }},
	{"raven_object_get", func(int) in { return in{"vault": "main", "id": "people/freya"} }},
	{"raven_object_list", func(int) in { return in{"vault": "main"} }},
	{"raven_search", func(int) in { return in{"vault": "main", "query": "knows"} }},
	{"raven_read", func(int) in { return in{"vault": "main", "path": "people/freya.md"} }},
	{"raven_history", func(int) in { return in{"vault": "main", "id": "people/freya"} }},
	{"raven_add", func(i int) in { return in{"vault": "main", "to": "inbox", "text": fmt.Sprint("line ", i)} }},
	{"raven_new", func(i int) in {
		return in{"vault": "main", "type": "page", "title": fmt.Sprint("Note ", i)}
	}},
}

// compare measures each kind of call over both kinds of stores in turn, so that both have the same machine.
func (c *clouded) compare(ctx context.Context, dir string) error {
	d, err := emulated(ctx)
	if err != nil {
		return err
	}
	files, err := overFiles(dir)
	if err != nil {
		return err
	}
	defer files.close()
	far, err := overCloud(d, 0)
	if err != nil {
		return err
	}
	defer far.close()
	for _, a := range []*instance{files, far} {
		if err := a.furnish(ctx); err != nil {
			return err
		}
	}
	for _, made := range cloudCalls {
		progress("%s over both kinds of stores", made.tool)
		row := asTwo{Tool: made.tool}
		for i := range cloudTimes + 1 {
			near, errNear := files.timed(ctx, made.tool, made.args(i))
			took, errFar := far.timed(ctx, made.tool, made.args(i))
			if err := errors.Join(errNear, errFar); err != nil {
				return err
			}
			if i > 0 { // the first reads what others find
				row.Files, row.Cloud = append(row.Files, near), append(row.Cloud, took)
			}
		}
		slices.Sort(row.Files)
		slices.Sort(row.Cloud)
		c.Calls = append(c.Calls, row)
	}
	return nil
}

// crowds are how many instances write to one vault, and how many writers each has.
var crowds = []struct{ instances, writers int }{{1, 1}, {1, 8}, {8, 8}}

// crowd counts commits of one vault: every call of DynamoDB takes longer by cloudWait.
func (c *clouded) crowd(ctx context.Context, _ string) error {
	for _, size := range crowds {
		progress("commits of %d × %d writers", size.instances, size.writers)
		s, err := crowded(ctx, size.instances, size.writers)
		if err != nil {
			return fmt.Errorf("%d × %d writers: %w", size.instances, size.writers, err)
		}
		c.Commits = append(c.Commits, s)
	}
	return nil
}

// crowded measures writers of one vault, in as many instances.
func crowded(ctx context.Context, instances, writers int) (sample, error) {
	d, err := emulated(ctx)
	if err != nil {
		return sample{}, err
	}
	var all []*instance
	defer func() {
		for _, a := range all {
			a.close()
		}
	}()
	for range instances {
		a, err := overCloud(d, cloudWait)
		if err != nil {
			return sample{}, err
		}
		if len(all) == 0 {
			err = a.furnish(ctx)
		} else {
			a.token = all[0].token
			_, err = a.timed(ctx, "raven_stats", in{"vault": "main"})
		}
		if err != nil {
			return sample{}, err
		}
		all = append(all, a)
	}
	return load{
		name: fmt.Sprintf("%d × %d", instances, writers), clients: instances * writers, ops: 1 << 20, limit: cloudLimit,
		op: func(ctx context.Context, i int) error {
			_, err := all[i%instances].timed(ctx, "raven_add", in{
				"vault": "main", "to": fmt.Sprintf("inbox-%d", i%64), "text": fmt.Sprint("line ", i),
			})
			return err
		},
	}.run(ctx)
}

// Goals are those of the cloud.
func (c *clouded) Goals() []goal {
	var all []goal
	for _, s := range c.Commits {
		if s.Clients == 64 {
			all = append(all,
				goal{"commits a second of a vault, 8 × 8 writers", 100, s.Rate(), "commits/s", true},
				goal{"the same, p99 of a call", 3000, millis(s.P(99)), "ms", false})
		}
	}
	for _, f := range c.Functions {
		if f.Arch != functionArch {
			continue
		}
		all = append(all, goal{f.Name + " for " + f.Arch + ", ZIP archive", maxFunction >> 20,
			float64(f.Size.Zip) / (1 << 20), "MiB", false})
	}
	return all
}

// timed makes a call that must succeed, and returns how long it took.
func (a *instance) timed(ctx context.Context, name string, args in) (time.Duration, error) {
	body, err := json.Marshal(args)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	status, answer := a.send(ctx, http.MethodPost, "/v1/tools/"+name, body)
	if status != http.StatusOK {
		return 0, fmt.Errorf("%s: %d %.300s", name, status, answer)
	}
	return time.Since(begun), nil
}
