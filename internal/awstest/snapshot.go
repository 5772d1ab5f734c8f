package awstest

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
)

// Limits of what is restored at once.
const (
	itemsAtOnce   = 25 // of a BatchWriteItem
	objectsAtOnce = 8
)

// A Snapshot is what was in a table and in a bucket. It is safe for concurrent use.
type Snapshot struct {
	table   *dynamodb.Client
	bucket  *s3.Client
	backend *Backend
	items   []ddb.WriteRequest
	objects []object
}

// An object is one of a bucket.
type object struct {
	key      string
	data     []byte
	metadata map[string]string
}

// Snapshot reads a table and the current versions in a bucket.
func (b *Backend) Snapshot(tb testing.TB, table, bucket string) *Snapshot {
	tb.Helper()
	s := &Snapshot{
		backend: b, table: dynamodb.NewFromConfig(b.DynamoDB(nil)),
		bucket: s3.NewFromConfig(b.AWS(tb, nil), func(o *s3.Options) { o.UsePathStyle = true }),
	}
	if err := errors.Join(s.readItems(tb.Context(), table), s.readObjects(tb.Context(), bucket)); err != nil {
		tb.Fatal("read a table and a bucket: ", err)
	}
	return s
}

func (s *Snapshot) readItems(ctx context.Context, table string) error {
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

func (s *Snapshot) readObjects(ctx context.Context, bucket string) error {
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
			s.objects = append(s.objects, object{*found.Key, data, out.Metadata})
		}
	}
	return nil
}

// Restore makes a table and a bucket with all of it, which are deleted with the test, and returns their names.
func (s *Snapshot) Restore(tb testing.TB) (table, bucket string) {
	tb.Helper()
	table, bucket = s.backend.Table(tb), s.backend.Bucket(tb)
	if err := errors.Join(s.writeItems(tb.Context(), table), s.writeObjects(tb.Context(), bucket)); err != nil {
		tb.Fatal("fill a table and a bucket: ", err)
	}
	return table, bucket
}

func (s *Snapshot) writeItems(ctx context.Context, table string) error {
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

func (s *Snapshot) writeObjects(ctx context.Context, bucket string) error {
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
