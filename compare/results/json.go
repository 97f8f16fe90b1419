package results

import "encoding/json"

// JSON is results.json.
func JSON(r Results) ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}
