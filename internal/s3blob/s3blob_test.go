package s3blob_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/blobtest"
	"github.com/rookeryhq/rookery/internal/s3blob"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	b := awstest.Start(t)
	blobtest.Run(t, func(t *testing.T) blob.Bucket {
		return s3blob.New(b.AWS(t, nil), b.Bucket(t), s3blob.Options{})
	})
}
