package dynamotable_test

import (
	"testing"
	"time"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

func TestConformance(t *testing.T) {
	b := awstest.Start(t)
	tabletest.Run(t, func(t *testing.T, now func() time.Time) table.Table {
		return dynamotable.New(b.DynamoDB(nil), b.Table(t), dynamotable.Options{Now: now, Attempt: suiteAttempt})
	})
}
