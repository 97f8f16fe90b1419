package faults

import (
	"log"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"coapply.dev/test/kit"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // client-go tells each fault
	if err := openResults(); err != nil {
		log.Fatal("COAPPLY_RESULTS: ", err)
	}
	kit.Main(m)
}
