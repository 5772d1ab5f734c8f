package awstest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/rookeryhq/rookery/internal/dynamotable"
)

// name is the name of a table or bucket that no other test uses.
func name() string { return "rookery-" + strings.ToLower(rand.Text()) }

// removing is a context for what is removed at the end of a test, whose own context has ended then.
func removing() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

// Table makes an empty table as the product uses it, which is deleted with the test, and returns its name.
func (b *Backend) Table(tb testing.TB) string {
	tb.Helper()
	client := dynamodb.NewFromConfig(b.DynamoDB(nil))
	table := name()
	_, err := client.CreateTable(tb.Context(), dynamotable.Definition(table))
	if err != nil {
		tb.Fatal("create a table: ", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := removing()
		defer cancel()
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			tb.Error("delete a table: ", err)
		}
	})
	return table
}

// Bucket makes an empty bucket with versions, as the product uses it, which is deleted with the test, and
// returns its name.
func (b *Backend) Bucket(tb testing.TB) string {
	tb.Helper()
	client := s3.NewFromConfig(b.AWS(tb, nil), func(o *s3.Options) { o.UsePathStyle = true })
	bucket := name()
	if _, err := client.CreateBucket(tb.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		tb.Fatal("create a bucket: ", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := removing()
		defer cancel()
		if err := empty(ctx, client, bucket); err != nil {
			tb.Error("empty a bucket: ", err)
		}
		if _, err := client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &bucket}); err != nil {
			tb.Error("delete a bucket: ", err)
		}
	})
	_, err := client.PutBucketVersioning(tb.Context(), &s3.PutBucketVersioningInput{
		Bucket: &bucket,
		VersioningConfiguration: &s3types.VersioningConfiguration{
			Status: s3types.BucketVersioningStatusEnabled,
		},
	})
	if err != nil {
		tb.Fatal("keep versions in a bucket: ", err)
	}
	return bucket
}

// empty deletes every version and every delete marker of a bucket.
func empty(ctx context.Context, client *s3.Client, bucket string) error {
	pages := s3.NewListObjectVersionsPaginator(client, &s3.ListObjectVersionsInput{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		var all []s3types.ObjectIdentifier
		for _, v := range page.Versions {
			all = append(all, s3types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, m := range page.DeleteMarkers {
			all = append(all, s3types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
		}
		if len(all) == 0 {
			continue
		}
		_, err = client.DeleteObjects(ctx, &s3.DeleteObjectsInput{
			Bucket: &bucket, Delete: &s3types.Delete{Objects: all},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

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
