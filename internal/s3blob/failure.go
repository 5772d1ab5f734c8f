package s3blob

import (
	"context"
	"errors"
	"net/http"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"rookery/internal/awsclient"
)

// deployment says what is wrong with the deployment where S3 answers with one of these codes. An answer to HEAD has
// no body; its code is the text of its status.
var deployment = map[string]string{
	"AccessDenied":          "the role may not do this (403: is s3:ListBucket allowed? Without it a missing object is 403)",
	"Forbidden":             "the role may not do this (403: is s3:ListBucket allowed? Without it a missing object is 403)",
	"ExpiredToken":          "the credentials have expired",
	"InvalidAccessKeyId":    "the credentials are not known",
	"NoSuchBucket":          "the bucket is not there",
	"PermanentRedirect":     "the bucket is in another region",
	"SignatureDoesNotMatch": "the credentials are not valid",
}

// failure is the error of a call that did not succeed, with a verb and its object.
func (b *Bucket) failure(ctx context.Context, doing string, err error) error {
	return b.failures.Of(ctx, doing, err)
}

// codeOf is the code of S3's answer; empty if there was none.
func codeOf(err error) string {
	if code := awsclient.CodeOf(err); code != "" {
		return code
	}
	return http.StatusText(statusOf(err))
}

// statusOf is the status of S3's answer; 0 if there was none.
func statusOf(err error) int {
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

// missing reports whether an answer says that there is no such object.
func missing(err error) bool {
	return statusOf(err) == http.StatusNotFound && codeOf(err) != "NoSuchBucket"
}
