package backup

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"ringmaster/agent"
	"ringmaster/agent/statefile"
)

const (
	googleStorage  = "https://storage.googleapis.com"
	googleMetadata = "http://169.254.169.254"
	googleScope    = "https://www.googleapis.com/auth/devstorage.read_write"
)

// gcsStore is Google Cloud Storage over its JSON API: https://cloud.google.com/storage/docs/json_api.
type gcsStore struct {
	client         *http.Client
	endpoint       string
	bucket, prefix string
	buffers        chan []byte
	// sessions is a folder in which begun uploads are remembered: an upload is gone on with at its own address only.
	sessions string
	// pace between tries.
	pace time.Duration
}

func (s *Service) openGCS(described agent.Store, client *http.Client) (store, error) {
	endpoint := described.Endpoint
	if endpoint == "" {
		endpoint = googleStorage
	}
	tokens, err := googleTokens(described.ServiceAccount, client)
	if err != nil {
		return nil, err
	}
	signed := &http.Client{
		Transport: &oauth2.Transport{Base: client.Transport, Source: tokens},
		// 308 does not lead elsewhere here.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return gcsStore{
		client: signed, endpoint: strings.TrimSuffix(endpoint, "/"), bucket: described.Bucket, prefix: described.Prefix, buffers: s.buffers,
		sessions: s.folder("sessions"), pace: 500 * time.Millisecond,
	}, nil
}

// googleTokens are those of the service account given, or of the machine's own.
func googleTokens(account string, client *http.Client) (oauth2.TokenSource, error) {
	if account == "" {
		return oauth2.ReuseTokenSource(nil, machineTokens{client: client, at: googleMetadata}), nil
	}
	var key struct {
		Email    string `json:"client_email"`
		Key      string `json:"private_key"`
		KeyID    string `json:"private_key_id"`
		TokenURI string `json:"token_uri"`
	}
	if err := json.Unmarshal([]byte(account), &key); err != nil || key.Email == "" || key.Key == "" || key.TokenURI == "" {
		return nil, agent.Errorf("invalid-parameters", "store.service_account must be the JSON document of a service account's key")
	}
	config := jwt.Config{Email: key.Email, PrivateKey: []byte(key.Key), PrivateKeyID: key.KeyID, Scopes: []string{googleScope}, TokenURL: key.TokenURI}
	return config.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, client)), nil
}

// machineTokens asks the machine's metadata service.
type machineTokens struct {
	client *http.Client
	at     string
}

func (m machineTokens) Token() (*oauth2.Token, error) {
	request, err := http.NewRequest(http.MethodGet, m.at+"/computeMetadata/v1/instance/service-accounts/default/token", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Metadata-Flavor", "Google")
	answer, err := m.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var told struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&told); err != nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the machine has no service account: %s", answer.Status)
	}
	return &oauth2.Token{
		AccessToken: told.AccessToken, TokenType: told.TokenType, Expiry: time.Now().Add(time.Duration(told.ExpiresIn) * time.Second),
	}, nil
}

func (g gcsStore) put(ctx context.Context, name string, size int64, content io.Reader) error {
	object := joinName(g.prefix, name)
	session, sent, err := g.goOn(ctx, object, size)
	if err != nil {
		return err
	}
	sum := md5.New()
	content = io.TeeReader(content, sum)
	if _, err := io.CopyN(io.Discard, content, sent); err != nil {
		return err
	}
	var stored gcsObject
	for sent < size {
		if sent, err = g.putNext(ctx, session, sent, size, content, &stored); err != nil {
			return err
		}
	}
	if err := readAll(content, nil); err != nil {
		return err
	}
	if stored.MD5 != "" && stored.MD5 != base64.StdEncoding.EncodeToString(sum.Sum(nil)) {
		return unreachable("%s arrived as something else", object)
	}
	return os.RemoveAll(g.sessionPath(object))
}

// gcsObject is what the store tells of an object.
type gcsObject struct {
	Size string `json:"size"`
	MD5  string `json:"md5Hash"`
}

// putNext sends the next part; a part that arrived in half is sent again from there.
func (g gcsStore) putNext(ctx context.Context, session string, sent, size int64, content io.Reader, stored *gcsObject) (int64, error) {
	var buffer []byte
	select {
	case buffer = <-g.buffers:
	case <-ctx.Done():
		return sent, ctx.Err()
	}
	if cap(buffer) < partBytes {
		buffer = make([]byte, partBytes)
	}
	defer func() { g.buffers <- buffer }()
	part := buffer[:min(partBytes, size-sent)]
	if _, err := io.ReadFull(content, part); err != nil {
		return sent, err
	}
	start := sent
	for sent < start+int64(len(part)) {
		rest := part[sent-start:]
		answer, body, err := g.ask(ctx, http.MethodPut, session, map[string]string{
			"Content-Range": fmt.Sprintf("bytes %d-%d/%d", sent, sent+int64(len(rest))-1, size),
		}, rest)
		if err != nil {
			return sent, err
		}
		if answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusCreated {
			return size, json.Unmarshal(body, stored)
		}
		arrived := received(answer)
		if arrived <= sent || arrived > start+int64(len(part)) {
			return sent, unreachable("it took %d bytes of %d", arrived, sent+int64(len(rest)))
		}
		sent = arrived
	}
	return sent, nil
}

// received is how many bytes the store has of an upload.
func received(answer *http.Response) int64 {
	_, last, found := strings.Cut(answer.Header.Get("Range"), "-")
	if !found {
		return 0
	}
	end, err := strconv.ParseInt(last, 10, 64)
	if err != nil {
		return 0
	}
	return end + 1
}

// gcsSession is an upload that was begun.
type gcsSession struct {
	Object string `json:"object"`
	Bytes  int64  `json:"bytes"`
	URL    string `json:"url"`
}

func (g gcsStore) sessionPath(object string) string {
	return filepath.Join(g.sessions, filepath.Base(object)+".json")
}

// goOn finds the upload that an earlier call began, and how much of it arrived, or begins one.
func (g gcsStore) goOn(ctx context.Context, object string, size int64) (session string, sent int64, err error) {
	var begun gcsSession
	where := g.endpoint + "/upload/storage/v1/b/" + url.PathEscape(g.bucket) + "/o?uploadType=resumable&name=" + url.QueryEscape(object)
	if statefile.ReadJSON(g.sessionPath(object), &begun) == nil && begun.Object == g.bucket+"/"+object && begun.Bytes == size {
		answer, _, err := g.ask(ctx, http.MethodPut, begun.URL, map[string]string{"Content-Range": fmt.Sprintf("bytes */%d", size)}, nil)
		if err == nil && answer.StatusCode == http.StatusPermanentRedirect {
			return begun.URL, received(answer), nil
		}
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
	}
	answer, _, err := g.ask(ctx, http.MethodPost, where, map[string]string{
		"Content-Type": "application/json", "X-Upload-Content-Type": "application/octet-stream", "X-Upload-Content-Length": strconv.FormatInt(size, 10),
	}, []byte("{}"))
	if err != nil {
		return "", 0, missingBucket(err, g.bucket)
	}
	session = answer.Header.Get("Location")
	if session == "" {
		return "", 0, unreachable("it gave no address for an upload")
	}
	return session, 0, statefile.WriteJSON(g.sessionPath(object), gcsSession{Object: g.bucket + "/" + object, Bytes: size, URL: session})
}

func missingBucket(err error, bucket string) error {
	if errors.Is(err, errMissing) {
		return refused("there is no bucket %s", bucket)
	}
	return err
}

func (g gcsStore) objectURL(name string) string {
	return g.endpoint + "/storage/v1/b/" + url.PathEscape(g.bucket) + "/o/" + url.PathEscape(joinName(g.prefix, name))
}

func (g gcsStore) size(ctx context.Context, name string) (int64, error) {
	_, body, err := g.ask(ctx, http.MethodGet, g.objectURL(name), nil, nil)
	if err != nil {
		return 0, err
	}
	var told gcsObject
	if err := json.Unmarshal(body, &told); err != nil {
		return 0, unreachable("it cannot be understood: %v", err)
	}
	return strconv.ParseInt(told.Size, 10, 64)
}

func (g gcsStore) open(ctx context.Context, name string, from int64) (io.ReadCloser, error) {
	headers := map[string]string{}
	if from > 0 {
		headers["Range"] = fmt.Sprintf("bytes=%d-", from)
	}
	answer, err := g.send(ctx, http.MethodGet, g.objectURL(name)+"?alt=media", headers, nil)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// ask is send with the body read.
func (g gcsStore) ask(ctx context.Context, method, where string, headers map[string]string, body []byte) (*http.Response, []byte, error) {
	answer, err := g.send(ctx, method, where, headers, body)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return nil, nil, lineError(ctx, err)
	}
	return answer, content, nil
}

// send tries again what may go away by itself. All of it can be repeated.
func (g gcsStore) send(ctx context.Context, method, where string, headers map[string]string, body []byte) (*http.Response, error) {
	for try := 1; ; try++ {
		answer, err := g.sendOnce(ctx, method, where, headers, body)
		var coded *agent.Error
		if err == nil || ctx.Err() != nil || try == tries || !errors.As(err, &coded) || coded.Code != "store-unreachable" {
			return answer, err
		}
		if err := pause(ctx, time.Duration(try)*g.pace); err != nil {
			return nil, err
		}
	}
}

func (g gcsStore) sendOnce(ctx context.Context, method, where string, headers map[string]string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, where, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer, err := g.client.Do(request)
	var token *oauth2.RetrieveError
	if errors.As(err, &token) && token.Response != nil {
		return nil, statusError(token.Response.StatusCode, "token", string(token.Body))
	}
	if err != nil {
		return nil, lineError(ctx, err)
	}
	// 308 says that an upload is not at its end.
	if answer.StatusCode < 300 || answer.StatusCode == http.StatusPermanentRedirect {
		return answer, nil
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<12))
	switch answer.StatusCode {
	case http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable:
		return nil, errMissing
	}
	return nil, statusError(answer.StatusCode, "", string(said))
}
