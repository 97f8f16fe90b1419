# Needs Go, make and a POSIX shell; verify needs git as well. `make` lists the targets.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The go command uses all cores by itself, and targets write where others read. So make -j changes nothing.
.NOTPARALLEL:

HOMEPAGE = $(URL)
KREW_PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64

# Options of the command, as in make run ARGS='--port 6443'.
ARGS =

# Much arithmetic and next to no concurrency: the race detector would take minutes for it.
ARITHMETIC = coapply.dev/compare/model coapply.dev/docs/reports
UNIT = $$(go list ./... | grep -vFx -e coapply.dev/test/integration $(addprefix -e ,$(ARITHMETIC)))
MODULES = . tools/cluster tools/kwok tools/dev
GENERATED = api/v1alpha1/zz_generated.deepcopy.go api/v1alpha1/applyconfiguration \
	config/crd/platform.coapply.dev_devboxes.yaml config/rbac/role.yaml

# The race detector needs cgo. Sets $race in the shell of a recipe.
set_race = cc=$$(go env CC); \
	if [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$${cc%% *}" >/dev/null 2>&1; then race=-race; \
	else race=; echo 'no cgo or no C compiler here: testing without -race'; fi

help: ## List the targets
	@echo 'usage: make TARGET'
	@while IFS= read -r line; do case $$line in [a-z]*:*' ## '*) \
		printf '  %-17s %s\n' "$${line%%:*}" "$${line##*## }";; esac; done < Makefile

demo: build ## Show on a real control plane what the project is for (the first time builds it: minutes)
	bin/platform demo

run: build ## Keep the same platform running, for kubectl, until Ctrl-C; options in ARGS='--port 6443'
	bin/platform run $(ARGS)

test: control-plane test-unit test-integration ## Run all tests

test-unit: go ## Run the tests that need no control plane
	@$(set_race); set -x; go test $$race -timeout 10m $(UNIT) && go test $(ARITHMETIC)

test-integration: control-plane ## Run the tests against a real control plane
	@$(set_race); set -x; go test $$race -timeout 30m -count 1 ./test/integration

lint: bin/.dev-tools ## Run golangci-lint (the first time builds it: minutes)
	bin/golangci-lint run --allow-parallel-runners ./...

verify: generate ## Check that generated code, go.mod and formatting are as they should be, and vet
	@git diff --exit-code -- $(GENERATED) && new=$$(git ls-files --others --exclude-standard -- $(GENERATED)) && [ -z "$$new" ] || \
		{ echo "verify: generated files are not as committed (above: -committed +generated) $$new"; \
		echo 'verify: commit what make generate has just written'; exit 1; }
	@for module in $(MODULES); do (cd "$$module" && go mod tidy -diff) || \
		{ echo "verify: run go mod tidy in $$module and commit"; exit 1; }; done
	@unformatted=$$("$$(go env GOROOT)/bin/gofmt" -l .) && [ -z "$$unformatted" ] || \
		{ echo "verify: run gofmt -w on: $$unformatted"; exit 1; }
	go vet ./...

generate: bin/.dev-tools ## Write CRDs, RBAC, deepcopy and apply configurations from the Go types
	bin/controller-gen object crd applyconfiguration paths=./api/... output:crd:dir=config/crd
	bin/controller-gen rbac:roleName=coapply-manager paths=./internal/controller/... output:rbac:dir=config/rbac

bench: go ## Run the benchmarks of single functions
	go test -run '^$$' -bench . -benchmem $$(grep -rl '^func Benchmark' --include='*_test.go' . | \
		while IFS= read -r file; do echo "$${file%/*}"; done | sort -u)

compare: control-plane ## Measure Server-Side Apply against get-modify-update, in 3 minutes; or ARGS='--review -o review'
	bin/compare run $(or $(ARGS),--quick)

build: go ## Compile the commands into bin/
	@echo 'compiling the commands (a minute or two the first time)'
	go build -o bin/ ./cmd/...
	@cp cmd/kubectl-fieldowners/kubectl_complete-fieldowners bin/

krew: go ## Write archives and the krew manifest of the kubectl plugin to dist/: VERSION=v1.2.3 URL=https://...
	@[ -n "$(VERSION)" ] && [ -n "$(URL)" ] || { echo 'krew: which release? make krew VERSION=v1.2.3 URL=https://host/where/the/archives/will/be' >&2; exit 1; }
	@mkdir -p dist
	sed -e '/^#/d' -e 's|VERSION|$(VERSION)|' -e 's|HOMEPAGE|$(HOMEPAGE)|' cmd/kubectl-fieldowners/krew.yaml > dist/fieldowners.yaml
	@for platform in $(KREW_PLATFORMS); do \
		os=$${platform%/*}; arch=$${platform#*/}; exe=; [ "$$os" = windows ] && exe=.exe; \
		archive=kubectl-fieldowners_$(VERSION)_$${os}_$$arch.tar.gz; folder=dist/$${os}_$$arch; \
		echo "building $$archive"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -ldflags '-s -w' -o "$$folder/" ./cmd/kubectl-fieldowners || exit 1; \
		cp LICENSE NOTICE cmd/kubectl-fieldowners/kubectl_complete-fieldowners "$$folder/" || exit 1; \
		tar -C "$$folder" -czf "dist/$$archive" . || exit 1; \
		sum=$$(sha256sum "dist/$$archive" 2>/dev/null || shasum -a 256 "dist/$$archive") || exit 1; rm -r "$$folder"; \
		printf '  - selector:\n      matchLabels: {os: %s, arch: %s}\n    uri: %s/%s\n    sha256: %s\n    bin: kubectl-fieldowners%s\n' \
			"$$os" "$$arch" '$(URL)' "$$archive" "$${sum%% *}" "$$exe" >> dist/fieldowners.yaml; done
	@echo 'wrote dist/fieldowners.yaml'

clean: build ## Delete what was built, the control plane in the user's cache folder included
	bin/platform clean
	@echo "removed bin: $$(du -sh bin | cut -f1)"
	@rm -rf bin dist

# The rest is for the targets above.

control-plane: build
	bin/platform build

bin/.dev-tools: tools/dev/go.mod tools/dev/go.sum | go
	@echo 'compiling golangci-lint and controller-gen (minutes the first time)'
	@mkdir -p bin
	cd tools/dev && go build -o ../../bin/ tool
	@touch $@

go:
	@command -v go >/dev/null || { echo 'make: go is not on the PATH: install Go 1.26 or later' >&2; exit 1; }

.PHONY: help demo run test test-unit test-integration lint verify generate bench compare build krew clean control-plane go
