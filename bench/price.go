package main

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
