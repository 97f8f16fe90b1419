package main

import (
	"encoding/json"

	"sigs.k8s.io/yaml"
)

// structured prints what programs read; other outputs have been printed already.
func (p *plugin) structured(output string, content any) error {
	var text []byte
	var err error
	switch output {
	case "json":
		text, err = json.MarshalIndent(content, "", "  ")
		text = append(text, '\n')
	case "yaml":
		text, err = yaml.Marshal(content)
	}
	if err != nil {
		return err
	}
	_, err = p.Out.Write(text)
	return err
}
