package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// metadataItem is what an audit decodes of an object in a list of metadata.
type metadataItem struct {
	Metadata struct {
		Namespace     string                      `json:"namespace"`
		Name          string                      `json:"name"`
		UID           string                      `json:"uid"`
		ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
	} `json:"metadata"`
}

// readPage decodes a PartialObjectMetadataList item by item, so that it holds one of
// them at a time, and gives the metadata of the list. client-go's decoder reads a
// page as a whole, and JSON twice.
func readPage(body io.Reader, each func(metadataItem) error) (metav1.ListMeta, error) {
	page := pageReader{decoder: json.NewDecoder(body), each: each}
	err := page.read()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return page.meta, err
}

type pageReader struct {
	decoder *json.Decoder
	each    func(metadataItem) error
	kind    string
	meta    metav1.ListMeta
}

const metadataListKind = "PartialObjectMetadataList"

func (p *pageReader) read() error {
	if err := p.delim('{'); err != nil {
		return err
	}
	for p.decoder.More() {
		key, err := p.decoder.Token()
		if err != nil {
			return err
		}
		switch key {
		case "kind":
			err = p.decoder.Decode(&p.kind)
		case "metadata":
			err = p.decoder.Decode(&p.meta)
		case "items":
			err = p.items()
		default:
			err = p.decoder.Decode(&json.RawMessage{})
		}
		if err != nil {
			return err
		}
	}
	return p.delim('}')
}

func (p *pageReader) items() error {
	if p.kind != metadataListKind { // the API server writes the kind first
		return fmt.Errorf("asked for a %s, the server answers with %q", metadataListKind, p.kind)
	}
	start, err := p.decoder.Token()
	if err != nil || start == nil { // null is an empty list
		return err
	}
	if start != json.Delim('[') {
		return fmt.Errorf("items of the list are %v, want a list", start)
	}
	for p.decoder.More() {
		var item metadataItem
		if err := p.decoder.Decode(&item); err != nil {
			return err
		}
		if err := p.each(item); err != nil {
			return err
		}
	}
	return p.delim(']')
}

func (p *pageReader) delim(want json.Delim) error {
	token, err := p.decoder.Token()
	if err == nil && token != want {
		err = fmt.Errorf("the server's list has %v where %q is expected", token, want)
	}
	return err
}
