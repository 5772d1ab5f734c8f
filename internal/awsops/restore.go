package awsops

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Restored is the result of Restore.
type Restored struct {
	Written int           `json:"written"` // items that were written
	Removed int           `json:"removed"` // items that were deleted
	Vaults  []RolledVault `json:"vaults"`
}

// A RolledVault is the result of rolling back the bucket for a vault, or for the log of a tenant if
// Vault is empty.
type RolledVault struct {
	Tenant   string `json:"tenant"`
	Vault    string `json:"vault,omitempty"`
	Version  string `json:"version,omitempty"`
	Written  int    `json:"written"`  // files that were written
	Kept     int    `json:"kept"`     // texts that were moved to .trash/
	Segments int    `json:"segments"` // segments that were deleted
}

// Restore replaces the content of the table by that of another one, such as one that AWS has
// restored to an earlier time, and then rolls the bucket back to the state of the table, vault by
// vault. The stack must be paused (its parameter Paused), because a running function would write
// its cached state. Restore may be repeated after an error. progress is called with each step; it
// may be nil.
func (s *Stack) Restore(ctx context.Context, from string, progress func(string)) (Restored, error) {
	done := Restored{Vaults: []RolledVault{}}
	if progress == nil {
		progress = func(string) {}
	}
	if from == s.resources[tableID] {
		return done, fault.New(fault.InvalidParameter,
			"the table to restore from is that of the stack: name another one")
	}
	if err := s.paused(ctx); err != nil {
		return done, err
	}
	progress("reading the table " + from)
	want, err := s.items(ctx, from)
	if err != nil {
		return done, err
	}
	if len(want) == 0 {
		return done, fault.New(fault.InvalidParameter, "the table to restore from is empty")
	}
	progress("comparing the table of the stack")
	have, err := s.items(ctx, s.resources[tableID])
	if err != nil {
		return done, err
	}
	if err := s.replace(ctx, have, want, &done); err != nil {
		return done, err
	}
	return done, s.rollBack(ctx, &done, progress)
}

// paused returns CONFLICT if events can invoke functions of the stack.
func (s *Stack) paused(ctx context.Context) error {
	for _, id := range []string{jobsID, streamID, ingestID} {
		out, err := s.functions.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{
			FunctionName: aws.String(s.resources[id]),
		})
		if err != nil {
			return failed("list what invokes "+id, err)
		}
		for i := range out.EventSourceMappings {
			if state := aws.ToString(out.EventSourceMappings[i].State); state != "Disabled" {
				return fault.New(fault.Conflict, "the stack is not paused: what invokes %s is %s", id, state).
					Fix("sam deploy --parameter-overrides Paused=true, and wait 15 minutes for functions that run")
			}
		}
	}
	return nil
}

// A key is the key of an item.
type key struct{ part, sort string }

// An item is an item of the table, by attribute.
type item map[string]types.AttributeValue

// keyOf returns the key of an item.
func keyOf(i item) key {
	text := func(name string) string {
		v, _ := i[name].(*types.AttributeValueMemberS)
		if v == nil {
			return ""
		}
		return v.Value
	}
	return key{text("p"), text("s")}
}

// items reads a whole table into memory, which takes some hundred bytes per item.
func (s *Stack) items(ctx context.Context, name string) (map[key]item, error) {
	all := map[key]item{}
	pages := dynamodb.NewScanPaginator(s.table, &dynamodb.ScanInput{TableName: &name, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if _, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
			return nil, fault.New(fault.NotFound, "there is no table %s", name).
				Fix("list the tables: aws dynamodb list-tables")
		}
		if err != nil {
			return nil, failed("read a table", err)
		}
		for _, i := range page.Items {
			all[keyOf(i)] = i
		}
	}
	return all, nil
}

// perWrite is the largest number of items in one write request of DynamoDB.
const perWrite = 25

// replace writes the items that differ, and deletes those that are not wanted. Control items are
// written last, so that a log looks unchanged until then.
func (s *Stack) replace(ctx context.Context, have, want map[key]item, done *Restored) error {
	var writes, controls []types.WriteRequest
	for k, i := range want {
		if old, ok := have[k]; ok && same(old, i) {
			continue
		}
		w := types.WriteRequest{PutRequest: &types.PutRequest{Item: i}}
		if done.Written++; k.sort == "log/~" {
			controls = append(controls, w)
		} else {
			writes = append(writes, w)
		}
	}
	for k, i := range have {
		if _, ok := want[k]; ok {
			continue
		}
		done.Removed++
		writes = append(writes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{
			Key: item{"p": i["p"], "s": i["s"]},
		}})
	}
	for _, group := range [][]types.WriteRequest{writes, controls} {
		for some := range slices.Chunk(group, perWrite) {
			if err := s.write(ctx, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// same reports whether two items are equal.
func same(a, b item) bool {
	return maps.EqualFunc(a, b, func(x, y types.AttributeValue) bool {
		u, binary := x.(*types.AttributeValueMemberB)
		v, both := y.(*types.AttributeValueMemberB)
		if binary && both {
			return bytes.Equal(u.Value, v.Value)
		}
		return reflect.DeepEqual(x, y)
	})
}

// write writes some items. It repeats the request for those that DynamoDB did not process.
func (s *Stack) write(ctx context.Context, some []types.WriteRequest) error {
	for pause := 50 * time.Millisecond; len(some) > 0; pause *= 2 {
		out, err := s.table.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{s.resources[tableID]: some},
		})
		if err != nil {
			return failed("write the table", err)
		}
		if some = out.UnprocessedItems[s.resources[tableID]]; len(some) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(pause, 5*time.Second)):
		}
	}
	return nil
}

// rollBack rolls the bucket back to the state of the table.
func (s *Stack) rollBack(ctx context.Context, done *Restored, progress func(string)) error {
	var found struct {
		Tenants []struct {
			Tenant string
			Vaults []string
		}
	}
	if err := s.invoke(ctx, janitorID, map[string]string{"rookery": "vaults"}, &found); err != nil {
		return err
	}
	for _, t := range found.Tenants {
		for _, name := range append([]string{""}, t.Vaults...) { // the log of the tenant itself first
			progress("rolling the files back of " + t.Tenant + "/" + name)
			v := RolledVault{}
			event := map[string]string{"rookery": "rollback", "tenant": t.Tenant, "vault": name}
			if err := s.invoke(ctx, jobsID, event, &v); err != nil {
				return err
			}
			v.Tenant, v.Vault = t.Tenant, name
			done.Vaults = append(done.Vaults, v)
		}
	}
	return nil
}
