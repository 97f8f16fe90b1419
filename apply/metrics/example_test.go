package metrics_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"coapply.dev/apply"
	"coapply.dev/apply/metrics"
)

// Two callers of a process count into the same series.
func Example() {
	registry := prometheus.NewRegistry() // ctrlmetrics.Registry
	counted, err := metrics.New(registry)
	if err != nil {
		panic(err)
	}
	again, err := metrics.New(registry)
	if err != nil {
		panic(err)
	}
	config := apply.Config{FieldManager: "shop-web", Metrics: counted}
	fmt.Println(config.FieldManager, counted == again)
	// Output: shop-web true
}
