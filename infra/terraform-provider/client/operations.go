package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Operation is slow work of the server's.
type Operation struct {
	ID       string  `json:"id"`
	Title    string  `json:"title"`
	State    string  `json:"state"`
	Progress float64 `json:"progress"`
	Current  string  `json:"current"`
	Reason   *struct {
		Message string `json:"message"`
		Hint    string `json:"hint"`
	} `json:"reason"`
}

// Standing is an operation that does not go on by itself: somebody must do something, or it has failed.
type Standing struct{ Operation Operation }

func (s *Standing) Error() string {
	of := s.Operation
	text := fmt.Sprintf("%s (operation %s) is %s.", of.Title, of.ID, of.State)
	if of.Reason != nil {
		text += " " + of.Reason.Message
		if of.Reason.Hint != "" {
			text += "\n" + of.Reason.Hint
		}
	}
	return text
}

// Ended tells whether the operation will not go on, whoever does what.
func (s *Standing) Ended() bool {
	return s.Operation.State == "failed" || s.Operation.State == "cancelled"
}

// ErrInterrupted: the operation goes on, but nobody waits for it any more.
var ErrInterrupted = errors.New("interrupted")

// Wait follows an operation until it has succeeded. Errors: *Standing, ErrInterrupted when ctx ends, those of calls.
func (c *Client) Wait(ctx context.Context, id string, said func(Operation)) error {
	pause := 250 * time.Millisecond
	for {
		var now Operation
		if err := c.Get(ctx, Path("operations", id), &now); err != nil {
			if ctx.Err() != nil {
				return ErrInterrupted
			}
			return err
		}
		said(now)
		switch now.State {
		case "succeeded":
			return nil
		case "failed", "cancelled", "blocked", "paused":
			return &Standing{now}
		}
		select {
		case <-ctx.Done():
			return ErrInterrupted
		case <-time.After(pause):
		}
		pause = min(pause*2, 3*time.Second)
	}
}
