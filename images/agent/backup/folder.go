package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ringmaster/agent"
)

// folder is a store of files: an object has its name only when all of it is on the disk.
type folder struct {
	root string
	// unfinished marks files that this node is writing; a name that no object has.
	unfinished string
}

func openFolder(described agent.Store, nodeID string) (store, error) {
	info, err := os.Stat(described.Folder)
	if err != nil || !info.IsDir() {
		return nil, unreachable("there is no folder %s on this node", described.Folder)
	}
	return folder{root: filepath.Join(described.Folder, described.Prefix), unfinished: "." + nodeID + ".part"}, nil
}

func (f folder) put(ctx context.Context, name string, size int64, content io.Reader) error {
	path := filepath.Join(f.root, name)
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o750); err != nil {
		return fileError(err)
	}
	// The same name after a crash: nothing is left lying about.
	unfinished := filepath.Join(parent, "."+filepath.Base(path)+f.unfinished)
	file, err := createDirect(unfinished, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o640, size)
	if err != nil {
		_ = os.Remove(unfinished)
		return fileError(err)
	}
	if err := writeFile(ctx, file, size, content); err != nil {
		_ = os.Remove(unfinished)
		return err
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fileError(err)
	}
	return fileError(syncFolder(parent))
}

func writeFile(ctx context.Context, file *directFile, size int64, content io.Reader) error {
	defer file.Close()
	written, err := copyUntil(ctx, onDisk{file}, content)
	if err != nil {
		return err
	}
	if written != size {
		return refused("%d bytes instead of %d were to be stored", written, size)
	}
	return fileError(file.finish())
}

// onDisk gives failures to write the codes of a store, so that they differ from failures to read.
type onDisk struct{ file io.Writer }

func (o onDisk) Write(content []byte) (int, error) {
	count, err := o.file.Write(content)
	return count, fileError(err)
}

// copyUntil copies until ctx ends.
func copyUntil(ctx context.Context, to io.Writer, from io.Reader) (written int64, err error) {
	buffer := make([]byte, 1<<18)
	for {
		if ctx.Err() != nil {
			return written, ctx.Err()
		}
		count, err := from.Read(buffer)
		if count > 0 {
			if _, err := to.Write(buffer[:count]); err != nil {
				return written, err
			}
			written += int64(count)
		}
		if errors.Is(err, io.EOF) {
			return written, nil
		}
		if err != nil {
			return written, err
		}
	}
}

func (f folder) size(_ context.Context, name string) (int64, error) {
	info, err := os.Stat(filepath.Join(f.root, name))
	if err != nil {
		return 0, fileError(err)
	}
	if !info.Mode().IsRegular() {
		return 0, errMissing
	}
	return info.Size(), nil
}

func (f folder) open(_ context.Context, name string, from int64) (io.ReadCloser, error) {
	file, err := os.Open(filepath.Join(f.root, name))
	if err != nil {
		return nil, fileError(err)
	}
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		_ = file.Close()
		return nil, fileError(err)
	}
	return file, nil
}

func fileError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return errMissing
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return full("%v", err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return refused("%v", err)
	}
	return unreachable("%v", err)
}

// syncFolder makes names in a folder last.
func syncFolder(path string) error {
	handle, err := os.Open(path)
	if err != nil {
		return err
	}
	defer handle.Close()
	return handle.Sync()
}
