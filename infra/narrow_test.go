package infra_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unrecorded are what policies allow and no recorded call needs to use, with the reason: by "Sid action", which is any role, or by
// "role Sid action".
var unrecorded = map[string]string{
	"Logs logs:CreateLogStream": byLambda, "Logs logs:PutLogEvents": byLambda,
	"Messages sqs:ReceiveMessage": byLambda, "Messages sqs:DeleteMessage": byLambda,
	"Messages sqs:GetQueueAttributes": byLambda,
	"Records dynamodb:DescribeStream": byLambda, "Records dynamodb:GetRecords": byLambda,
	"Records dynamodb:GetShardIterator": byLambda, "Streams dynamodb:ListStreams": byLambda,
	"StreamRole DeadLetters sqs:SendMessage": byLambda,
	"Key kms:Decrypt":                        byS3, "Key kms:GenerateDataKey": byS3,
	"FilesRole Items dynamodb:GetItem":       "two processes write the files of one vault at once",
	"FilesRole Names s3:ListBucket":          missing,
	"JanitorTenantRole Names s3:ListBucket":  missing,
	"FilesRole Objects s3:GetObjectVersion":  saved,
	"EraseRole Objects s3:GetObjectVersion":  saved,
	"JanitorTenantRole Objects s3:GetObject": "the image of a tenant's log that is too large for items",
}

// The reasons of unrecorded that several have.
const (
	byLambda = "AWS Lambda makes the call, with the role of the function"
	byS3     = "S3 makes the call, with the role of the caller, where the stack has a key"
	missing  = "without it S3 answers 403 for a missing object, and not 404"
	saved    = "an object that is saved in the moment of its removal is put back; stream.TestOneFileAtATime has it"
)

// TestNarrow proves that no statement is wider than the recorded calls: each of its actions, each of its resources, and
// each value of its conditions is used by one, or is in unrecorded.
func TestNarrow(t *testing.T) {
	text, err := os.ReadFile("../template.yaml")
	require.NoError(t, err)
	tpl, err := Parse(text, map[string]string{"KmsKeyArn": "arn:aws:kms:us-east-1:000000000000:key/k"})
	require.NoError(t, err)
	calls, named := recorded(t), map[string]bool{}
	for id, r := range tpl.Resources {
		if r.Type != "AWS::IAM::Role" {
			continue
		}
		all, err := tpl.Statements(id)
		require.NoError(t, err)
		for _, s := range all {
			for _, part := range parts(s) {
				requireUsed(t, calls, id, part, named)
			}
		}
	}
	for name := range unrecorded {
		require.Contains(t, named, name, "what no policy allows needs no reason")
	}
}

// parts are the statements of one action and one resource that make up a statement which allows, and those with one value
// of a condition. What a statement denies is never too wide.
func parts(s Statement) (all []Statement) {
	if s.Deny {
		return nil
	}
	for _, action := range s.Actions {
		for _, resource := range s.Resources {
			part := s
			part.Actions, part.Resources = []string{action}, []string{resource}
			all = append(all, part)
		}
	}
	for operator, keys := range s.Conditions {
		for key, values := range keys {
			for _, value := range values {
				if len(values) == 1 {
					continue
				}
				part := s
				part.Conditions = map[string]map[string][]string{operator: {key: {value}}}
				all = append(all, part)
			}
		}
	}
	return all
}

// requireUsed requires that a call of a role uses a part of a statement, or that a reason is given.
func requireUsed(t *testing.T, calls []call, role string, part Statement, named map[string]bool) {
	t.Helper()
	of := part.Sid + " " + strings.Join(part.Actions, " ")
	named[of], named[role+" "+of] = true, true
	for _, c := range calls {
		if c.Role != role {
			continue
		}
		applies, err := part.Applies(c.request())
		require.NoError(t, err)
		if applies {
			return
		}
	}
	if unrecorded[of] != "" || unrecorded[role+" "+of] != "" {
		return
	}
	t.Errorf("%s: no recorded call uses %s of %v, where %v", role, of, part.Resources, part.Conditions)
}
