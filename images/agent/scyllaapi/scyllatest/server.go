// Package scyllatest is a server made of ScyllaDB's own description of its REST API: it refuses every call that does not
// exist there, with these parameters and types, and answers with what is declared. See describe.py for where it is from.
package scyllatest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

//go:embed described.json
var described []byte

// parameter is one of a call.
type parameter struct {
	In       string   `json:"in"`
	Type     string   `json:"type"`
	Required bool     `json:"required"`
	Enum     []string `json:"enum"`
}

// operation is a path with a verb. Returns is "void", "string", "boolean", "int", "long", "double", the name of a model, or
// any of them in brackets: a list.
type operation struct {
	Returns    string               `json:"returns"`
	Parameters map[string]parameter `json:"parameters"`
}

type description struct {
	Operations map[string]operation         `json:"operations"`
	Models     map[string]map[string]string `json:"models"`
}

// Server is an engine's API.
type Server struct {
	t    *testing.T
	told description
	http *httptest.Server

	mu      sync.Mutex
	answers map[string]func(parameters map[string]string) (any, error)
	called  []string
}

// New starts one for the length of a test. A call that the description does not have fails the test.
func New(t *testing.T) *Server {
	t.Helper()
	server := &Server{t: t, answers: map[string]func(map[string]string) (any, error){}}
	if err := json.Unmarshal(described, &server.told); err != nil {
		t.Fatal(err)
	}
	server.http = httptest.NewServer(server)
	t.Cleanup(server.http.Close)
	return server
}

// Address is its host:port.
func (s *Server) Address() string { return strings.TrimPrefix(s.http.URL, "http://") }

// Operations are all it knows, as "GET /path/{parameter}".
func (s *Server) Operations() []string {
	all := make([]string, 0, len(s.told.Operations))
	for name := range s.told.Operations {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// Called are the operations that were called, in order.
func (s *Server) Called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.called)
}

// Answer makes an operation answer with a value, which must be of the type declared.
func (s *Server) Answer(operation string, value any) {
	s.AnswerBy(operation, func(map[string]string) (any, error) { return value, nil })
}

// AnswerBy makes an operation answer with what a function returns; an error is the engine's failure.
func (s *Server) AnswerBy(operation string, answer func(parameters map[string]string) (any, error)) {
	s.t.Helper()
	if _, known := s.told.Operations[operation]; !known {
		s.t.Fatalf("ScyllaDB's API has no %s", operation)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[operation] = answer
}

func (s *Server) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	name, parameters, problem := s.find(request)
	if problem != "" {
		s.t.Errorf("%s %s: %s", request.Method, request.URL, problem)
		refuse(response, http.StatusBadRequest, problem)
		return
	}
	s.mu.Lock()
	s.called = append(s.called, name)
	answer := s.answers[name]
	s.mu.Unlock()
	value, err := s.empty(s.told.Operations[name].Returns), error(nil)
	if answer != nil {
		value, err = answer(parameters)
	}
	if err != nil {
		refuse(response, http.StatusInternalServerError, err.Error())
		return
	}
	content, err := json.Marshal(value)
	if err == nil {
		var plain any
		_ = json.Unmarshal(content, &plain)
		err = s.fits(plain, s.told.Operations[name].Returns)
	}
	if err != nil {
		s.t.Errorf("the test's answer to %s: %v", name, err)
	}
	response.Header().Set("Content-Type", "application/json")
	if s.told.Operations[name].Returns != "void" {
		_, _ = response.Write(content)
	}
}

func refuse(response http.ResponseWriter, status int, message string) {
	response.WriteHeader(status)
	_ = json.NewEncoder(response).Encode(map[string]any{"message": message, "code": status})
}

// find returns the operation and its parameters, or what is wrong with the call.
func (s *Server) find(request *http.Request) (name string, parameters map[string]string, problem string) {
	for described, operation := range s.told.Operations {
		method, pattern, _ := strings.Cut(described, " ")
		if method != request.Method {
			continue
		}
		if inPath, matches := match(pattern, request.URL.EscapedPath()); matches {
			problem := operation.check(inPath, request.URL.Query())
			if request.ContentLength > 0 {
				problem = "no call has a body"
			}
			return described, inPath, problem
		}
	}
	return "", nil, "ScyllaDB's API has no such path and verb"
}

func match(pattern, path string) (map[string]string, bool) {
	wanted, found := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(wanted) != len(found) {
		return nil, false
	}
	parameters := map[string]string{}
	for index, part := range wanted {
		if name, isParameter := strings.CutPrefix(part, "{"); isParameter {
			value, err := url.PathUnescape(found[index])
			if err != nil || value == "" {
				return nil, false
			}
			parameters[strings.TrimSuffix(name, "}")] = value
		} else if part != found[index] {
			return nil, false
		}
	}
	return parameters, true
}

// check adds the query's parameters to those of the path.
func (o operation) check(parameters map[string]string, query url.Values) string {
	for name, values := range query {
		known, there := o.Parameters[name]
		switch {
		case !there || known.In != "query":
			return "it has no parameter " + name
		case len(values) != 1:
			return name + " is given more than once"
		case !known.takes(values[0]):
			return fmt.Sprintf("%s=%q is no %s %v", name, values[0], known.Type, known.Enum)
		}
		parameters[name] = values[0]
	}
	for name, known := range o.Parameters {
		if _, given := parameters[name]; known.Required && !given {
			return name + " is missing"
		}
	}
	return ""
}

func (p parameter) takes(value string) bool {
	var err error
	switch p.Type {
	case "long", "int", "integer":
		_, err = strconv.ParseInt(value, 10, 64)
	case "double":
		_, err = strconv.ParseFloat(value, 64)
	case "boolean":
		return value == "true" || value == "false"
	}
	return err == nil && (len(p.Enum) == 0 || slices.Contains(p.Enum, value))
}

// empty is the least value of a declared type.
func (s *Server) empty(declared string) any {
	if strings.HasPrefix(declared, "[") {
		return []any{}
	}
	switch declared {
	case "void":
		return nil
	case "string", "datetime":
		return ""
	case "boolean":
		return false
	case "int", "long", "double":
		return 0
	}
	value := map[string]any{}
	for field, kind := range s.told.Models[declared] {
		value[field] = s.empty(kind)
	}
	return value
}

// fits tells whether a value is of a declared type; what a model does not have may not be there.
func (s *Server) fits(value any, declared string) error {
	if inner, isList := strings.CutPrefix(declared, "["); isList {
		list, right := value.([]any)
		if !right {
			return fmt.Errorf("%v is no list", value)
		}
		for _, element := range list {
			if err := s.fits(element, strings.TrimSuffix(inner, "]")); err != nil {
				return err
			}
		}
		return nil
	}
	right := false
	switch declared {
	case "void":
		right = value == nil
	case "string", "datetime":
		_, right = value.(string)
	case "boolean":
		_, right = value.(bool)
	case "int", "long":
		number, isNumber := value.(float64)
		right = isNumber && number == float64(int64(number))
	case "double":
		_, right = value.(float64)
	default:
		model, known := s.told.Models[declared]
		fields, isObject := value.(map[string]any)
		if !known || !isObject {
			return fmt.Errorf("%v is no %s", value, declared)
		}
		for field, inner := range fields {
			if _, there := model[field]; !there {
				return fmt.Errorf("%s has no field %s", declared, field)
			}
			if err := s.fits(inner, model[field]); err != nil {
				return fmt.Errorf("%s.%s: %w", declared, field, err)
			}
		}
		return nil
	}
	if !right {
		return fmt.Errorf("%v is no %s", value, declared)
	}
	return nil
}
