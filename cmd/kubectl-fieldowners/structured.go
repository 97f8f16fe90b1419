package main

import "coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"

// structured prints what programs read; other outputs have been printed already.
func (p *plugin) structured(output string, content any) error {
	var text []byte
	var err error
	switch output {
	case "json":
		text, err = ownerview.IndentedJSON(content)
	case "yaml":
		text, err = ownerview.YAML(content)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	_, err = p.Out.Write(text)
	return err
}
