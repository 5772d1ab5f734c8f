package localapp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awstest"
)

// Limits of what is restored at once.
const (
	itemsAtOnce   = 25 // of a BatchWriteItem
	objectsAtOnce = 8
)

// A cloudSnapshot is what was in a table and in a bucket. It is safe for concurrent use.
type cloudSnapshot struct {
	table   *dynamodb.Client
	bucket  *s3.Client
	backend *awstest.Backend
	items   []ddb.WriteRequest
	objects []cloudObject
}

// A cloudObject is one of a bucket.
type cloudObject struct {
	key      string
	data     []byte
	metadata map[string]string
}

// snapshot reads the table and the current versions in the bucket.
func (s cloudStores) snapshot(tb testing.TB) *cloudSnapshot {
	tb.Helper()
	out := &cloudSnapshot{
		backend: s.backend, table: dynamodb.NewFromConfig(s.backend.DynamoDB(nil)),
		bucket: s3.NewFromConfig(s.backend.AWS(tb, nil), func(o *s3.Options) { o.UsePathStyle = true }),
	}
	require.NoError(tb, out.readItems(tb.Context(), s.table))
	require.NoError(tb, out.readObjects(tb.Context(), s.bucket))
	return out
}

func (s *cloudSnapshot) readItems(ctx context.Context, table string) error {
	pages := dynamodb.NewScanPaginator(s.table, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, it := range page.Items {
			s.items = append(s.items, ddb.WriteRequest{PutRequest: &ddb.PutRequest{Item: it}})
		}
	}
	return nil
}

func (s *cloudSnapshot) readObjects(ctx context.Context, bucket string) error {
	pages := s3.NewListObjectsV2Paginator(s.bucket, &s3.ListObjectsV2Input{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, found := range page.Contents {
			out, err := s.bucket.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: found.Key})
			if err != nil {
				return err
			}
			data, err := io.ReadAll(out.Body)
			if err := errors.Join(err, out.Body.Close()); err != nil {
				return err
			}
			s.objects = append(s.objects, cloudObject{*found.Key, data, out.Metadata})
		}
	}
	return nil
}

// restore makes a table and a bucket with all of it, which are deleted with the test, and returns their names.
func (s *cloudSnapshot) restore(tb testing.TB) (table, bucket string) {
	tb.Helper()
	table, bucket = s.backend.Table(tb), s.backend.Bucket(tb)
	require.NoError(tb, s.writeItems(tb.Context(), table))
	require.NoError(tb, s.writeObjects(tb.Context(), bucket))
	return table, bucket
}

func (s *cloudSnapshot) writeItems(ctx context.Context, table string) error {
	for from := 0; from < len(s.items); from += itemsAtOnce {
		left := map[string][]ddb.WriteRequest{table: s.items[from:min(from+itemsAtOnce, len(s.items))]}
		for len(left) > 0 {
			out, err := s.table.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left})
			if err != nil {
				return err
			}
			left = out.UnprocessedItems
		}
	}
	return nil
}

func (s *cloudSnapshot) writeObjects(ctx context.Context, bucket string) error {
	var wait sync.WaitGroup
	errs, turn := make([]error, len(s.objects)), make(chan struct{}, objectsAtOnce)
	for i, o := range s.objects {
		turn <- struct{}{}
		wait.Go(func() {
			defer func() { <-turn }()
			_, errs[i] = s.bucket.PutObject(ctx, &s3.PutObjectInput{
				Bucket: &bucket, Key: &o.key, Body: bytes.NewReader(o.data), Metadata: o.metadata,
			})
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
