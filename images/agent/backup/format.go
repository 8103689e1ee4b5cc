package backup

import (
	"bytes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"regexp"
	"slices"
	"strings"
)

const (
	magic = "RMBUNDL1"
	// startBytes are not encrypted: the magic and the key id.
	startBytes = len(magic) + keyIDBytes
	chunkBytes = 1 << 20
	tagBytes   = 16
	// longestHeader is far above that of any SSTable, of which there are some ten files.
	longestHeader = 1 << 20
)

// header lists the files of a bundle, sorted by name.
type header struct {
	// Format is that of the SSTable, for example nb-big.
	Format     string      `json:"format"`
	Components []component `json:"components"`
}

// component is one file of an SSTable.
type component struct {
	// Name is without that of the SSTable: Data.db.
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

var (
	formatForm    = regexp.MustCompile(`^[a-z]{2}-[a-z]{2,10}$`)
	componentForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_+.]{0,199}$`)
)

// check refuses what no agent has written, whatever its hash says: names become names of files.
func (h header) check() error {
	if !formatForm.MatchString(h.Format) {
		return fmt.Errorf("format %q", h.Format)
	}
	if len(h.Components) == 0 || !slices.IsSortedFunc(h.Components, func(a, b component) int { return strings.Compare(a.Name, b.Name) }) {
		return errors.New("files are missing or not sorted")
	}
	for index, one := range h.Components {
		sum, err := hex.DecodeString(one.SHA256)
		switch {
		case !componentForm.MatchString(one.Name), one.Size < 0, err != nil, len(sum) != sha256.Size:
			return fmt.Errorf("file %q", one.Name)
		case index > 0 && h.Components[index-1].Name == one.Name:
			return fmt.Errorf("two files %q", one.Name)
		}
	}
	return nil
}

// bytes are those of the files.
func (h header) bytes() int64 {
	var total int64
	for _, one := range h.Components {
		total += one.Size
	}
	return total
}

// encoded is the header as it stands before the files.
func (h header) encoded() []byte {
	content, _ := json.Marshal(h)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), content...)
}

// storedBytes is how long the object is.
func (h header) storedBytes() int64 {
	plain := int64(len(h.encoded())) + h.bytes()
	chunks := (plain + chunkBytes - 1) / chunkBytes
	return int64(startBytes) + plain + tagBytes*chunks
}

func nonce(number uint64, last bool) []byte {
	var out [12]byte
	binary.BigEndian.PutUint64(out[3:11], number)
	if last {
		out[11] = 1
	}
	return out[:]
}

// errChanged: a file is not what it was when it was indexed.
var errChanged = errors.New("is not what was indexed")

// castagnoli is the checksum that processors have instructions for: it costs a tenth of a SHA-256.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealer gives the bytes of an object, chunk by chunk, and checks the files as it reads them. That they are what was hashed is
// checked with a checksum only: against a disk or a memory that errs, in the minutes between, and with every byte hashed again when
// the object is verified.
type sealer struct {
	header header
	checks []uint32
	// open opens a file by the name of its component.
	open    func(name string) (io.ReadCloser, error)
	cipher  cipher.AEAD
	start   []byte
	sum     hash.Hash
	number  uint64
	pending []byte
	// plain is what is read next: the header, then file after file.
	file      io.ReadCloser
	fileSum   uint32
	fileIndex int
	fileLeft  int64
	head      []byte
	left      int64
	chunk     []byte
	sealed    []byte
}

// seal makes the object of a bundle. Close it. Errors of Read: errChanged, and those of the files.
// Checks are the checksums of the files.
func seal(with keys, of header, checks []uint32, key string, open func(name string) (io.ReadCloser, error)) *sealer {
	head := of.encoded()
	start := append([]byte(magic), with.id[:]...)
	s := &sealer{
		header: of, checks: checks, open: open, cipher: with.cipherFor(key), start: start, sum: sha256.New(), head: head, left: int64(len(head)) + of.bytes(),
		fileIndex: -1, chunk: make([]byte, chunkBytes), sealed: make([]byte, 0, chunkBytes+tagBytes),
	}
	s.give(start)
	return s
}

func (s *sealer) give(content []byte) {
	s.sum.Write(content)
	s.pending = content
}

// digest is the SHA-256 of all that was read.
func (s *sealer) digest() string { return digest(s.sum) }

func (s *sealer) Read(into []byte) (int, error) {
	if len(s.pending) == 0 {
		if s.left == 0 {
			return 0, io.EOF
		}
		plain := s.chunk[:min(s.left, chunkBytes)]
		if err := s.fill(plain); err != nil {
			return 0, err
		}
		s.left -= int64(len(plain))
		s.sealed = s.cipher.Seal(s.sealed[:0], nonce(s.number, s.left == 0), plain, s.start)
		s.number++
		s.give(s.sealed)
	}
	count := copy(into, s.pending)
	s.pending = s.pending[count:]
	return count, nil
}

func (s *sealer) fill(plain []byte) error {
	count := copy(plain, s.head)
	s.head, plain = s.head[count:], plain[count:]
	for len(plain) > 0 {
		if s.fileLeft == 0 {
			if err := s.next(); err != nil {
				return err
			}
			continue
		}
		part := plain[:min(int64(len(plain)), s.fileLeft)]
		if _, err := io.ReadFull(s.file, part); err != nil {
			return s.changedIfShort(err)
		}
		s.fileSum = crc32.Update(s.fileSum, castagnoli, part)
		s.fileLeft -= int64(len(part))
		plain = plain[len(part):]
		if s.fileLeft == 0 {
			if err := s.endFile(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sealer) changedIfShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s %w: it is shorter", s.header.Components[s.fileIndex].Name, errChanged)
	}
	return err
}

// next begins the next file; empty ones are looked at too.
func (s *sealer) next() error {
	s.fileIndex++
	one := s.header.Components[s.fileIndex]
	file, err := s.open(one.Name)
	if err != nil {
		return err
	}
	s.file, s.fileSum, s.fileLeft = file, 0, one.Size
	if one.Size == 0 {
		return s.endFile()
	}
	return nil
}

func (s *sealer) endFile() error {
	one := s.header.Components[s.fileIndex]
	s.Close()
	if s.fileSum != s.checks[s.fileIndex] {
		return fmt.Errorf("%s %w", one.Name, errChanged)
	}
	return nil
}

// Close closes what is open; it may be called at any point.
func (s *sealer) Close() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

// errDamaged: the bytes are not those of a whole object of that name.
var errDamaged = errors.New("damaged")

// errWrongKey: the object seems to be of another backup key.
var errWrongKey = errors.New("encrypted with another key")

// unseal reads an object to its end and gives the files to create, one after the other, in the order of the header, which
// comes first. What was given counts only when unseal succeeds. Errors: errDamaged, errWrongKey, those of in and of create.
func unseal(with keys, key string, in io.Reader, begin func(header) error, create func(component) (io.WriteCloser, error)) (header, error) {
	start := make([]byte, startBytes)
	if _, err := io.ReadFull(in, start); err != nil {
		return header{}, damagedIfShort(err)
	}
	if string(start[:len(magic)]) != magic {
		return header{}, fmt.Errorf("%w: it does not begin as an object does", errDamaged)
	}
	if !bytes.Equal(start[len(magic):], with.id[:]) {
		return header{}, errWrongKey
	}
	plain := &opener{in: in, cipher: with.cipherFor(key), start: start, sealed: make([]byte, chunkBytes+tagBytes+1), buffer: make([]byte, 0, chunkBytes)}
	var length [4]byte
	if _, err := io.ReadFull(plain, length[:]); err != nil {
		return header{}, damagedIfShort(err)
	}
	size := binary.BigEndian.Uint32(length[:])
	if size > longestHeader {
		return header{}, fmt.Errorf("%w: its header is too long", errDamaged)
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(plain, content); err != nil {
		return header{}, damagedIfShort(err)
	}
	var told header
	if err := json.Unmarshal(content, &told); err != nil {
		return header{}, fmt.Errorf("%w: its header cannot be read", errDamaged)
	}
	if err := told.check(); err != nil {
		return header{}, fmt.Errorf("%w: its header: %w", errDamaged, err)
	}
	if with.bundleKey(told) != key {
		return header{}, fmt.Errorf("%w: it is not the object that its name says", errDamaged)
	}
	if err := begin(told); err != nil {
		return header{}, err
	}
	for _, one := range told.Components {
		if err := unsealFile(plain, one, create); err != nil {
			return header{}, err
		}
	}
	if count, err := plain.Read(make([]byte, 1)); count > 0 || !errors.Is(err, io.EOF) {
		if err == nil || count > 0 {
			err = fmt.Errorf("%w: it is longer than its header says", errDamaged)
		}
		return header{}, damagedIfShort(err)
	}
	return told, nil
}

func unsealFile(plain io.Reader, one component, create func(component) (io.WriteCloser, error)) error {
	file, err := create(one)
	if err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(sum, file), plain, one.Size); err != nil {
		_ = file.Close()
		return damagedIfShort(err)
	}
	if err := file.Close(); err != nil {
		return err
	}
	if digest(sum) != one.SHA256 {
		return fmt.Errorf("%w: %s is not what the header says", errDamaged, one.Name)
	}
	return nil
}

func damagedIfShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it is cut", errDamaged)
	}
	return err
}

// opener decrypts chunk by chunk. No byte of a chunk is given before all of it was found to be right.
type opener struct {
	in     io.Reader
	cipher cipher.AEAD
	start  []byte
	// sealed holds a chunk and the byte after it, which tells whether it is the last.
	sealed []byte
	held   int
	number uint64
	buffer []byte
	plain  []byte
	ended  bool
}

func (o *opener) Read(into []byte) (int, error) {
	for len(o.plain) == 0 {
		if o.ended {
			return 0, io.EOF
		}
		if err := o.advance(); err != nil {
			return 0, err
		}
	}
	count := copy(into, o.plain)
	o.plain = o.plain[count:]
	return count, nil
}

func (o *opener) advance() error {
	count, err := io.ReadFull(o.in, o.sealed[o.held:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	last := err != nil
	held := o.held + count
	chunk := o.sealed[:min(held, chunkBytes+tagBytes)]
	o.plain, err = o.cipher.Open(o.buffer[:0], nonce(o.number, last), chunk, o.start)
	if err != nil {
		return fmt.Errorf("%w: its bytes were changed", errDamaged)
	}
	o.number, o.ended, o.held = o.number+1, last, 0
	if !last {
		o.sealed[0], o.held = o.sealed[chunkBytes+tagBytes], 1
	}
	return nil
}
