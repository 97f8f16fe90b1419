package localcluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const loopback = "127.0.0.1"

// Ports are drawn at random from below the range of outgoing connections: a free port chosen by
// the kernel would soon be chosen again for somebody else, and kwokctl's own choice is the same
// in every cluster.
const (
	firstPort = 20000
	portCount = 10000
)

// freePorts returns distinct ports on which nobody listens.
func freePorts(count int) ([]int, error) {
	var ports []int
	for _, offset := range rand.Perm(portCount) {
		if checkPort(firstPort+offset) == nil {
			ports = append(ports, firstPort+offset)
		}
		if len(ports) == count {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("no %d free ports between %d and %d", count, firstPort, firstPort+portCount)
}

// FreeAddresses returns distinct addresses on loopback that nobody listens on.
func FreeAddresses(count int) (addresses []string, err error) {
	ports, err := freePorts(count)
	for _, port := range ports {
		addresses = append(addresses, net.JoinHostPort(loopback, strconv.Itoa(port)))
	}
	return addresses, err
}

func checkPort(port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("%w: %d: %w", ErrPortTaken, port, err)
	}
	return listener.Close()
}
