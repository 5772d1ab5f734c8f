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

// A clouded is the cost of the functions on AWS Lambda, over emulators of DynamoDB and S3.
type clouded struct {
	Load      string // load average of the machine over one minute at the start; empty: unknown
	Functions []bootstrap
	Calls     []asTwo
	Commits   []sample // of concurrent writers, see crowds
	Follow    following
}

// An asTwo is one kind of call to a function in this process, over file-based stores and over
// emulators.
type asTwo struct {
	Tool         string
	Files, Cloud []time.Duration // sorted
}

// Ratio returns the p50 over emulators divided by the p50 over files.
func (a asTwo) Ratio() float64 { return float64(a.CloudP(50)) / float64(a.FilesP(50)) }

// FilesP and CloudP return percentiles.
func (a asTwo) FilesP(percent int) time.Duration { return percentile(a.Files, percent) }
func (a asTwo) CloudP(percent int) time.Duration { return percentile(a.Cloud, percent) }

// The environment variables with the URLs of the emulators; see localstack.
const (
	awsEmulator    = "ROOKERY_TEST_AWS_ENDPOINT"
	dynamoEmulator = "ROOKERY_TEST_DDB_ENDPOINT"
)

const (
	cloudTimes = 60                   // number of measurements of each kind of call
	cloudWait  = 4 * time.Millisecond // delay of each DynamoDB call while commits are counted
	cloudLimit = 8 * time.Second      // duration of the load of the writers
)

// measureCloud measures the functions over emulators, and writes the page.
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

// emulated returns a deployment with a new table and a new bucket in the emulators.
func emulated(ctx context.Context) (localcloud.Deployment, error) {
	return emulatedWith(ctx, func(*localcloud.Deployment) {})
}

// emulatedWith returns a deployment like emulated, after more changed its settings.
func emulatedWith(ctx context.Context, more func(*localcloud.Deployment)) (localcloud.Deployment, error) {
	name := fmt.Sprintf("rookery-bench-%d", time.Now().UnixNano())
	d := localcloud.Deployment{
		AWS: os.Getenv(awsEmulator), DynamoDB: os.Getenv(dynamoEmulator), Table: name, Bucket: name,
	}
	more(&d)
	return d, localcloud.MakeStores(ctx, d)
}

// cloudCalls are the measured kinds of calls. Their arguments differ from call to call.
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

// compare measures each kind of call over both kinds of stores alternately, so that both have the
// same load on the machine.
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
			if i > 0 { // the first call fills caches
				row.Files, row.Cloud = append(row.Files, near), append(row.Cloud, took)
			}
		}
		slices.Sort(row.Files)
		slices.Sort(row.Cloud)
		c.Calls = append(c.Calls, row)
	}
	return nil
}

// crowds are the numbers of instances that write to one vault, and the number of writers of each.
var crowds = []struct{ instances, writers int }{{1, 1}, {1, 8}, {8, 8}}

// crowd measures the commits of one vault while each DynamoDB call is delayed by cloudWait.
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

// crowded measures concurrent writers of one vault, spread over several instances.
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

// Goals returns the goals of the functions.
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

// timed makes a call that must succeed, and returns its duration.
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
