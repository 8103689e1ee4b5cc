// Package statefile keeps small files that must survive crashes and power loss: whole or not at all, the owner's only.
package statefile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Write replaces the file with content. After a crash at any moment it holds the old content or the new.
func Write(path string, content []byte) error {
	folder := filepath.Dir(path)
	file, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	unfinished := file.Name()
	if err := finish(file, content, path); err != nil {
		_ = os.Remove(unfinished)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncFolder(folder)
}

// finish relies on CreateTemp's mode, 0600.
func finish(file *os.File, content []byte, path string) error {
	if _, err := file.Write(content); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Sync(); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// WriteJSON is Write of a value as JSON.
func WriteJSON(path string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return Write(path, content)
}

// ReadJSON fills value. A missing file is reported as fs.ErrNotExist.
func ReadJSON(path string, value any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, value); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

func syncFolder(folder string) error {
	handle, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer handle.Close()
	return handle.Sync()
}
