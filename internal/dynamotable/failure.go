package dynamotable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/table"
)

// deployment maps error codes of DynamoDB to descriptions of the error in the deployment.
var deployment = map[string]string{
	"AccessDeniedException":       "the role may not use the table",
	"ExpiredTokenException":       "the credentials have expired",
	"ResourceNotFoundException":   "the table is not there",
	"UnrecognizedClientException": "the credentials are not known",
	"ValidationException":         "the table does not take the request; its keys must be p and s, both strings",
}

// failure returns the error of a failed call. doing is the verb and the object of the call.
func (t *Table) failure(ctx context.Context, doing string, err error) error {
	if ctx.Err() == nil && isItemTooLarge(err) {
		return fmt.Errorf("%s: %w: an item is larger than DynamoDB allows", doing, table.ErrLimit)
	}
	return t.failures.Of(ctx, doing, err)
}

// isItemTooLarge reports whether an item, alone or in a transaction, exceeds DynamoDB's size limit.
func isItemTooLarge(err error) bool {
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

// isRefused reports whether DynamoDB refused a request with a 4xx status, so that it had no
// effect.
func isRefused(err error) bool {
	var answer *smithyhttp.ResponseError
	return errors.As(err, &answer) &&
		answer.HTTPStatusCode() >= http.StatusBadRequest &&
		answer.HTTPStatusCode() < http.StatusInternalServerError
}

// repeatable reports whether a write may be sent again after a failure: its outcome is unknown, or
// it was refused with a response that could not be decoded.
func repeatable(err error) bool {
	if awsclient.NoEffect(err) {
		return false // the SDK has already repeated it
	}
	var unread *smithy.DeserializationError
	return !isRefused(err) || errors.As(err, &unread)
}
