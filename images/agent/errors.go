package agent

import (
	"errors"
	"fmt"
)

// Error is a failure with a stable code, for programs, and a message, for people. The codes are listed in
// docs/agent-api.md.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf makes an Error.
func Errorf(code, format string, arguments ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, arguments...)}
}

// AsError is err as an Error; what has no code becomes "internal".
func AsError(err error) *Error {
	var coded *Error
	if errors.As(err, &coded) {
		return coded
	}
	return &Error{Code: "internal", Message: err.Error()}
}

// ErrorBody is the body of every answer that is not a success.
type ErrorBody struct {
	Error *Error `json:"error"`
}
