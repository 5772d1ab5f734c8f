package infra_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/awsapp"
	"rookery/internal/hosted"
	"rookery/internal/tool"
)

// marked is the part of the template that TestRoutes writes.
var marked = regexp.MustCompile(`(?s)(  # Routes of the tools: begin[^\n]*\n).*(  # Routes of the tools: end\n)`)

var words = regexp.MustCompile(`[A-Za-z0-9]+`)

// TestRoutes requires that the template has the routes of the tools, and no others. With -update it writes them.
func TestRoutes(t *testing.T) {
	cat, err := tool.NewCatalogue(hosted.Tools(nil, nil), tool.Options{})
	require.NoError(t, err)
	var made strings.Builder
	routes := awsapp.Routes(cat)
	require.Less(t, len(routes), 300, "what an HTTP API takes")
	for _, r := range routes {
		id := ""
		for _, word := range words.FindAllString(strings.TrimPrefix(r.Pattern, "ANY /v1/"), -1) {
			id += strings.ToUpper(word[:1]) + word[1:]
		}
		family := strings.ToUpper(r.Family[:1]) + r.Family[1:]
		fmt.Fprintf(&made, `  %sRoute:
    Type: AWS::ApiGatewayV2::Route
    Properties:
      ApiId: !Ref Api
      RouteKey: %s
      Target: !Sub "integrations/${%sIntegration}"
      AuthorizationType: !If [HasGatewayJwt, JWT, NONE]
      AuthorizerId: !If [HasGatewayJwt, !Ref GatewayAuthorizer, !Ref AWS::NoValue]
`, id, r.Pattern, family)
	}
	text, err := os.ReadFile("../template.yaml")
	require.NoError(t, err)
	parts := marked.FindSubmatchIndex(text)
	require.NotNil(t, parts)
	want := string(text[:parts[3]]) + made.String() + string(text[parts[4]:])
	if *update {
		require.NoError(t, os.WriteFile("../template.yaml", []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "go test ./infra -run TestRoutes -update writes them")
}
