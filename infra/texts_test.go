package infra_test

// The texts of TestGenerated, as templates.
const (
	functionText = `  {{.ID}}Function: # {{.Lower}}
    Type: AWS::Serverless::Function
    Metadata: {BuildMethod: makefile}
    Properties:
      Description: {{.About}}
      Role: !GetAtt {{.ID}}Role.Arn
      LoggingConfig: {LogGroup: !Ref {{.ID}}Logs}
      ReservedConcurrentExecutions: !If [IsPaused, 0, !Ref AWS::NoValue]

  {{.ID}}Logs:
    Type: AWS::Logs::LogGroup
    DeletionPolicy: Delete
    UpdateReplacePolicy: Delete
    Properties:
      LogGroupName: !Sub "/rookery/${AWS::StackName}/{{.Name}}"
      RetentionInDays: !Ref LogRetentionDays

  {{.ID}}Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: "2012-10-17"
        Statement:
          - {Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: "sts:AssumeRole"}
      Policies:
        - PolicyName: own
          PolicyDocument:
            Version: "2012-10-17"
            Statement:
              - Sid: Logs
                Effect: Allow
                Action: ["logs:CreateLogStream", "logs:PutLogEvents"]
                Resource: !GetAtt {{.ID}}Logs.Arn
              - Sid: Tenants
                Effect: Allow
                Action: ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
                Resource: !GetAtt Table.Arn
                Condition: {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["~tenants"]}}
{{- if .Jobs}}
              - Sid: Jobs
                Effect: Allow
                Action: "sqs:SendMessage"
                Resource: !GetAtt JobsQueue.Arn
{{- end}}

`

	integrationText = `  {{.ID}}Integration:
    Type: AWS::ApiGatewayV2::Integration
    Properties:
      ApiId: !Ref Api
      IntegrationType: AWS_PROXY
      IntegrationUri: !GetAtt {{.ID}}Function.Arn
      PayloadFormatVersion: "2.0"
      TimeoutInMillis: 30000
      ResponseParameters: # the gateway renames the challenge of a function
        "401":
          ResponseParameters:
            - {Destination: "overwrite:header.www-authenticate", Source: $response.header.rookery-challenge}
        "403":
          ResponseParameters:
            - {Destination: "overwrite:header.www-authenticate", Source: $response.header.rookery-challenge}

  {{.ID}}Permission:
    Type: AWS::Lambda::Permission
    Properties:
      FunctionName: !Ref {{.ID}}Function
      Action: lambda:InvokeFunction
      Principal: apigateway.amazonaws.com
      SourceArn: !Sub "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}/*"

`

	routeText = `  {{.ID}}Route:
    Type: AWS::ApiGatewayV2::Route
    Properties:
      ApiId: !Ref Api
      RouteKey: {{.Pattern}}
      Target: !Sub "integrations/${{"{"}}{{.Function}}Integration}"
      AuthorizationType: !If [HasGatewayJwt, JWT, NONE]
      AuthorizerId: !If [HasGatewayJwt, !Ref GatewayAuthorizer, !Ref AWS::NoValue]
`

	alarmText = `  {{.ID}}Alarm:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: {{.About}}
      ComparisonOperator: GreaterThanOrEqualToThreshold
      EvaluationPeriods: 1
      Threshold: 1
      Metrics:
        - {Id: all, Expression: SUM(METRICS()), Label: {{.Metric}}, ReturnData: true}
{{- $metric := .Metric}}
{{- range $n, $f := .Functions}}
        - Id: m{{$n}}
          ReturnData: false
          MetricStat:
            Metric: {Namespace: AWS/Lambda, MetricName: {{$metric}}, Dimensions: [{Name: FunctionName, Value: !Ref {{$f.ID}}Function}]}
            Period: 300
            Stat: Sum
{{- end}}
      AlarmActions: !If [HasEmail, [!Ref Alarms], !Ref AWS::NoValue]
      OKActions: !If [HasEmail, [!Ref Alarms], !Ref AWS::NoValue]
      TreatMissingData: notBreaching

`
)
