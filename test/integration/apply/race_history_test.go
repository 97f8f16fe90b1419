package apply

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// version is a ConfigMap at one resourceVersion, and the write that led there.
type version struct {
	number int64
	call   *ourCall            // nil: the write of a contester
	values map[string]string   // by key of its data
	owners map[string][]string // likewise, as name/operation
}

// ourCall is one call of ours and what became of it.
type ourCall struct {
	intent   map[string]string // by key of the data
	judged   map[string]bool   // "key owner" that it found and meant to force
	conceded map[string]bool   // keys in which it gave way
	err      error
	at       int64               // the resourceVersion of its answer
	before   func(*http.Request) // runs before each request is sent; may be nil
}

// history is every version of one object. All writers send through record, so none
// is missing: an answer holds the object as the write left it.
type history struct {
	mu       sync.Mutex
	versions map[int64]version
	late     int // forced applies of ours that came too late
}

type (
	historyKey struct{}
	ourCallKey struct{}
)

// record takes down the answers to PATCHes whose context carries a history.
func record(next http.RoundTripper) http.RoundTripper {
	return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
		call, ours := request.Context().Value(ourCallKey{}).(*ourCall)
		if ours && call.before != nil {
			call.before(request)
		}
		response, err := next.RoundTrip(request)
		h, ok := request.Context().Value(historyKey{}).(*history)
		if !ok || err != nil || request.Method != http.MethodPatch {
			return response, err
		}
		if ours && response.StatusCode == http.StatusConflict && request.URL.Query().Get("force") == "true" {
			h.tooLate()
		}
		if response.StatusCode >= http.StatusMultipleChoices {
			return response, nil
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		response.Body = io.NopCloser(bytes.NewReader(body))
		return response, h.add(body, call)
	})
}

func (h *history) tooLate() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late++
}

func (h *history) add(body []byte, call *ourCall) error {
	var object corev1.ConfigMap
	if err := json.Unmarshal(body, &object); err != nil {
		return err
	}
	number, err := strconv.ParseInt(object.ResourceVersion, 10, 64)
	if err != nil {
		return err
	}
	owners, err := ownersByKey(object.ManagedFields)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// A version that is known was answered to a write that changed nothing as well.
	// Contesters send no such write, so where one has it, it is theirs.
	if _, known := h.versions[number]; !known || call == nil {
		h.versions[number] = version{number, call, object.Data, owners}
	}
	return nil
}

func ownersByKey(managed []metav1.ManagedFieldsEntry) (map[string][]string, error) {
	ownership, err := fieldowners.Parse(managed)
	if err != nil {
		return nil, err
	}
	owners := map[string][]string{}
	for _, entry := range ownership.Entries() {
		for _, path := range entry.Leaves() {
			key := strings.TrimPrefix(path.String(), ".data.")
			owners[key] = append(owners[key], entry.String())
		}
	}
	return owners, nil
}

// sorted gives the versions in their order and forgets all but the last.
func (h *history) sorted() []version {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []version
	for _, v := range h.versions {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b version) int { return cmp.Compare(a.number, b.number) })
	h.versions = map[int64]version{}
	if len(all) > 0 {
		h.versions[all[len(all)-1].number] = all[len(all)-1]
	}
	return all
}

// steals lists what a write of ours took from others between two versions without
// a mandate: a field that is not to be forced, or an owner that was not judged.
func steals(before, after version) []string {
	var stolen []string
	for key, owners := range before.owners {
		for _, owner := range owners {
			if owner == ours || slices.Contains(after.owners[key], owner) && after.values[key] == before.values[key] {
				continue
			}
			if racePolicy[key] != apply.Force || !after.call.judged[key+" "+owner] {
				stolen = append(stolen, fmt.Sprintf("%s of %s, %q to %q", key, owner, before.values[key], after.values[key]))
			}
		}
	}
	return stolen
}

// broken tells what an object that a successful call left lacks of its intent. A
// field in which the call gave way may stand there in any way.
func broken(call *ourCall, left version) []string {
	var wrong []string
	for key, value := range call.intent {
		set := slices.Contains(left.owners[key], ours) && left.values[key] == value
		if !set && !call.conceded[key] {
			wrong = append(wrong, fmt.Sprintf("%s is %q of %v, we wanted %q", key, left.values[key], left.owners[key], value))
		}
	}
	return wrong
}
