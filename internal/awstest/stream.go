package awstest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Stream gives a table its stream of keys, and returns its ARN.
func (b *Backend) Stream(tb testing.TB, table string) string {
	tb.Helper()
	out, err := dynamodb.NewFromConfig(b.DynamoDB(nil)).UpdateTable(tb.Context(), &dynamodb.UpdateTableInput{
		TableName: &table,
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly,
		},
	})
	if err != nil {
		tb.Fatal("make a stream: ", err)
	}
	return aws.ToString(out.TableDescription.LatestStreamArn)
}
