package localcluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const loopback = "127.0.0.1"

// Ports are drawn from below the range that systems give to outgoing connections, at random: a port that the kernel
// hands out as free is the next one that anybody else gets too, and kwokctl's own choice is the same in every cluster.
const (
	firstPort = 20000
	portCount = 10000
)

// freePorts finds distinct ports that nobody listens on.
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
