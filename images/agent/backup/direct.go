package backup

import (
	"errors"
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// directBytes are written at once, past the page cache, which is the engine's to use; through it, writing took six times the CPU.
	directBytes = 2 << 20
	alignment   = 4096
)

// directFile writes a file past the page cache where the file system can do that, else as usual. While the disk takes one buffer
// the next is filled.
type directFile struct {
	file   *os.File
	direct bool
	buffer []byte
	held   int
	// other is what the disk is taking, or took last; writing gives how that ended, nil when nothing is under way.
	other   []byte
	writing chan error
}

// createDirect makes a file of a size that is known. Errors are those of the system, ENOSPC before anything is written.
func createDirect(path string, flags int, mode os.FileMode, size int64) (*directFile, error) {
	file, err := os.OpenFile(path, flags|syscall.O_DIRECT, mode)
	direct := err == nil
	if errors.Is(err, syscall.EINVAL) {
		file, err = os.OpenFile(path, flags&^os.O_EXCL, mode)
	}
	if err != nil {
		return nil, err
	}
	if size > 0 {
		if err := unix.Fallocate(int(file.Fd()), 0, 0, size); errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			_ = file.Close()
			return nil, err
		}
	}
	return &directFile{file: file, direct: direct, buffer: aligned(int(min(directBytes, max(size, alignment))))}, nil
}

// aligned is a buffer as the kernel wants it for such writes.
func aligned(size int) []byte {
	size = (size + alignment - 1) / alignment * alignment
	room := make([]byte, size+alignment)
	offset := int(-uintptr(unsafe.Pointer(unsafe.SliceData(room))) & (alignment - 1))
	return room[offset : offset+size]
}

func (d *directFile) Write(content []byte) (int, error) {
	written := 0
	for len(content) > 0 {
		count := copy(d.buffer[d.held:], content)
		d.held += count
		written += count
		content = content[count:]
		if d.held == len(d.buffer) {
			if err := d.flush(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// flush begins to write what is held; how that ended is told by the next flush, and by settle.
func (d *directFile) flush() error {
	if err := d.settle(); err != nil {
		return err
	}
	full := d.held / alignment * alignment
	if full == 0 {
		return nil
	}
	if d.other == nil {
		d.other = aligned(len(d.buffer))
	}
	content := d.buffer[:full]
	rest := copy(d.other, d.buffer[full:d.held])
	d.buffer, d.other, d.held = d.other, d.buffer, rest
	ended := make(chan error, 1)
	d.writing = ended
	go func() { ended <- d.writeFull(content) }()
	return nil
}

// settle waits for what is being written.
func (d *directFile) settle() error {
	if d.writing == nil {
		return nil
	}
	err := <-d.writing
	d.writing = nil
	return err
}

func (d *directFile) writeFull(content []byte) error {
	_, err := d.file.Write(content)
	if d.direct && errors.Is(err, syscall.EINVAL) {
		// It said yes at the opening and means no.
		if err := d.usual(); err != nil {
			return err
		}
		_, err = d.file.Write(content)
	}
	return err
}

// usual leaves the rest to the page cache.
func (d *directFile) usual() error {
	flags, err := unix.FcntlInt(d.file.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	d.direct = false
	_, err = unix.FcntlInt(d.file.Fd(), unix.F_SETFL, flags&^syscall.O_DIRECT)
	return err
}

// finish writes the end, which has any length, and makes the file last.
func (d *directFile) finish() error {
	if err := errors.Join(d.flush(), d.settle()); err != nil {
		return err
	}
	if d.held > 0 {
		if d.direct {
			if err := d.usual(); err != nil {
				return err
			}
		}
		if _, err := d.file.Write(d.buffer[:d.held]); err != nil {
			return err
		}
		d.held = 0
	}
	if err := d.file.Sync(); err != nil {
		return err
	}
	return d.file.Close()
}

// Close leaves the file as it is. It may be called after finish.
func (d *directFile) Close() error {
	_ = d.settle()
	if err := d.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

var _ io.WriteCloser = (*directFile)(nil)
