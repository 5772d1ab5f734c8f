package dynamotable_test

import (
	"testing"
	"time"

	"rookery/internal/awstest"
	"rookery/internal/dynamotable"
	"rookery/internal/table"
	"rookery/internal/tabletest"
)

func TestConformance(t *testing.T) {
	b := awstest.Start(t)
	tabletest.Run(t, func(t *testing.T, now func() time.Time) table.Table {
		return dynamotable.New(b.DynamoDB(nil), b.Table(t), dynamotable.Options{Now: now, Attempt: suiteAttempt})
	})
}
