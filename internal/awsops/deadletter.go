package awsops

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A queue is a queue of dead letters.
type queue struct {
	name       string // as shown to users
	id, source string // logical ids; an empty source: the janitor finds the missed work
}

// queues are the queues of dead letters in the template.
var queues = []queue{
	{"jobs", "JobsDeadLetters", "JobsQueue"},
	{"events", "EventsDeadLetters", "EventsQueue"},
	{"stream", "StreamDeadLetters", ""},
}

// Queues returns the names of the queues of dead letters.
func Queues() []string {
	var all []string
	for _, q := range queues {
		all = append(all, q.name)
	}
	return all
}

// chosen returns the queue with a name, or all if the name is empty. It returns INVALID_PARAMETER
// for an unknown name.
func chosen(name string) ([]queue, error) {
	if name == "" {
		return queues, nil
	}
	for _, q := range queues {
		if q.name == name {
			return []queue{q}, nil
		}
	}
	return nil, fault.New(fault.InvalidParameter, "there is no queue %q of dead letters: it must be %s", name,
		strings.Join(Queues(), ", "))
}

// A DeadLetter is a message that could not be handled. It omits the path of a note, which the
// message may contain.
type DeadLetter struct {
	Queue  string    `json:"queue"`
	ID     string    `json:"id"`
	Sent   time.Time `json:"sent,omitzero"`
	Kind   string    `json:"kind"` // such as fold, or s3 event; "unknown" if it cannot be read
	Tenant string    `json:"tenant,omitempty"`
	Vault  string    `json:"vault,omitempty"`
}

// A Count is the approximate number of messages in a queue. SQS does not count exactly.
type Count struct {
	Queue string `json:"queue"`
	Count int    `json:"count"`
}

const (
	perReceive   = 10 // the most messages that SQS returns at once
	lookedAt     = time.Second
	movedTime    = time.Minute // how long a message that is being moved is hidden
	mostShown    = 100
	emptyAnswers = 3 // number of receives without a message that mean the end of a queue
)

// DeadLetters returns the number of messages of each queue of dead letters, and up to mostShown
// messages of each. name is one of Queues, or empty for all.
func (s *Stack) DeadLetters(ctx context.Context, name string) (counts []Count, all []DeadLetter, err error) {
	of, err := chosen(name)
	if err != nil {
		return nil, nil, err
	}
	all = []DeadLetter{}
	for _, q := range of {
		n, err := s.count(ctx, q.id)
		if err != nil {
			return nil, nil, err
		}
		counts = append(counts, Count{q.name, n})
		seen := map[string]bool{}
		err = s.receive(ctx, q, lookedAt, func(m *types.Message) (bool, error) {
			if id := aws.ToString(m.MessageId); !seen[id] {
				seen[id] = true
				all = append(all, letterOf(q.name, m))
			}
			return len(seen) < min(n, mostShown), nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return counts, all, nil
}

// count returns the approximate number of messages of a queue.
func (s *Stack) count(ctx context.Context, id string) (int, error) {
	out, err := s.queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       aws.String(s.resources[id]),
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages},
	})
	if err != nil {
		return 0, failed("count the messages of "+id, err)
	}
	n, err := strconv.Atoi(out.Attributes[string(types.QueueAttributeNameApproximateNumberOfMessages)])
	if err != nil {
		return 0, failed("count the messages of "+id, err)
	}
	return n, nil
}

// receive receives messages, each hidden for a time, until see returns false, or until no more
// arrive.
func (s *Stack) receive(
	ctx context.Context, q queue, hidden time.Duration, see func(*types.Message) (more bool, err error),
) error {
	for none := 0; none < emptyAnswers; {
		out, err := s.queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(s.resources[q.id]), MaxNumberOfMessages: perReceive,
			VisibilityTimeout:           int32(hidden / time.Second),
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameSentTimestamp},
		})
		if err != nil {
			return failed("receive from "+q.id, err)
		}
		if none++; len(out.Messages) > 0 {
			none = 0
		}
		for i := range out.Messages {
			if more, err := see(&out.Messages[i]); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// letterOf returns the part of a message that may be shown.
func letterOf(queue string, m *types.Message) DeadLetter {
	d := DeadLetter{Queue: queue, ID: aws.ToString(m.MessageId), Kind: "unknown"}
	if at, err := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64); err == nil {
		d.Sent = time.UnixMilli(at).UTC()
	}
	var body struct {
		Kind, Tenant, Vault string
		Records             []struct {
			S3 struct{ Object struct{ Key string } }
		}
		Info *json.RawMessage `json:"DDBStreamBatchInfo"`
	}
	if json.Unmarshal([]byte(aws.ToString(m.Body)), &body) != nil {
		return d
	}
	switch {
	case body.Info != nil:
		d.Kind = "stream records"
	case len(body.Records) > 0:
		d.Kind = "s3 event"
		key, err := url.QueryUnescape(body.Records[0].S3.Object.Key)
		parts := strings.Split(key, "/") // tenants/TENANT/vaults/VAULT/notes/…
		if err == nil && len(parts) > 4 && parts[0] == "tenants" && parts[2] == "vaults" {
			d.Tenant, d.Vault = parts[1], parts[3]
		}
	case body.Kind != "":
		d.Kind, d.Tenant, d.Vault = body.Kind, body.Tenant, body.Vault
	}
	return d
}

// Redrive moves the dead letters of a queue, or of all queues if name is empty, back to their
// source, and returns how many were moved. Those of the stream have no source queue: Redrive
// deletes them and invokes the janitor, which finds the vaults that are behind. A message that
// fails again returns to the dead letters. After an error, a message may be in both queues, which
// does no harm.
func (s *Stack) Redrive(ctx context.Context, name string) ([]Count, error) {
	of, err := chosen(name)
	if err != nil {
		return nil, err
	}
	moved := []Count{}
	for _, q := range of {
		n, err := s.redrive(ctx, q)
		moved = append(moved, Count{q.name, n})
		if err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// redrive moves the dead letters of one queue, and returns how many were moved. It moves about as
// many as there were at its beginning, so that messages which fail again do not keep it busy.
func (s *Stack) redrive(ctx context.Context, q queue) (moved int, err error) {
	most, err := s.count(ctx, q.id)
	if err != nil || most == 0 {
		return 0, err
	}
	if q.source == "" {
		var nothing any
		if err := s.invoke(ctx, janitorID, map[string]any{}, &nothing); err != nil {
			return 0, err
		}
	}
	err = s.receive(ctx, q, movedTime, func(m *types.Message) (bool, error) {
		if q.source != "" {
			_, err := s.queues.SendMessage(ctx, &sqs.SendMessageInput{
				QueueUrl: aws.String(s.resources[q.source]), MessageBody: m.Body,
			})
			if err != nil {
				return false, failed("send to "+q.source, err)
			}
		}
		_, err := s.queues.DeleteMessage(ctx, &sqs.DeleteMessageInput{
			QueueUrl: aws.String(s.resources[q.id]), ReceiptHandle: m.ReceiptHandle,
		})
		if err != nil {
			return false, failed("delete from "+q.id, err)
		}
		moved++
		return moved < most, nil
	})
	return moved, err
}
