# Rookery: every target says what it does; `make help` lists them.
# The Go toolchain is the only thing that has to be there: modules are fetched by it.

GO ?= go
BIN := bin/rookery
DATA ?= ./data
FUZZTIME ?= 10m
# How many minutes make soak gives to each random history.
SOAK ?= 1
# A proxy's certificate bundle slows every TLS set-up down, and no test needs one.
unexport AWS_CA_BUNDLE

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: build
build: ## build the binary into bin/
	@echo "building $(BIN) (the first time Go fetches its modules)"
	@$(GO) build -o $(BIN) ./cmd/cli

PREFIX ?= $(HOME)/.local

.PHONY: install
install: build ## copy the binary to PREFIX/bin, ~/.local/bin by default
	@mkdir -p "$(PREFIX)/bin"
	@install -m 755 $(BIN) "$(PREFIX)/bin/rookery"
	@echo "installed $(PREFIX)/bin/rookery"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "add $(PREFIX)/bin to PATH to call it by its name";; esac

.PHONY: image-root
image-root: ## make bin/image, which the Dockerfile copies: a static binary, and certificates of authorities
	@rm -rf bin/image && mkdir -p bin/image/etc/ssl/certs && install -d -m 1777 bin/image/data
	@CGO_ENABLED=0 GOOS=linux $(GO) build -trimpath -ldflags '-s -w' -o bin/image/rookery ./cmd/cli
	@for f in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do \
	if [ -f $$f ]; then cp $$f bin/image/etc/ssl/certs/ca-certificates.crt; break; fi; done

.PHONY: run
run: build ## build, and serve ./data on 127.0.0.1:7780 with a demo vault
	@$(BIN) serve --data $(DATA) --demo

# The functions of AWS Lambda, each as a program of its own for both processors.
FUNCTIONS := $(notdir $(patsubst %/main.go,%,$(wildcard functions/*/main.go)))

.PHONY: functions
functions: ## build the functions of AWS Lambda into bin/functions, and say how large they are and how they start
	@for arch in arm64 amd64; do for name in $(FUNCTIONS); do \
	echo "building bin/functions/$$arch/$$name/bootstrap"; \
	CGO_ENABLED=0 GOOS=linux GOARCH=$$arch $(GO) build -tags lambda.norpc,nethttpomithttp2 -trimpath -ldflags '-s -w' \
	-o bin/functions/$$arch/$$name/bootstrap ./functions/$$name || exit 1; done; done
	@ROOKERY_FUNCTIONS=$(CURDIR)/bin/functions $(GO) test -vet=off ./functions -run 'TestSizes|TestBegins' -count=1 -v

# What `sam build` calls for each function of template.yaml: build-RavenFunction and so on.
build-%Function:
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) build -tags lambda.norpc,nethttpomithttp2 -trimpath -ldflags '-s -w' \
	-o $(ARTIFACTS_DIR)/bootstrap ./functions/$(shell echo $* | tr A-Z a-z)

# The checkers of the template, in an environment of their own.
SAM := .localstack/sam

.PHONY: template
template: $(SAM)/installed.txt ## check template.yaml with SAM and cfn-lint, which it installs, and build all functions; Python 3.11
	@tools/sam/check $(CURDIR)/$(SAM)

$(SAM)/installed.txt: tools/sam/requirements.txt tools/sam/constraints.txt tools/sam/install
	@echo "installing aws-sam-cli and cfn-lint into $(SAM) (about a minute, 350 MB)"; mkdir -p .localstack; \
	tools/sam/install $(CURDIR)/$(SAM)

.PHONY: local-cloud
local-cloud: ## serve the functions on 127.0.0.1:7790, over emulators of DynamoDB and S3, until it is interrupted
	@localstack/cloud

.PHONY: cc
cc: # the race detector needs a C compiler
	@command -v cc >/dev/null || { echo "installing a C compiler, for the race detector"; \
	apt-get update -q && apt-get install -yq gcc libc6-dev; }

# The program that fuzzes HTTP. Without it the test that needs it is skipped, and says so; in CI it fails.
FUZZER := bin/schemathesis/installed.txt

.PHONY: fuzzer
fuzzer: ## install schemathesis into bin/, pinned, for the fuzzing of HTTP; it needs Python 3.11
	@$(MAKE) --no-print-directory $(FUZZER)

$(FUZZER): tools/schemathesis/requirements.txt tools/schemathesis/install
	@echo "installing schemathesis into bin/, for the fuzzing of HTTP"; mkdir -p bin; \
	tools/schemathesis/install $(CURDIR)/bin/schemathesis || [ -z "$$CI" ]

# The conformance suite of MCP. Without npm the test that needs it is skipped, and says so.
CONFORMANCE := bin/conformance/installed.json

.PHONY: conformance
conformance: ## install the conformance suite of MCP into bin/, pinned; it needs npm
	@$(MAKE) --no-print-directory $(CONFORMANCE)

$(CONFORMANCE): tools/conformance/package-lock.json tools/conformance/install
	@command -v npm >/dev/null || { echo "npm is not there: the conformance of MCP is not tested"; exit 0; }; \
	echo "installing the conformance suite of MCP into bin/"; mkdir -p bin; \
	tools/conformance/install $(CURDIR)/bin/conformance || [ -z "$$CI" ]

.PHONY: test
test: emulators fmt lint leaks cloud-tests ## what CI runs: formatting, linters, all tests, and a search of their logs

.PHONY: check
check: test # the former name

# The emulators of AWS. Where they cannot be had the tests that need them are skipped, and say so; in CI they fail.
.PHONY: emulators
emulators: # begins to install them while other tests run
	@[ -n "$$ROOKERY_TEST_AWS_ENDPOINT" ] || { mkdir -p .localstack; \
	localstack/install >.localstack/install.log 2>&1 </dev/null & }

.PHONY: cloud-tests
cloud-tests: cc ## the tests of the adapters of AWS, with emulators that it starts and stops; Python 3.13, Java 17, Maven
	@GO=$(GO) tools/test/cloud

.PHONY: cloud-docs
cloud-docs: ## write docs/benchmarks-requests-cloud.md, with emulators of AWS that it starts and stops
	@GO=$(GO) tools/test/emulated $(GO) test -vet=off -count=1 ./internal/localapp -run '^TestGeneratedCloudRequests$$' -update

.PHONY: leaks
leaks: cc $(FUZZER) $(CONFORMANCE) ## run all tests, then search what they logged and refused for secrets
	@logs=$$(mktemp -d) && trap 'rm -rf "$$logs"' EXIT && \
	ROOKERY_TEST_LOGS=$$logs GO=$(GO) tools/test/run && \
	ROOKERY_LEAKS_IN=$$logs $(GO) test -vet=off ./internal/leaktest -run TestNothingLeaked -count=1 -v

.PHONY: fmt
fmt: ## fail if a file is not formatted
	@files=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$files" ]; then echo "not formatted: $$files"; exit 1; fi

# The linters, with go vet among them. They are built once, and again when their versions change.
LINTER := bin/golangci-lint

$(LINTER): tools/go.mod tools/go.sum
	@echo "building $(LINTER) (the first time this takes minutes)"
	@$(GO) build -modfile=tools/go.mod -ldflags='-s -w' -o $(LINTER) \
	github.com/golangci/golangci-lint/v2/cmd/golangci-lint && touch $(LINTER)

.PHONY: lint
lint: $(LINTER) ## golangci-lint with go vet and staticcheck, pinned in the tools module
	$(LINTER) run

.PHONY: vuln
vuln: ## look for known vulnerabilities; it needs their database, from the network
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.8.0 ./...

.PHONY: bench
bench: ## measure, and write docs/benchmarks.md
	$(GO) run ./bench -out docs/benchmarks.md

.PHONY: bench-large
bench-large: ## measure a vault of 100,000 notes, and write docs/benchmarks-large.md
	$(GO) run ./bench -sizes 100000 -ops 1000 -out docs/benchmarks-large.md

.PHONY: bench-hosted
bench-hosted: ## measure what a hosted server costs, and write docs/benchmarks-hosted.md
	$(GO) run ./bench -only hosted -sizes 1000 -out docs/benchmarks-hosted.md

.PHONY: bench-start
bench-start: ## measure how a function of a cloud starts, and write docs/benchmarks-start.md
	$(GO) run ./bench -only start -out docs/benchmarks-start.md

.PHONY: bench-cloud
bench-cloud: ## measure the functions over emulators of AWS, and write docs/benchmarks-cloud.md
	@GO=$(GO) tools/test/emulated $(GO) run ./bench -only cloud -out docs/benchmarks-cloud.md
	@$(MAKE) --no-print-directory dollars

.PHONY: dollars
dollars: ## write docs/benchmarks-dollars.md, what a million calls of each tool cost, from the requests that were counted
	$(GO) run ./bench -only dollars

.PHONY: bench-retrieval
bench-retrieval: ## measure how well notes and memories are found, and write docs/benchmarks-retrieval.md; VAULT names one more folder of notes
	$(GO) run ./bench/retrieval -vault "$(VAULT)" -out docs/benchmarks-retrieval.md

.PHONY: bench-notes
bench-notes: ## measure the tools for notes and for orientation, and write docs/benchmarks-notes.md
	$(GO) run ./bench -only notes -sizes 10000,100000 -out docs/benchmarks-notes.md

.PHONY: bench-queries
bench-queries: ## measure queries, the log, batches, checks and moves, and write docs/benchmarks-queries.md
	$(GO) run ./bench -only queries -sizes 1000,10000,100000 -out docs/benchmarks-queries.md

.PHONY: bench-memories
bench-memories: ## measure the tools for memories, and write docs/benchmarks-memories.md
	$(GO) run ./bench -only memories -sizes 10000,100000 -out docs/benchmarks-memories.md

.PHONY: fuzz
fuzz: $(FUZZER) ## fuzz one target after the other, FUZZTIME=10m for each; then HTTP and MCP
	@for file in $$(grep -rl '^func Fuzz' --include='*_test.go' internal | sort); do \
	for name in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' $$file); do \
	echo "$$name in $$(dirname $$file), $(FUZZTIME)"; \
	$(GO) test ./$$(dirname $$file) -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) \
	-fuzzminimizetime 1s || exit 1; \
	done; done
	ROOKERY_SOAK=1 $(GO) test ./internal/localapp -run '^TestFuzz' -timeout 60m -count=1 -v

.PHONY: soak
soak: cc $(FUZZER) $(CONFORMANCE) ## all tests in full, with the race detector; note the result in docs/testing.md
	@localstack/up || [ -z "$$CI" ]; trap localstack/down EXIT; \
	ROOKERY_SOAK=$(SOAK) $(GO) test -race -timeout 240m -count=1 ./...

.PHONY: docs
docs: ## write the generated files: internal/tool/fielddocs.txt, openapi/openapi.json, openapi/docs.html and docs/tools
	$(GO) test ./internal -run TestFieldDocs -update
	$(GO) test ./internal/localapp -run TestExamplesRun -update
	$(GO) test ./internal/localapp -run TestGenerated -update

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
