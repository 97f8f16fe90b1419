package faults

import (
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"coapply.dev/test/kit"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // client-go tells each fault
	kit.Main(m)
}
