package dynamotable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"rookery/internal/awsclient"
	"rookery/internal/table"
)

// logEvery is how often an error about the deployment is logged.
const logEvery = time.Minute

// deployment says what is wrong with the deployment where DynamoDB answers with one of these codes.
var deployment = map[string]string{
	"AccessDeniedException":       "the role may not use the table",
	"ExpiredTokenException":       "the credentials have expired",
	"ResourceNotFoundException":   "the table is not there",
	"UnrecognizedClientException": "the credentials are not known",
	"ValidationException":         "the table does not take the request; its keys must be p and s, both strings",
}

// A storeError says what went wrong in words of its own: an answer of AWS may quote keys and values.
type storeError struct {
	what string
	err  error
}

// Error implements error.
func (e *storeError) Error() string { return e.what }

// Unwrap returns what the SDK returned, whose text is not for logs.
func (e *storeError) Unwrap() error { return e.err }

// failure is the error of a call that did not succeed, with a verb and its object. It logs what is wrong with the
// deployment.
func (t *Table) failure(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	if errors.Is(err, awsclient.ErrLate) {
		return fmt.Errorf("%s: %w", doing, awsclient.ErrLate)
	}
	if tooLargeAnItem(err) {
		return fmt.Errorf("%s: %w: an item is larger than DynamoDB allows", doing, table.ErrLimit)
	}
	return fmt.Errorf("%s: %w", doing, &storeError{t.explain(ctx, err), err})
}

// explain says what is wrong.
func (t *Table) explain(ctx context.Context, err error) string {
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return "no answer from DynamoDB"
	}
	what, ok := deployment[answer.ErrorCode()]
	if !ok {
		return "DynamoDB answers " + answer.ErrorCode()
	}
	if t.mayLog() {
		t.log.ErrorContext(ctx, "the deployment is not complete: "+what, "code", answer.ErrorCode())
	}
	return what
}

// mayLog reports whether a minute has passed since it last did.
func (t *Table) mayLog() bool {
	now, last := t.now().UnixNano(), t.logged.Load()
	return (last == 0 || now-last >= int64(logEvery)) && t.logged.CompareAndSwap(last, now)
}

// tooLargeAnItem reports whether an item, alone or in a transaction, is over DynamoDB's limit.
func tooLargeAnItem(err error) bool {
	var canceled *types.TransactionCanceledException
	if errors.As(err, &canceled) {
		for _, reason := range canceled.CancellationReasons {
			if reason.Message != nil && strings.Contains(*reason.Message, "Item size") {
				return true
			}
		}
	}
	var answer smithy.APIError
	return errors.As(err, &answer) && answer.ErrorCode() == "ValidationException" &&
		strings.Contains(answer.ErrorMessage(), "Item size")
}

// answeredNo reports whether DynamoDB refused a request: it had no effect, whatever else is known of the answer.
func answeredNo(err error) bool {
	var answer *smithyhttp.ResponseError
	return errors.As(err, &answer) &&
		answer.HTTPStatusCode() >= http.StatusBadRequest &&
		answer.HTTPStatusCode() < http.StatusInternalServerError
}

// repeatable reports whether a write may be sent again after a failure: its outcome is unknown, or it was refused and
// the reason could not be read.
func repeatable(err error) bool {
	if awsclient.NoEffect(err) {
		return false // it has been repeated
	}
	var unread *smithy.DeserializationError
	return !answeredNo(err) || errors.As(err, &unread)
}
