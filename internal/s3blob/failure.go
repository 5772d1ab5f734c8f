package s3blob

import (
	"context"
	"errors"
	"net/http"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/rookeryhq/rookery/internal/awsclient"
)

// deployment maps error codes of S3 to problems of the deployment. A response to HEAD has no
// body; its code is the text of its status.
var deployment = map[string]string{
	"AccessDenied":          "the role may not do this (403: is s3:ListBucket allowed? Without it a missing object is 403)",
	"Forbidden":             "the role may not do this (403: is s3:ListBucket allowed? Without it a missing object is 403)",
	"ExpiredToken":          "the credentials have expired",
	"InvalidAccessKeyId":    "the credentials are not known",
	"NoSuchBucket":          "the bucket is not there",
	"PermanentRedirect":     "the bucket is in another region",
	"SignatureDoesNotMatch": "the credentials are not valid",
}

// failure returns the error of a failed call. doing is the verb and the object of the call. Errors
// of the deployment, those in the table above, are also logged, because no caller can correct them;
// see awsclient.Failures.
func (b *Bucket) failure(ctx context.Context, doing string, err error) error {
	return b.failures.Of(ctx, doing, err)
}

// codeOf returns the error code of S3's response, or "" if there was no response.
func codeOf(err error) string {
	if code := awsclient.CodeOf(err); code != "" {
		return code
	}
	return http.StatusText(statusOf(err))
}

// statusOf returns the HTTP status of S3's response, or 0 if there was no response.
func statusOf(err error) int {
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

// missing reports whether a response means that the object does not exist.
func missing(err error) bool {
	return statusOf(err) == http.StatusNotFound && codeOf(err) != "NoSuchBucket"
}
