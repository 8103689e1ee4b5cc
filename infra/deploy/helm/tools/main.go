// Command objects reads Kubernetes objects (YAML documents) on standard input and decodes each strictly into its own Go
// type: an unknown or misspelt field, or one of the wrong type, is an error. It ends with 1 when there is one.
//
// The module also pins helm itself, which `make setup` builds beside it.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	if err := check(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check names every object that it knows, and returns all complaints.
func check(input io.Reader, known io.Writer) error {
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufio.NewReader(input))
	var complaints []error
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return errors.Join(complaints...)
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", number, err)
		}
		_, kind, err := decoder.Decode(document, nil, nil)
		if err != nil {
			complaints = append(complaints, fmt.Errorf("document %d: %w", number, err))
			continue
		}
		fmt.Fprintln(known, kind.Kind)
	}
}
