package config_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	_ "coapply.dev/apply/breaker" // registers its metric
	"coapply.dev/apply/metrics"
	_ "coapply.dev/platform/controllers" // controller-runtime registers its own when it is linked
)

type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			For         string            `json:"for"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

type dashboard struct {
	Panels []struct {
		Type    string `json:"type"`
		Title   string `json:"title"`
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

func readRules(t *testing.T) ruleFile {
	t.Helper()
	content, err := os.ReadFile("prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules ruleFile
	if err := yaml.UnmarshalStrict(content, &rules); err != nil {
		t.Fatal(err)
	}
	return rules
}

// expressions are those of the alerts and of the dashboard, by where they stand.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, group := range readRules(t).Groups {
		for _, rule := range group.Rules {
			all["alert "+rule.Alert] = rule.Expr
		}
	}
	content, err := os.ReadFile("grafana/coapply.json")
	if err != nil {
		t.Fatal(err)
	}
	var board dashboard
	if err := json.Unmarshal(content, &board); err != nil {
		t.Fatal(err)
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			all["panel "+panel.Title] += "\n" + target.Expr
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d expressions: where are they?", len(all))
	}
	return all
}

var (
	fqName = regexp.MustCompile(`fqName: "([^"]+)"`)
	// metric is a name with an underscore that is neither a label nor in a string.
	quoted   = regexp.MustCompile(`"[^"]*"`)
	grouping = regexp.MustCompile(`(by|without|on) \([^)]*\)`)
	matchers = regexp.MustCompile(`\{[^}]*\}`)
	metric   = regexp.MustCompile(`[a-z]+(_[a-z]+)+`)
	suffix   = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// registered are the names of what the manager serves.
func registered(t *testing.T) map[string]bool {
	t.Helper()
	if _, err := metrics.New(ctrlmetrics.Registry); err != nil {
		t.Fatal(err)
	}
	registry, ok := ctrlmetrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatal("the registry describes nothing")
	}
	descriptions := make(chan *prometheus.Desc, 1000)
	registry.Describe(descriptions)
	close(descriptions)
	names := map[string]bool{}
	for description := range descriptions {
		names[fqName.FindStringSubmatch(description.String())[1]] = true
	}
	return names
}

// TestMetricsExist: an alert about a metric that nobody serves never fires.
func TestMetricsExist(t *testing.T) {
	served := registered(t)
	for where, expression := range expressions(t) {
		for _, aside := range []*regexp.Regexp{quoted, matchers, grouping} {
			expression = aside.ReplaceAllString(expression, "")
		}
		for _, name := range metric.FindAllString(expression, -1) {
			switch {
			case name == "histogram_quantile", name == "__rate_interval", strings.HasSuffix(name, "rate_interval"):
			case served[name], served[suffix.ReplaceAllString(name, "")]:
			default:
				t.Errorf("%s asks for %s, which the manager does not serve", where, name)
			}
		}
	}
}

// TestAlertsSayWhatToDo and name the object of the alert.
func TestAlertsSayWhatToDo(t *testing.T) {
	seen := map[string]bool{}
	for _, group := range readRules(t).Groups {
		for _, rule := range group.Rules {
			if seen[rule.Alert] || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s is there twice, or lacks a severity, a summary or a description", rule.Alert)
			}
			seen[rule.Alert] = true
		}
	}
}
