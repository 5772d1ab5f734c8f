package infra_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/dynamotable"
)

// names are the functions: the directories of functions.
func names(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("../functions")
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, e.Name())
		}
	}
	return all
}

// at is a value of a resource by its keys, and numbers of elements; nil if there is none.
func at(t *testing.T, tpl *Template, id string, path ...any) any {
	t.Helper()
	require.Contains(t, tpl.Resources, id)
	var v any = tpl.Resources[id].Properties
	for _, key := range path {
		switch key := key.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			l, _ := v.([]any)
			if key >= len(l) {
				return nil
			}
			v = l[key]
		}
	}
	return v
}

// env are the variables of a function.
func env(t *testing.T, tpl *Template, function string) map[string]any {
	t.Helper()
	all, _ := at(t, tpl, function, "Environment", "Variables").(map[string]any)
	return all
}

func variables(t *testing.T, tpl *Template, function string) func(string) string {
	all := env(t, tpl, function)
	return func(name string) string {
		if v, ok := all[name]; ok {
			return fmt.Sprint(v)
		}
		return ""
	}
}

// TestFunctions requires a resource for each function, with a role, a log group, a build of the Makefile, and
// variables that the function takes.
func TestFunctions(t *testing.T) {
	tpl := template(t)
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	var want []string
	for _, name := range names(t) {
		id := functionOf(name)
		want = append(want, id)
		require.Equal(t, "arn:"+roleOf(name), at(t, tpl, id, "Role"), name)
		logs := strings.TrimSuffix(id, "Function") + "Logs"
		require.Equal(t, logs, at(t, tpl, id, "LoggingConfig", "LogGroup"), name)
		require.Equal(t, "30", at(t, tpl, logs, "RetentionInDays"), name)
		require.Equal(t, "provided.al2023", at(t, tpl, id, "Runtime"), name)
		require.Equal(t, "bootstrap", at(t, tpl, id, "Handler"), name)
		require.Equal(t, []any{"arm64"}, at(t, tpl, id, "Architectures"), name)
		require.Contains(t, string(makefile), "build-%Function:", name)
		e := env(t, tpl, id)
		e["ROOKERY_PUBLIC_URL"] = "https://notes.example.test"
		read, err := awsapp.ReadEnvironment(variables(t, tpl, id))
		require.NoError(t, err, name)
		require.Equal(t, "Table", read.Table, name)
		require.Equal(t, "Bucket", read.Bucket, name)
		require.Equal(t, "JobsQueue", read.Jobs, name)
		require.NotEmpty(t, read.Role, name)
	}
	var have []string
	for id, r := range tpl.Resources {
		if r.Type == "AWS::Serverless::Function" {
			have = append(have, id)
		}
	}
	require.ElementsMatch(t, want, have)
	for id, timeout := range map[string]int{
		"RavenFunction": 29, "JobsFunction": 900, "StreamFunction": 120, "IngestFunction": 120, "JanitorFunction": 360,
	} {
		require.Equal(t, timeout, at(t, tpl, id, "Timeout"), id)
	}
	for id, dead := range map[string]string{"JobsFunction": "JobsDeadLetters", "IngestFunction": "EventsDeadLetters"} {
		require.Equal(t, dead, env(t, tpl, id)["ROOKERY_DEAD_LETTERS"])
	}
	require.Equal(t, "EventsQueue", env(t, tpl, "IngestFunction")["ROOKERY_EVENTS_QUEUE"])
}

// own are variables that functions read in awsapp.
var own = regexp.MustCompile(`env\("(ROOKERY_[A-Z_]+)"\)`)

// TestVariables requires that each variable which awsapp reads is set for some function.
func TestVariables(t *testing.T) {
	text, err := os.ReadFile("../internal/awsapp/environment.go")
	require.NoError(t, err)
	tpl := template(t)
	set := map[string]bool{}
	for _, name := range names(t) {
		for variable := range env(t, tpl, functionOf(name)) {
			set[variable] = true
		}
	}
	found := own.FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, found)
	for _, m := range found {
		require.Contains(t, set, m[1])
	}
}

// TestFirstAdministrator requires that the parameters make a configuration.
func TestFirstAdministrator(t *testing.T) {
	text, err := os.ReadFile("../template.yaml")
	require.NoError(t, err)
	tpl, err := Parse(text, map[string]string{
		"FirstIssuer": "https://id.example.test", "FirstAdmin": "ada", "FirstTenant": "acme",
		"PublicUrl": "https://notes.example.test",
		"Issuers":   `[{"issuer":"https://id.example.test","tenant":"acme","roles_claim":"roles"}]`,
	})
	require.NoError(t, err)
	read, err := awsapp.ReadEnvironment(variables(t, tpl, "McpFunction"))
	require.NoError(t, err)
	require.Equal(t, "https://notes.example.test", read.Server.PublicURL)
	require.Len(t, read.Server.FirstAdmins, 1)
	require.Equal(t, "ada", read.Server.FirstAdmins[0].Subject)
}

// TestStores covers what an emulator drops of the table and the bucket: backups, lifecycle, encryption, who may read.
func TestStores(t *testing.T) {
	tpl := template(t)
	for _, id := range []string{"Table", "Bucket"} {
		require.Equal(t, "Retain", tpl.Resources[id].DeletionPolicy, id)
	}
	require.Equal(t, true, at(t, tpl, "Table", "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"))
	require.Equal(t, "true", at(t, tpl, "Table", "DeletionProtectionEnabled"))
	require.Equal(t, "KEYS_ONLY", at(t, tpl, "Table", "StreamSpecification", "StreamViewType"))
	require.Equal(t, dynamotable.ExpiresAttribute, at(t, tpl, "Table", "TimeToLiveSpecification", "AttributeName"))
	definition := dynamotable.Definition("t")
	for n, key := range definition.KeySchema {
		require.Equal(t, *key.AttributeName, at(t, tpl, "Table", "KeySchema", n, "AttributeName"))
		require.Equal(t, string(key.KeyType), at(t, tpl, "Table", "KeySchema", n, "KeyType"))
	}
	require.Equal(t, "Enabled", at(t, tpl, "Bucket", "VersioningConfiguration", "Status"))
	for _, name := range []string{"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"} {
		require.Equal(t, true, at(t, tpl, "Bucket", "PublicAccessBlockConfiguration", name))
	}
	rules := []any{"LifecycleConfiguration", "Rules"}
	require.Equal(t, 35, at(t, tpl, "Bucket", append(rules, 0, "NoncurrentVersionExpiration", "NoncurrentDays")...))
	require.Equal(t, 1, at(t, tpl, "Bucket", append(rules, 0, "AbortIncompleteMultipartUpload", "DaysAfterInitiation")...))
	require.Equal(t, true, at(t, tpl, "Bucket", append(rules, 1, "ExpiredObjectDeleteMarker")...))
	require.Equal(t, "BucketOwnerEnforced", at(t, tpl, "Bucket", "OwnershipControls", "Rules", 0, "ObjectOwnership"))
	refusal := []any{"PolicyDocument", "Statement", 0}
	require.Equal(t, "Deny", at(t, tpl, "BucketPolicy", append(refusal, "Effect")...))
	require.Equal(t, "false", at(t, tpl, "BucketPolicy", append(refusal, "Condition", "Bool", "aws:SecureTransport")...))
	require.Nil(t, at(t, tpl, "Bucket", "BucketName"), "its queue's policy would be a circle")
	require.Equal(t, "EventsPolicy", tpl.Resources["Bucket"].DependsOn)
	notified := map[string]bool{}
	for n := range 4 {
		c := []any{"NotificationConfiguration", "QueueConfigurations", n}
		require.Equal(t, "arn:EventsQueue", at(t, tpl, "Bucket", append(c, "Queue")...))
		filter := append(slices.Clone(c), "Filter", "S3Key", "Rules")
		require.Equal(t, "tenants/", at(t, tpl, "Bucket", append(filter, 0, "Value")...))
		notified[fmt.Sprint(at(t, tpl, "Bucket", append(c, "Event")...), at(t, tpl, "Bucket", append(filter, 1, "Value")...))] = true
	}
	require.Equal(t, map[string]bool{
		"s3:ObjectCreated:*.md": true, "s3:ObjectRemoved:*.md": true,
		"s3:ObjectCreated:*.yaml": true, "s3:ObjectRemoved:*.yaml": true,
	}, notified)
}

// TestQueuesAndMappings covers the times of queues, and how functions get events.
func TestQueuesAndMappings(t *testing.T) {
	tpl := template(t)
	for queue, function := range map[string]string{"Jobs": "JobsFunction", "Events": "IngestFunction"} {
		id := queue + "Queue"
		timeout, _ := at(t, tpl, function, "Timeout").(int)
		require.Equal(t, 6*timeout, at(t, tpl, id, "VisibilityTimeout"), id)
		require.Equal(t, 5, at(t, tpl, id, "RedrivePolicy", "maxReceiveCount"), id)
		require.Equal(t, "arn:"+queue+"DeadLetters", at(t, tpl, id, "RedrivePolicy", "deadLetterTargetArn"), id)
		require.Equal(t, 1209600, at(t, tpl, queue+"DeadLetters", "MessageRetentionPeriod"), id)
		require.Equal(t, "arn:"+id, at(t, tpl, function, "Events", "Queue", "Properties", "Queue"))
		require.Equal(t, []any{"ReportBatchItemFailures"},
			at(t, tpl, function, "Events", "Queue", "Properties", "FunctionResponseTypes"))
	}
	require.Equal(t, 1, at(t, tpl, "JobsFunction", "Events", "Queue", "Properties", "BatchSize"))
	require.Equal(t, 1000, at(t, tpl, "IngestFunction", "Events", "Queue", "Properties", "BatchSize"))
	of := func(path ...any) any {
		return at(t, tpl, "StreamFunction", append([]any{"Events", "Stream", "Properties"}, path...)...)
	}
	for name, want := range map[string]any{
		"Stream": "Table.StreamArn", "StartingPosition": "TRIM_HORIZON", "BatchSize": 1000,
		"MaximumBatchingWindowInSeconds": 1, "ParallelizationFactor": 1, "BisectBatchOnFunctionError": true,
		"MaximumRetryAttempts": 3, "MaximumRecordAgeInSeconds": 3600,
		"FunctionResponseTypes": []any{"ReportBatchItemFailures"},
	} {
		require.Equal(t, want, of(name), name)
	}
	require.Equal(t, "arn:StreamDeadLetters", of("DestinationConfig", "OnFailure", "Destination"))
	require.JSONEq(t, `{"eventName":["INSERT"],"dynamodb":{"Keys":{"s":{"S":[{"prefix":"log/0"}]}}}}`,
		fmt.Sprint(of("FilterCriteria", "Filters", 0, "Pattern")))
	require.Equal(t, "rate(1 hour)", at(t, tpl, "JanitorFunction", "Events", "Hourly", "Properties", "Schedule"))
}

// TestAPI covers the gateway: payload, rates, and an access log that tells neither path nor query.
func TestAPI(t *testing.T) {
	tpl := template(t)
	require.Equal(t, "HTTP", at(t, tpl, "Api", "ProtocolType"))
	require.Nil(t, at(t, tpl, "Api", "CorsConfiguration"), "functions answer OPTIONS")
	require.Equal(t, "$default", at(t, tpl, "ApiStage", "StageName"))
	require.Equal(t, "500", at(t, tpl, "ApiStage", "DefaultRouteSettings", "ThrottlingRateLimit"))
	format := fmt.Sprint(at(t, tpl, "ApiStage", "AccessLogSettings", "Format"))
	require.True(t, json.Valid([]byte(format)))
	allowed := []string{"requestId", "routeKey", "status", "responseLatency", "integrationErrorMessage"}
	for _, m := range regexp.MustCompile(`\$context\.(\w+)`).FindAllStringSubmatch(format, -1) {
		require.Contains(t, allowed, m[1])
	}
	integrations := 0
	for id, r := range tpl.Resources {
		switch r.Type {
		case "AWS::ApiGatewayV2::Integration":
			integrations++
			require.Equal(t, "2.0", r.Properties["PayloadFormatVersion"], id)
			name := strings.TrimSuffix(id, "Integration")
			require.Equal(t, "arn:"+name+"Function", r.Properties["IntegrationUri"])
			require.Equal(t, name+"Function", at(t, tpl, name+"Permission", "FunctionName"))
			require.Equal(t, "apigateway.amazonaws.com", at(t, tpl, name+"Permission", "Principal"))
		case "AWS::ApiGatewayV2::Route":
			require.Contains(t, []any{"NONE", nil}, r.Properties["AuthorizationType"], id)
		}
	}
	require.Len(t, requestFunctions, integrations)
	require.NotContains(t, tpl.Resources, "GatewayAuthorizer")
}

// metrics are those of AWS that alarms may name, with the dimensions that they have, as CloudWatch documents them.
var metrics = map[string][]string{
	"AWS/ApiGateway 5xx": {"ApiId"}, "AWS/ApiGateway Count": {"ApiId"}, "AWS/ApiGateway Latency": {"ApiId"},
	"AWS/Lambda Errors": {"FunctionName"}, "AWS/Lambda Throttles": {"FunctionName"},
	"AWS/Lambda IteratorAge":                     {"FunctionName"},
	"AWS/SQS ApproximateNumberOfMessagesVisible": {"QueueName"},
	"AWS/SQS ApproximateAgeOfOldestMessage":      {"QueueName"},
	"AWS/DynamoDB SystemErrors":                  {"Operation", "TableName"},
	"AWS/DynamoDB ThrottledRequests":             {"Operation", "TableName"},
	"AWS/Billing EstimatedCharges":               {"Currency"},
	"Rookery calls":                              {"stack"}, // awsapp.Metrics
	"Rookery errors":                             {"stack"},
	"Rookery memory_refusals":                    {"stack"},
}

// TestAlarms requires that each alarm is on metrics that exist, of resources of the template.
func TestAlarms(t *testing.T) {
	tpl := template(t)
	alarms := 0
	requireMetric := func(id string, v any) {
		m, _ := v.(map[string]any)
		dimensions := map[string]string{}
		all, _ := m["Dimensions"].([]any)
		for _, d := range all {
			of, _ := d.(map[string]any)
			dimensions[fmt.Sprint(of["Name"])] = fmt.Sprint(of["Value"])
			if !slices.Contains([]any{"Operation", "stack", "Currency"}, of["Name"]) {
				resource, _, _ := strings.Cut(fmt.Sprint(of["Value"]), ".")
				require.Contains(t, tpl.Resources, resource, id)
			}
		}
		name := fmt.Sprintf("%v %v", m["Namespace"], m["MetricName"])
		require.Contains(t, metrics, name, id)
		require.Equal(t, metrics[name], slices.Sorted(maps.Keys(dimensions)), id)
	}
	for id, r := range tpl.Resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		alarms++
		require.NotEmpty(t, r.Properties["AlarmDescription"], id)
		queries, _ := r.Properties["Metrics"].([]any)
		if queries == nil {
			requireMetric(id, r.Properties)
		}
		require.LessOrEqual(t, len(queries), 10, id)
		for _, q := range queries {
			of, _ := q.(map[string]any)
			if stat, ok := of["MetricStat"].(map[string]any); ok {
				requireMetric(id, stat["Metric"])
			}
		}
	}
	require.Equal(t, 15, alarms)
	body := fmt.Sprint(at(t, tpl, "Dashboard", "DashboardBody"))
	require.True(t, json.Valid([]byte(body)), "the dashboard")
}

// TestMail requires that alarms and the budget write to the address, where there is one.
func TestMail(t *testing.T) {
	require.NotContains(t, template(t).Resources, "Budget")
	text, err := os.ReadFile("../template.yaml")
	require.NoError(t, err)
	tpl, err := Parse(text, map[string]string{"AlarmEmail": "a@example.test", "MonthlyBudget": "50"})
	require.NoError(t, err)
	require.Equal(t, "50", at(t, tpl, "Budget", "Budget", "BudgetLimit", "Amount"))
	for id, r := range tpl.Resources {
		if r.Type == "AWS::CloudWatch::Alarm" {
			require.Equal(t, []any{"Alarms"}, r.Properties["AlarmActions"], id)
		}
	}
}

// TestParameters requires a description and a default of each parameter.
func TestParameters(t *testing.T) {
	for name, p := range template(t).Parameters {
		require.NotEmpty(t, p["Description"], name)
		require.Contains(t, p, "Default", name)
	}
}
