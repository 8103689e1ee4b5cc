package backup

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"ringmaster/agent"
)

// bucket is a server over HTTP that keeps objects, as far as the two kinds of stores need one. It can be told to fail.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	// parts of uploads that were begun, by upload and number; of GCS one part that grows.
	parts map[string]map[int][]byte
	names map[string]string
	sizes map[string]int64
	asked []string
	// fail says how to answer a request instead: a status, or -1 to break the line; 0 not at all.
	fail func(request *http.Request) int
}

func newBucket(t *testing.T) (*bucket, string) {
	t.Helper()
	b := &bucket{
		objects: map[string][]byte{}, parts: map[string]map[int][]byte{}, names: map[string]string{}, sizes: map[string]int64{},
		fail: func(*http.Request) int { return 0 },
	}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return b, server.URL
}

func (b *bucket) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, request.Method+" "+request.URL.RequestURI())
	switch status := b.fail(request); {
	case status < 0:
		panic(http.ErrAbortHandler)
	case status > 0:
		response.WriteHeader(status)
		return
	}
	if sum := request.Header.Get("Content-MD5"); sum != "" {
		if real := md5.Sum(body); sum != base64.StdEncoding.EncodeToString(real[:]) {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	if strings.Contains(request.URL.Path, "/storage/v1/b/") || request.URL.Path == "/session" {
		b.google(response, request, body)
		return
	}
	b.amazon(response, request, body)
}

func tag(content []byte) string {
	sum := md5.Sum(content)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func (b *bucket) amazon(response http.ResponseWriter, request *http.Request, body []byte) {
	name, query := strings.TrimPrefix(strings.TrimPrefix(request.URL.Path, "/backups"), "/"), request.URL.Query()
	upload := query.Get("uploadId")
	answer := func(value any) { _ = xml.NewEncoder(response).Encode(value) }
	type part struct {
		PartNumber int
		Size       int
		ETag       string
	}
	switch {
	case request.Method == http.MethodGet && query.Has("uploads"):
		type begun struct{ Key, UploadId string }
		listed := struct {
			XMLName xml.Name `xml:"ListMultipartUploadsResult"`
			Upload  []begun
		}{}
		for id, key := range b.names {
			if strings.HasPrefix(key, query.Get("prefix")) {
				listed.Upload = append(listed.Upload, begun{key, id})
			}
		}
		answer(listed)
	case request.Method == http.MethodPost && query.Has("uploads"):
		id := fmt.Sprintf("upload-%d", len(b.names))
		b.names[id], b.parts[id] = name, map[int][]byte{}
		answer(struct {
			XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
			UploadId string
		}{UploadId: id})
	case request.Method == http.MethodGet && upload != "":
		listed := struct {
			XMLName xml.Name `xml:"ListPartsResult"`
			Part    []part
		}{}
		for number, content := range b.parts[upload] {
			listed.Part = append(listed.Part, part{number, len(content), tag(content)})
		}
		answer(listed)
	case request.Method == http.MethodPut && upload != "":
		number, _ := strconv.Atoi(query.Get("partNumber"))
		b.parts[upload][number] = body
		response.Header().Set("ETag", tag(body))
	case request.Method == http.MethodPost && upload != "":
		var whole []byte
		for _, number := range slices.Sorted(maps.Keys(b.parts[upload])) {
			whole = append(whole, b.parts[upload][number]...)
		}
		b.objects[name] = whole
		delete(b.parts, upload)
		delete(b.names, upload)
		answer(struct {
			XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
		}{})
	case request.Method == http.MethodPut:
		b.objects[name] = body
		response.Header().Set("ETag", tag(body))
	default:
		b.read(response, request, name)
	}
}

// read answers with an object, or with what follows a place in it.
func (b *bucket) read(response http.ResponseWriter, request *http.Request, name string) {
	content, found := b.objects[name]
	if !found {
		response.WriteHeader(http.StatusNotFound)
		return
	}
	http.ServeContent(response, request, "", time.Time{}, bytes.NewReader(content))
}

func (b *bucket) google(response http.ResponseWriter, request *http.Request, body []byte) {
	query := request.URL.Query()
	tell := func(name string) {
		sum := md5.Sum(b.objects[name])
		_ = json.NewEncoder(response).Encode(gcsObject{
			Size: strconv.Itoa(len(b.objects[name])), MD5: base64.StdEncoding.EncodeToString(sum[:]),
		})
	}
	if request.Method == http.MethodPost {
		id := fmt.Sprintf("session-%d", len(b.names))
		size, _ := strconv.ParseInt(request.Header.Get("X-Upload-Content-Length"), 10, 64)
		b.names[id], b.parts[id], b.sizes[id] = query.Get("name"), map[int][]byte{0: nil}, size
		response.Header().Set("Location", "http://"+request.Host+"/session?id="+id)
		return
	}
	if request.URL.Path == "/session" {
		id := query.Get("id")
		var from, to, size int64
		if count, _ := fmt.Sscanf(request.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &size); count == 3 {
			if from != int64(len(b.parts[id][0])) || size != b.sizes[id] || int64(len(body)) != to-from+1 {
				response.WriteHeader(http.StatusBadRequest)
				return
			}
			b.parts[id][0] = append(b.parts[id][0], body...)
		}
		if held := int64(len(b.parts[id][0])); held < b.sizes[id] {
			if held > 0 {
				response.Header().Set("Range", fmt.Sprintf("bytes=0-%d", held-1))
			}
			response.WriteHeader(http.StatusPermanentRedirect)
			return
		}
		b.objects[b.names[id]] = b.parts[id][0]
		tell(b.names[id])
		return
	}
	name := strings.TrimPrefix(request.URL.Path, "/storage/v1/b/backups/o/")
	if _, found := b.objects[name]; found && query.Get("alt") != "media" {
		tell(name)
		return
	}
	b.read(response, request, name)
}

// eachBucket runs a test against both kinds of stores over HTTP. RINGMASTER_TEST_S3 is the URL of another server that speaks S3, with
// an empty bucket "backups", to try instead of the one in this process.
func eachBucket(t *testing.T, do func(t *testing.T, m *machine, to store, server *bucket)) {
	for _, kind := range []agent.StoreKind{agent.S3Store, agent.GCSStore} {
		t.Run(string(kind), func(t *testing.T) {
			m := newMachine(t)
			server, url := newBucket(t)
			m.store = agent.Store{
				Kind: kind, Bucket: "backups", Prefix: "org/one", Endpoint: url, PathStyle: true, AccessKeyID: "id", SecretAccessKey: "secret",
			}
			if kind == agent.S3Store && os.Getenv("RINGMASTER_TEST_S3") != "" {
				m.store.Endpoint, m.store.Prefix = os.Getenv("RINGMASTER_TEST_S3"), t.Name()
			}
			do(t, m, m.opened(), server)
		})
	}
}

// opened is the store; one of Google with a token that does not need Google.
func (m *machine) opened() store {
	m.t.Helper()
	if m.store.Kind == agent.GCSStore {
		client := &http.Client{
			Transport:     &oauth2.Transport{Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "token"})},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		return gcsStore{
			client: client, endpoint: m.store.Endpoint, bucket: m.store.Bucket, prefix: m.store.Prefix, buffers: m.service.buffers,
			sessions: m.service.folder("sessions"), pace: time.Millisecond,
		}
	}
	to, err := m.service.openStore(m.store)
	if err != nil {
		m.t.Fatal(err)
	}
	return to
}

func TestObjectsOfEverySizeComeBackFromBuckets(t *testing.T) {
	eachBucket(t, func(t *testing.T, _ *machine, to store, _ *bucket) {
		for _, size := range []int{1, 1000, partBytes - 1, partBytes, partBytes + 1, 3*partBytes + 12345} {
			content, name := randomBytes(size), fmt.Sprintf("objects/ab/%064d", size)
			if _, err := to.size(t.Context(), name); !errors.Is(err, errMissing) {
				t.Errorf("%d: %v", size, err)
			}
			if err := to.put(t.Context(), name, int64(size), &oddly{bytes.NewReader(content)}); err != nil {
				t.Fatalf("%d: %v", size, err)
			}
			if got, err := to.size(t.Context(), name); err != nil || got != int64(size) {
				t.Errorf("%d: %d %v", size, got, err)
			}
			for _, from := range []int{0, size / 2} {
				line, err := to.open(t.Context(), name, int64(from))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(line)
				_ = line.Close()
				if err != nil || !bytes.Equal(got, content[from:]) {
					t.Errorf("%d from %d: %d bytes, %v", size, from, len(got), err)
				}
			}
		}
		if _, err := to.open(t.Context(), "objects/ab/none", 0); !errors.Is(err, errMissing) {
			t.Error(err)
		}
	})
}

// TestAnUploadGoesOnWithItsNextPart breaks off in the middle, as a kill does, and looks at what is sent afterwards.
func TestAnUploadGoesOnWithItsNextPart(t *testing.T) {
	eachBucket(t, func(t *testing.T, m *machine, to store, server *bucket) {
		content, name := randomBytes(4*partBytes+99), "objects/cd/"+strings.Repeat("c", 64)
		ctx, cancel := context.WithCancel(t.Context())
		reads := 0
		err := to.put(ctx, name, int64(len(content)), readerFunc(func(into []byte) (int, error) {
			if reads >= 2*partBytes+partBytes/2 {
				// The parts before are there by now.
				time.Sleep(300 * time.Millisecond)
				cancel()
				return 0, ctx.Err()
			}
			count := copy(into, content[reads:])
			reads += count
			return count, nil
		}))
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := to.size(t.Context(), name); !errors.Is(err, errMissing) {
			t.Fatalf("half of it is an object: %v", err)
		}
		server.mu.Lock()
		server.asked = nil
		server.mu.Unlock()
		m.restart()
		if err := m.opened().put(t.Context(), name, int64(len(content)), bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		line, err := to.open(t.Context(), name, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer line.Close()
		if got, err := io.ReadAll(line); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		if os.Getenv("RINGMASTER_TEST_S3") != "" && m.store.Kind == agent.S3Store {
			return
		}
		sent := 0
		for _, asked := range server.asked {
			if strings.HasPrefix(asked, "PUT") {
				sent++
			}
		}
		// Google is asked once more how far it is.
		if most := map[agent.StoreKind]int{agent.S3Store: 3, agent.GCSStore: 4}[m.store.Kind]; sent > most {
			t.Errorf("%d parts were sent again: %v", sent, server.asked)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (r readerFunc) Read(into []byte) (int, error) { return r(into) }

func TestABucketThatFailsIsSaidInItsWay(t *testing.T) {
	eachBucket(t, func(t *testing.T, _ *machine, to store, server *bucket) {
		if os.Getenv("RINGMASTER_TEST_S3") != "" {
			return
		}
		for status, wanted := range map[int]string{http.StatusForbidden: "store-refused", http.StatusUnauthorized: "store-refused", http.StatusInsufficientStorage: "store-full"} {
			server.fail = func(*http.Request) int { return status }
			err := to.put(t.Context(), "objects/ef/x", 5, strings.NewReader("hello"))
			if codeOf(err) != wanted {
				t.Errorf("%d: %v", status, err)
			}
		}
		// What goes away by itself is tried again.
		broken := 2
		server.fail = func(*http.Request) int {
			if broken--; broken >= 0 {
				return []int{-1, http.StatusServiceUnavailable}[broken]
			}
			return 0
		}
		if err := to.put(t.Context(), "objects/ef/x", 5, strings.NewReader("hello")); err != nil {
			t.Error(err)
		}
		server.fail = func(*http.Request) int { return -1 }
		if _, err := to.size(t.Context(), "objects/ef/x"); codeOf(err) != "store-unreachable" {
			t.Error(err)
		}
	})
}

// TestAnObjectIsReadToItsEndOverABadLine cuts every answer after some bytes.
func TestAnObjectIsReadToItsEndOverABadLine(t *testing.T) {
	content := randomBytes(300_000)
	cutting := cutStore{content: content}
	line := &steady{ctx: t.Context(), from: cutting, name: "x"}
	defer line.Close()
	if got, err := io.ReadAll(line); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

type cutStore struct {
	store
	content []byte
}

func (c cutStore) open(_ context.Context, _ string, from int64) (io.ReadCloser, error) {
	rest := c.content[from:]
	if len(rest) <= 70_000 {
		return io.NopCloser(bytes.NewReader(rest)), nil
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(rest[:70_000]), readerFunc(func([]byte) (int, error) {
		return 0, errors.New("the line broke")
	}))), nil
}

func TestATableGoesThroughABucket(t *testing.T) {
	m := newMachine(t)
	server, url := newBucket(t)
	m.store = agent.Store{Kind: agent.S3Store, Bucket: "backups", Prefix: "org/one", Endpoint: url, PathStyle: true, AccessKeyID: "id", SecretAccessKey: "secret"}
	m.flush("first", "orders", uuidName(1), randomBytes(2*partBytes))
	m.flush("first", "orders", uuidName(2), randomBytes(3000))
	m.index("first")
	stored := m.upload("first")
	if bad := m.verify(stored, agent.VerifyContent); len(bad) > 0 || len(stored) != 2 {
		t.Errorf("%+v", bad)
	}
	if _, err := m.service.Fetch(t.Context(), m.fetching("back", stored), silent); err != nil {
		t.Error(err)
	}
	server.mu.Lock()
	server.objects["org/one/"+objectName(stored[0].Key)][100] ^= 1
	delete(server.objects, "org/one/"+objectName(stored[1].Key))
	server.mu.Unlock()
	bad := m.verify(stored, agent.VerifyContent)
	if len(bad) != 2 {
		t.Errorf("%+v", bad)
	}
	if _, err := m.service.Fetch(t.Context(), m.fetching("elsewhere", stored), silent); codeOf(err) != "object-damaged" {
		t.Error(err)
	}
}
