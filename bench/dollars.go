package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// The estimates for the cost of a call in addition to its requests to stores, because emulators do
// not show the time of functions. In dollars, unless noted.
const (
	gatewayDollars = 1.0   // one million requests of an HTTP API
	invokeDollars  = 0.2   // one million invocations
	secondDollars  = 13.33 // one million GB-seconds of a function on arm64
	functionGB     = 1769.0 / 1024
	warmSeconds    = 0.010
	coldSeconds    = 0.400
	logDollars     = 0.5 * 0.4 // one million log lines of 0.4 KB
	readUnitKB     = 4.0       // KiB that one read unit covers
)

// requestsPage contains the requests of each tool, and dollarsPage their cost.
const (
	requestsPage = "docs/benchmarks-requests-cloud.md"
	dollarsPage  = "docs/benchmarks-dollars.md"
)

// dollarsHead is the text before the table.
const dollarsHead = `# What a million calls cost in AWS

This page is written by ` + "`make dollars`" + ` from the requests that
[benchmarks-requests-cloud.md](benchmarks-requests-cloud.md) counts, and a test compares the two. The prices are those
of us-east-1 without free tiers. **They were entered by hand on %s and must be checked**: AWS changes them, and other
regions have others.

| price, dollars | |
| --- | ---: |
| a million write units of DynamoDB, on demand (1 KiB each) | %.3f |
| a million read units (4 KiB each) | %.3f |
| a million PUT or LIST, and GET of S3 | %.2f, %.2f |
| a million requests of SQS | %.2f |
| a million requests of an HTTP API | %.2f |
| a million invocations | %.2f |
| a million GB-seconds on arm64 | %.2f |
| a million log lines of 0.4 KB | %.2f |

The columns **stores** have the requests to DynamoDB, S3 and SQS only, which were counted. A read is charged by what
was read: one unit for each 4 KiB of the bytes of the call, and at least one for each request. The columns **together**
add the HTTP API, the invocation, a log line, and the time of a function of 1,769 MB: 10 ms for a warm call and 400 ms
for a cold one, which are estimates. A change is followed by work in the background, which
[benchmarks-cloud.md](benchmarks-cloud.md) has: about 9 dollars for a million changes.

| call | warm, stores | warm, together | cold, stores | cold, together |
| --- | ---: | ---: | ---: | ---: |
`

// row matches a row of requestsPage: the call, and its requests and KiB, warm and cold.
var row = regexp.MustCompile(`^\| (.+) \| ([^|]*) \| ([0-9.]+) \| ([^|]*) \| ([0-9.]+) \|$`)

// writeDollars writes dollarsPage below the directory root, which contains docs.
func writeDollars(root string) error {
	page, err := dollarsOf(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, dollarsPage), []byte(page), 0o600)
}

// dollarsOf returns the text of dollarsPage.
func dollarsOf(root string) (string, error) {
	f, err := os.Open(filepath.Join(root, requestsPage))
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	fmt.Fprintf(&b, dollarsHead, priceDate, priceWrite, priceRead, pricePut, priceGet, priceMessage, gatewayDollars,
		invokeDollars, secondDollars, logDollars)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m := row.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		warm, err := storeDollars(m[2], m[3])
		if err != nil {
			return "", fmt.Errorf("%s: %w", m[1], err)
		}
		cold, err := storeDollars(m[4], m[5])
		if err != nil {
			return "", fmt.Errorf("%s: %w", m[1], err)
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.2f | %.2f |\n", m[1], warm, warm+callDollars(warmSeconds), cold,
			cold+callDollars(coldSeconds))
	}
	return b.String(), nil
}

// callDollars returns the cost of one million calls, in dollars, without their requests to stores.
// seconds is the time of the function per call.
func callDollars(seconds float64) float64 {
	return gatewayDollars + invokeDollars + logDollars + functionGB*seconds*secondDollars
}

// storeDollars returns the cost of one million times the given requests, in dollars. requests is a
// list such as "1 PutItem, 2 Query", and kib is the number of KiB that they transfer.
func storeDollars(requests, kib string) (float64, error) {
	bytes, err := strconv.ParseFloat(kib, 64)
	if err != nil {
		return 0, err
	}
	sum, reads := 0.0, 0.0
	for part := range strings.SplitSeq(requests, ", ") {
		if part == "" {
			continue
		}
		count, operation, _ := strings.Cut(strings.TrimSpace(part), " ")
		n, err := strconv.ParseFloat(count, 64)
		price, known := unitPrices[operation]
		if err != nil || !known {
			return 0, fmt.Errorf("the request %q has no price", part)
		}
		if operation == "GetItem" || operation == "Query" {
			reads += n
			continue
		}
		sum += n * price
	}
	if reads > 0 {
		sum += max(reads, math.Ceil(bytes/readUnitKB)) * priceRead
	}
	return sum, nil
}

// Prices in dollars per million, in us-east-1 without free tiers. They were entered by hand on
// priceDate.
const (
	priceDate = "2026-11-23"

	priceWrite   = 0.625 // write request units of DynamoDB, on demand: 1 KiB each
	priceRead    = 0.125 // read request units: 4 KiB each
	pricePut     = 5.0   // PUT and LIST of S3
	priceGet     = 0.4   // GET of S3
	priceMessage = 0.4   // requests of SQS
)

// unitPrices are the prices of one million requests, by operation. The item of a commit of a small
// note has 1 to 2 KiB, and all other items are smaller than 1 KiB.
var unitPrices = map[string]float64{
	"PutItem": 2 * priceWrite, "UpdateItem": priceWrite, "DeleteItem": 2 * priceWrite,
	"TransactWriteItems": 4 * priceWrite, // with two small items, each at twice the price
	"GetItem":            priceRead, "Query": priceRead,
	"PUT": pricePut, "LIST": pricePut, "DELETE": 0, "GET": priceGet, "HEAD": priceGet, "SendMessage": priceMessage,
}

// Dollars returns the cost of one million times this work in dollars, for its requests to the
// stores and queues.
func (c counted) Dollars() float64 {
	sum := 0.0
	for operation, n := range c.Operations {
		sum += float64(n) * unitPrices[operation]
	}
	return sum
}

// A bill is one item of the cost of one million writes.
type bill struct {
	What    string
	Dollars float64
}

// Bill returns the items of the cost of one million writes, each to a small note, and their sum as
// the last item. The time of functions is not included. It assumes one compaction for 60 writes, as
// at one write per second.
func (f following) Bill() []bill {
	const (
		gateway   = 1.0 // one million requests of an HTTP API
		invoking  = 0.2 // one million invocations
		batch     = 10  // records and events per invocation
		perPass   = 60  // writes per compaction
		messaging = 1.2 // requests of SQS per message: sent alone, received and deleted with nine others
	)
	all := []bill{{"an HTTP API, and the invocation of the call", gateway + invoking}}
	total := all[0].Dollars
	for i, s := range f.Steps {
		b := bill{s.Name, s.Dollars()}
		if i == len(f.Steps)-1 {
			b.Dollars /= perPass
		}
		if i > 0 {
			b.Dollars += invoking / batch
		}
		total += b.Dollars
		all = append(all, b)
	}
	more := []bill{
		{"the item of the commit leaves the table", unitPrices["DeleteItem"]},
		{"the event of the file in the queue: sent, received and deleted, the last two ten at a time",
			priceMessage * messaging},
	}
	for _, b := range more {
		total += b.Dollars
	}
	return append(append(all, more...), bill{"together", total})
}
