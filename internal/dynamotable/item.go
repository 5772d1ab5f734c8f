package dynamotable

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/rookeryhq/rookery/internal/table"
)

// attributes are the attributes of an item by name.
type attributes = map[string]types.AttributeValue

// The names of the attributes.
const (
	partAttribute    = "p"
	sortAttribute    = "s"
	dataAttribute    = "d"
	countAttribute   = "n"
	expiresAttribute = "x"
)

// Definition returns the request that creates a table with the package's schema, without a stream,
// and with on-demand billing.
func Definition(name string) *dynamodb.CreateTableInput {
	key := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS}
	}
	return &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{key(partAttribute), key(sortAttribute)},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(partAttribute), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(sortAttribute), KeyType: types.KeyTypeRange},
		},
	}
}

// ExpiresAttribute is the attribute for the table's time to live.
const ExpiresAttribute = expiresAttribute

// text returns a string value.
func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// number returns a number value.
func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// binary returns a binary value. Nil data becomes an empty value.
func binary(data []byte) types.AttributeValue {
	if data == nil {
		data = []byte{}
	}
	return &types.AttributeValueMemberB{Value: data}
}

// keyOf returns the primary key of an item.
func keyOf(k table.Key) attributes {
	return attributes{partAttribute: text(k.Part), sortAttribute: text(k.Sort)}
}

// encode returns the attributes of an item. The data is not copied.
func encode(it table.Item) attributes {
	all := keyOf(it.Key)
	all[dataAttribute] = binary(it.Data)
	if it.Count != 0 {
		all[countAttribute] = number(it.Count)
	}
	if s := table.Second(it.Expires); s != 0 {
		all[expiresAttribute] = number(s)
	}
	return all
}

// decode returns the item with these attributes. It returns the zero Item and false if there are
// none or if the item has expired.
func (t *Table) decode(all attributes) (it table.Item, live bool, err error) {
	if len(all) == 0 {
		return table.Item{}, false, nil
	}
	it, expires, err := read(all)
	if err != nil {
		return table.Item{}, false, err
	}
	if expires != 0 && expires <= t.second() {
		return table.Item{}, false, nil
	}
	return it, true, nil
}

// read returns the item with these attributes, and the second at which it expires (0: never). An
// attribute of the wrong type is table.ErrDamaged.
func read(all attributes) (table.Item, int64, error) {
	r := reader{all: all}
	it := table.Item{
		Key:   table.Key{Part: r.text(partAttribute), Sort: r.text(sortAttribute)},
		Data:  r.binary(dataAttribute),
		Count: r.number(countAttribute),
	}
	expires := r.number(expiresAttribute)
	it.Expires = table.AtSecond(expires)
	if r.wrong != "" {
		return table.Item{}, 0, fmt.Errorf("%w: attribute %s of an item has another type",
			table.ErrDamaged, r.wrong)
	}
	return it, expires, nil
}

// A reader decodes attributes and records the name of one that has the wrong type.
type reader struct {
	all   attributes
	wrong string
}

// text reads a string, which must be present.
func (r *reader) text(name string) string {
	v, ok := r.all[name].(*types.AttributeValueMemberS)
	if !ok {
		r.wrong = name
		return ""
	}
	return v.Value
}

// binary reads data; a missing attribute is empty data.
func (r *reader) binary(name string) []byte {
	value, there := r.all[name]
	v, ok := value.(*types.AttributeValueMemberB)
	if there && !ok {
		r.wrong = name
	}
	if !ok || v.Value == nil {
		return []byte{}
	}
	return v.Value
}

// number reads an integer; a missing attribute is 0.
func (r *reader) number(name string) int64 {
	value, there := r.all[name]
	if !there {
		return 0
	}
	v, ok := value.(*types.AttributeValueMemberN)
	if !ok {
		r.wrong = name
		return 0
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		r.wrong = name
	}
	return n
}
