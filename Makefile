# Needs Go, make and a POSIX shell; verify needs git as well. `make` lists the targets.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The go command uses all cores by itself, and targets write where others read. So make -j changes nothing.
.NOTPARALLEL:

# Of make soak: no SEED is a new one, a STEP such as races runs alone.
SEED ?=
STEP ?=

# Options of the command, as in make run ARGS='--port 6443'.
ARGS =

# What build-installer installs. kubectl: the one in the PATH, or else that of the control plane.
IMG = coapply-manager:$(or $(VERSION),dev)
KUBECTL =
INSTALLER = dist/install.yaml

# make test has the race detector in the packages that are about goroutines, make soak has it everywhere.
RACED = $(addprefix coapply.dev/apply/,breaker internal/schemas lanes reconciler)
UNRACED = $$(go list ./... | grep -v $(RACED:%=-e ^%$$) -e ^coapply.dev/test/integration $(COMPARED:%=-e ^coapply.dev/compare/%))
# Packages of compare whose tests need a server, or read docs/, of which Go's cache of test results knows nothing there.
COMPARED = integration commands
# Linking takes half as long without debug information. make verify vets the code.
UNIT = -short -timeout 10m -vet=off -ldflags='-s -w'
# The folders whose tests need a server; those that take longest come first.
LONG = test/integration/platform compare/integration test/integration/steady test/integration/plugin
INTEGRATION = $(filter test/%,$(LONG)) $(filter-out $(LONG),$(patsubst %/,%,$(wildcard test/integration/*/)))
# go test links a package each time it runs it, which takes 6 s of a core; go test -c does so only after a change.
LINK = go test -ldflags='-s -w' -c -o $(CURDIR)/bin/tests/
# Runs the linked tests of the folders, four folders at once, each in its folder. Prints a line for each folder, and all output of a failed one.
served = printf '%s\n' $(1) | go run ./test/cmd/share xargs -n 1 -P 4 sh -c 'cd "$$0" && start=$$(date +%s) result=ok; \
	out=$$("$(CURDIR)/bin/tests/$$(basename "$$0").test" -test.short -test.timeout 40m -test.parallel 8 2>&1) || result=FAIL; \
	[ $$result = ok ] || printf "%s\n" "$$out"; echo "$$result $$0 $$(($$(date +%s) - start)) s"; [ $$result = ok ]'
# Servers, tests and the linker collect their garbage less often: a seventh less CPU for test/integration/steady.
test test-integration test-compare: export COAPPLY_TEST_COMMANDS = $(CURDIR)/bin
test test-unit test-integration test-compare: export GOGC = 800
test test-unit test-integration test-compare: export GOMEMLIMIT = 2GiB

# ALL=1: make neighbours has Helm, the VPA and Argo CD's engine too, and make lint that module, whose programs take minutes to
# build the first time.
ALL ?=
# Of make neighbours: how long nothing moves after the last thing that a user did.
REST ?= 60s

# Of make versions: groups of test/cmd/versions/groups.go; none are all.
ONLY ?=

# Of make bench: the name of the benchmarks follows.
BENCH = -run '^$$' -benchmem -timeout 2h -bench

# CORPUS=update: make corpus writes the findings.
CORPUS ?=

# Of make explore: a world of test/explore, and a schedule in it.
WORLD =
SCHEDULE =

# How long make soak takes, and make mutants at most.
FOR ?= 10m
# What make mutants changes; whose tests it runs beside the package's own.
PACKAGES ?= ./fieldowners/... ./apply/...
WITH ?=
MODULES = . compare compare/examples/mine test/faults cmd/ownlint cmd/ownlint/rules/testdata cmd/ownlint/theft tools/cluster tools/dev tools/ko

# The version of Kubernetes of the local control plane, as in make demo K8S=1.36.3: a *.mod file in tools/cluster.
K8S ?=
export K8S

# Half of what is compiled here the control plane needs as well, and Go's build cache has it once if these are those of
# internal/localcluster. Neither a C compiler nor a debugger is needed; stack traces are as usual.
export CGO_ENABLED = 0
export GOFLAGS := $(shell go env GOFLAGS 2>/dev/null) -gcflags=all=-dwarf=false
# A compiler that collects its garbage less often takes a fifth less time.
COMPILE = GOGC=400 GOMEMLIMIT=2GiB go build -ldflags=-s
GENERATED = platform/api/v1alpha1/zz_generated.deepcopy.go platform/api/v1alpha1/applyconfiguration \
	config/crd config/rbac config/admission config/samples/kustomization.yaml config/contract.yaml \
	config/prometheus/rules.yaml

# The race detector needs cgo. Sets $race and CGO_ENABLED in the shell of a recipe.
set_race = unset CGO_ENABLED; cc=$$(go env CC); \
	if [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$${cc%% *}" >/dev/null 2>&1; then race=-race; \
	else race=; export CGO_ENABLED=0; echo 'no cgo or no C compiler here: testing without -race'; fi

help: ## List the targets
	@echo 'usage: make TARGET'
	@while IFS= read -r line; do case $$line in [a-z]*:*' ## '*) \
		printf '  %-17s %s\n' "$${line%%:*}" "$${line##*## }";; esac; done < Makefile

demo: go ## Show on a real control plane what the project is for (the first time builds it: minutes)
	@echo 'compiling the commands (a minute or two the first time)'
	$(COMPILE) -o bin/ ./cmd/platform ./cmd/manager ./cmd/kubectl-fieldowners
	bin/platform demo

run: build ## Keep the same platform running, for kubectl, until Ctrl-C; options in ARGS='--port 6443'
	bin/platform run $(ARGS)

test: control-plane test-unit ## Run all tests but those of make soak, with the same random cases each time
	$(LINK) ./test/integration/... && cd compare && $(LINK) $(COMPARED:%=./%)
	@$(call served,$(LONG) $(filter-out $(LONG),$(INTEGRATION) $(COMPARED:%=compare/%)))

test-unit: go ## Run the tests that need no control plane
	@$(set_race); set -x; go test $(UNIT) $$race $(RACED) && export CGO_ENABLED=0 && \
		go test $(UNIT) $(UNRACED) && (cd cmd/ownlint && go test $(UNIT) ./...) && cd compare && go test $(UNIT) $(UNRACED) && \
		cd examples/mine && go test $(UNIT) .

test-integration: control-plane ## Run the tests against a real control plane
	$(LINK) ./test/integration/...
	@$(call served,$(INTEGRATION))

test-compare: control-plane ## Run the benchmark's tests that need a control plane, or the docs
	cd compare && $(LINK) $(COMPARED:%=./%)
	@$(call served,$(COMPARED:%=compare/%))

soak: control-plane ## Run for FOR=10m what make test leaves out, with -race and random seeds: many cases, scale, kills, upgrades
	@$(set_race); set -x; CGO_ENABLED=0 go run ./test/cmd/soak -for '$(FOR)' -seed '$(SEED)' -step '$(STEP)' $$race

faults: control-plane ## Have each write, read and event of each reconciler meet faults, and kill servers (long); goes on where it was interrupted
	@mkdir -p bin; commit=$$(git describe --always --dirty --abbrev=12 --exclude='*'); \
	results=$(CURDIR)/bin/faults-$$commit$(K8S:%=-%).txt; case $$commit in *-dirty) rm -f "$$results";; esac; \
	echo "the results: $$results, and all of the output: bin/faults.log"; cd test/faults && \
	{ COAPPLY_RESULTS="$$results" go test -timeout 3h -count 1 -parallel 14 -v . >../../bin/faults.log 2>&1; status=$$?; \
		grep -E '^( *--- FAIL|ok|FAIL)' ../../bin/faults.log; sed -n '/^TEST  *PASSED/,/^$$/p;/^TEST  *COUNTED/,/^\(ok\|FAIL\)/p' ../../bin/faults.log; exit $$status; }
explore: go ## Run the real code in every order of requests, cache events and faults, and find planted faults (ten minutes); WORLD='NAME' SCHEDULE='A B' run one
	cd test/explore && COAPPLY_WORLD='$(WORLD)' COAPPLY_SCHEDULE='$(SCHEDULE)' go test -count 1 -timeout 1h

corpus: go ## Run ownlint on the operators of cmd/ownlint/testdata/corpus, and compare its findings with those committed (an hour)
	cd cmd/ownlint && COAPPLY_CORPUS='$(or $(CORPUS),check)' go test -count 1 -timeout 3h -v -run '^TestCorpus$$' .

neighbours: control-plane ## Run kubectl, the autoscaler and Flux's apply beside the platform; ALL=1: Helm, the VPA, Argo CD's engine as well (the first build takes minutes)
	cd test/neighbours && for module in . $(if $(ALL),argocd vpa); do (cd $$module && go mod tidy -diff) || exit 1; done && go vet . && \
		ALL='$(ALL)' REST='$(REST)' KUBECTL='$(KUBECTL)' go test -timeout 60m -count 1 -parallel 8 -v .

versions: go ## Run the same tests on each version of Kubernetes and compare (builds them first): K8S=1.36.3, ONLY=decisions,platform
	@mkdir -p bin
	go run ./test/cmd/versions -kubernetes '$(K8S)' -only '$(ONLY)' -log bin/versions.log

fuzz: FOR = 1m
fuzz: go ## Run each fuzz target for FOR=1m: parsers, narrow writes
	@grep -rl '^func Fuzz' --include='*_test.go' . | while IFS= read -r file; do \
		sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' "$$file" | while IFS= read -r target; do \
		echo "$$target of $${file%/*}"; \
		go test -run '^$$' -fuzz "^$$target$$" -fuzztime '$(FOR)' "$${file%/*}" || exit 1; done || exit 1; done

mutants: go ## Change the code here and there, and list what no test notices: FOR=10m, PACKAGES=./cmd/kubectl-fieldowners/lint
	go run ./test/cmd/mutants -for '$(FOR)' -with '$(WITH)' $(PACKAGES)

scale: control-plane ## Measure the platform with 1,000 Devboxes, 200 Users and 500 pods of a NodeSet: docs/scale.md
	COAPPLY_SCALE=full go test -timeout 60m -count 1 -v -run '^TestScale$$' ./test/integration/platform

systems: control-plane ## Print what was published about other systems, beside what these tests measure
	@out=$$(cd compare/integration && go test -count 1 -v -run '^TestSystem' . 2>&1) || { printf '%s\n' "$$out"; exit 1; }; \
		printf '%-17s %-43s %-15s %s\n' system published figure measured; printf '%s\n' "$$out" | sed -n 's/^.*go:[0-9]*: published: //p'

# Lines of Go without tests and generated code, and exported functions, types and methods of the public packages.
lines = git ls-files -- $(1) | grep '\.go$$' | grep -v -e _test.go -e zz_generated -e /applyconfiguration/ | xargs cat | wc -l
PUBLIC = $$(go list ./... | grep -v -e /internal -e /cmd -e /test/ -e /platform -e /docs -e /config -e /examples)

size: go ## Print the lines of each part and the size of the API, and fail above the budgets
	@fail=0; row() { printf '%-32s %6d of %6d\n' "$$1" "$$2" "$$3"; [ "$$2" -le "$$3" ] || { fail=1; over="$$over $$1,"; }; }; \
	row 'core' $$($(call lines,':(glob)*.go' apply fieldowners ':!apply/applytest')) 17300; \
	row 'applytest' $$($(call lines,apply/applytest)) 2950; \
	row 'plugin' $$($(call lines,cmd/kubectl-fieldowners)) 9250; \
	row 'platform and cmd/manager' $$($(call lines,platform cmd/manager)) 5700; \
	row 'internal and cmd/platform' $$($(call lines,internal cmd/platform)) 3550; \
	row 'all but compare, test, applytest, ownlint' $$($(call lines,':!compare' ':!test' ':!apply/applytest' ':!cmd/ownlint')) 36700; \
	api=0; for package in $(PUBLIC); do [ $$package != coapply.dev/apply/applytest ] || continue; names=$$(go doc -short $$package | sed -nE 's/^type ([A-Z][A-Za-z0-9]*).*/\1/p'); \
	api=$$((api + $$(go doc -short $$package | grep -cE '^(func|type)') + $$(for name in $$names; do go doc -short $$package.$$name; done | grep -cE '^func'))); done; \
	row 'exported names' $$api 300; [ $$fail = 0 ] || { echo "above the budget:$${over%,}"; exit 1; }

lint: bin/.dev-tools ## Run golangci-lint (the first time builds it: minutes)
	bin/golangci-lint run --allow-parallel-runners ./...
	cd compare && ../bin/golangci-lint run --allow-parallel-runners ./...
	cd compare/examples/mine && ../../../bin/golangci-lint run --allow-parallel-runners .
	cd test/faults && ../../bin/golangci-lint run --allow-parallel-runners ./...
	cd cmd/ownlint && ../../bin/golangci-lint run --allow-parallel-runners ./... && $(COMPILE) -o ../../bin/ .
	bin/ownlint ./...
	cd compare && ../bin/ownlint ./...
	$(if $(ALL),cd test/neighbours && ../../bin/golangci-lint run --allow-parallel-runners ./...)

verify: generate ## Check that generated code, go.mod and formatting are as they should be, and vet
	@git diff --exit-code -- $(GENERATED) && new=$$(git ls-files --others --exclude-standard -- $(GENERATED)) && [ -z "$$new" ] || \
		{ echo "verify: generated files are not as committed (above: -committed +generated) $$new"; \
		echo 'verify: commit what make generate has just written'; exit 1; }
	@for module in $(MODULES); do (cd "$$module" && for file in *.mod; do go mod tidy -diff -modfile="$$file" || exit 1; done) || \
		{ echo "verify: run go mod tidy in $$module and commit; -modfile names a file other than go.mod"; exit 1; }; done
	@unformatted=$$("$$(go env GOROOT)/bin/gofmt" -l .) && [ -z "$$unformatted" ] || \
		{ echo "verify: run gofmt -w on: $$unformatted"; exit 1; }
	go vet ./...
	cd compare && go vet ./...
	cd compare/examples/mine && go vet .
	cd test/faults && go vet ./...
	cd cmd/ownlint && go vet ./...
	cd cmd/ownlint/theft && go vet .

generate: bin/.dev-tools ## Write CRDs, deepcopy and apply configurations from the Go types, config/ from the contract
	bin/controller-gen object crd applyconfiguration paths=./platform/api/... output:crd:dir=config/crd
	go run ./config/generate
	bin/controller-gen rbac:roleName=coapply-manager paths=./platform/controllers/... output:rbac:dir=config/rbac
	@cd config/prometheus && { echo '# Generated by make generate from prometheus_rule.yaml.'; \
		sed -e '1,/^spec:/d' -e 's/^  //' prometheus_rule.yaml; } > rules.yaml

bench: control-plane ## Measure speed on a quiet machine (two hours): compare's profile performance, then the Go benchmarks, into bin/bench.txt for benchstat
	bin/compare run --profile performance $(ARGS)
	go test $(BENCH) . -count 6 ./apply/... ./cmd/kubectl-fieldowners/... ./fieldowners/... > bin/bench.txt
	cd compare && go test $(BENCH) 'Requests|Reconcile|Change' -count 6 ./peers >> ../bin/bench.txt
	cd compare && go test $(BENCH) Idle ./peers >> ../bin/bench.txt
	@cat bin/bench.txt

compare: control-plane ## Measure Server-Side Apply against get-modify-update, in 3 minutes; or ARGS='--profile review -o review'
	bin/compare run $(or $(ARGS),--profile quick)

build: go ## Compile the commands into bin/
	@echo 'compiling the commands (a minute or two the first time)'
	$(COMPILE) -o bin/ ./cmd/...
	cd compare && $(COMPILE) -o ../bin/ ./cmd/compare
	cd cmd/ownlint && $(COMPILE) -o ../../bin/ .
	@cp cmd/kubectl-fieldowners/kubectl_complete-fieldowners bin/

build-installer: ## Write dist/install.yaml for kubectl apply --server-side: IMG=REGISTRY/coapply-manager:TAG
	@case '$(IMG)$(VERSION)' in *[!A-Za-z0-9_./:@-]*) echo 'build-installer: IMG=$(IMG) VERSION=$(VERSION) is no image or no version' >&2; exit 1;; esac
	@kubectl='$(KUBECTL)'; [ -n "$$kubectl" ] || kubectl=$$(command -v kubectl) || \
		{ $(MAKE) --no-print-directory build >&2 && kubectl=$$(bin/platform build); } || exit 1; \
	mkdir -p dist && "$$kubectl" kustomize config/default | \
		sed -e 's|image: coapply-manager:dev$$|image: $(IMG)|' \
		-e 's|app.kubernetes.io/version: dev$$|app.kubernetes.io/version: $(or $(VERSION),dev)|' > '$(INSTALLER)'
	@[ -s '$(INSTALLER)' ] || { rm -f '$(INSTALLER)'; exit 1; }
	@echo 'wrote $(INSTALLER) with the image $(IMG)'

release: go ## Build the release of a tagged commit into dist/: VERSION=v0.1.0 URL=https://...; IMG=REGISTRY/coapply-manager pushes the image too
	@VERSION='$(VERSION)' URL='$(URL)' PLATFORMS='$(PLATFORMS)' tools/release.sh

clean: build ## Delete what was built, the control plane in the user's cache folder included
	bin/platform clean
	@echo "removed bin: $$(du -sh bin | cut -f1)"
	@rm -rf bin dist

# The rest is for the targets above.

control-plane: build
	bin/platform build >/dev/null

bin/.dev-tools: tools/dev/go.mod tools/dev/go.sum | go
	@echo 'compiling golangci-lint and controller-gen (minutes the first time)'
	@mkdir -p bin
	cd tools/dev && $(COMPILE) -o ../../bin/ tool
	@touch $@

go:
	@command -v go >/dev/null || { echo 'make: go is not on the PATH: install Go 1.26 or later' >&2; exit 1; }

.PHONY: help corpus demo run test test-unit test-integration test-compare soak faults explore neighbours versions fuzz mutants scale systems size lint verify generate bench compare build build-installer release clean control-plane go
