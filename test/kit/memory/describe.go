package memory

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// describe returns a short text for a request, and the body of a write. The text has the method and path, the options of a list, and for a
// write the preconditions (see pins), dry run, force and the field manager. The text omits the path of the Deployment web, and Manager.
func (w *World) describe(request *http.Request) (text, raw string) {
	text = request.Method
	if request.Header.Get("Content-Type") == string(types.MergePatchType) {
		text = "MERGE"
	}
	query := request.URL.Query()
	if query.Get("dryRun") != "" {
		text = "dry run, " + text
	}
	path := request.URL.Path
	if _, below, ok := strings.Cut(path, "/namespaces/shop/"); ok {
		path = below
	}
	if path = strings.TrimPrefix(path, "deployments/web"); path != "" {
		text += " " + path
	}
	if query.Get("labelSelector") != "" {
		text += " by label"
	}
	if query.Get("continue") != "" {
		text += " continued"
	}
	if request.Body != nil && request.Method != http.MethodGet {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			w.Error(err)
		}
		_ = request.Body.Close()
		request.Body = io.NopCloser(strings.NewReader(string(body)))
		raw = string(body)
		text += w.pins(request.Method, body)
	}
	if query.Get("force") == "true" {
		text += " force"
	}
	if by := query.Get("fieldManager"); by != "" && by != Manager {
		text += " by " + by
	}
	return text, raw
}

// pins describes the uid and the resourceVersion that a write requires, and the propagation policy of a deletion.
func (w *World) pins(method string, body []byte) string {
	var pinned struct {
		UID             types.UID
		ResourceVersion string
	}
	text := ""
	switch {
	case method == http.MethodDelete:
		var options metav1.DeleteOptions
		if _, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, &options); err != nil {
			w.Errorf("delete options: %v", err)
		}
		if p := options.Preconditions; p != nil && p.UID != nil && p.ResourceVersion != nil {
			pinned.UID, pinned.ResourceVersion = *p.UID, *p.ResourceVersion
		}
		if options.PropagationPolicy != nil {
			text = " " + string(*options.PropagationPolicy)
		}
	case strings.HasPrefix(string(body), "["): // a JSON patch
		var operations []struct {
			Path  string
			Value any
		}
		if err := json.Unmarshal(body, &operations); err != nil {
			w.Error(err)
		}
		for _, o := range operations {
			switch o.Path {
			case "/metadata/uid":
				pinned.UID = types.UID(fmt.Sprint(o.Value))
			case "/metadata/resourceVersion":
				pinned.ResourceVersion = fmt.Sprint(o.Value)
			}
		}
	default:
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(body, &object); err != nil {
			w.Error(err)
		}
		pinned.UID, pinned.ResourceVersion = object.UID, object.ResourceVersion
	}
	if pinned.ResourceVersion == "1" {
		return " that no object has" + text
	}
	if pinned.ResourceVersion != "" {
		text = " resourceVersion" + text
	}
	if pinned.UID != "" {
		text = " uid" + text
	}
	return text
}
