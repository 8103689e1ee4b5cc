package backup

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"ringmaster/agent"
)

const (
	// partBytes is what is sent at once; at least 5 MiB, but of the last part of an object.
	partBytes = 8 << 20
	// mostParts is what S3 allows of one object.
	mostParts = 10_000
	// buffers bound what all uploads of a node hold in memory: 64 MiB.
	buffers = 8
	tries   = 5
	// longestPause between two tries; what takes longer to heal is the control plane's to try again.
	longestPause = 3 * time.Second
)

// s3Store is Amazon S3 or a server that speaks its protocol.
type s3Store struct {
	client         *s3.Client
	bucket, prefix string
	// buffers are shared by all uploads of the node.
	buffers chan []byte
	// part is how long parts are, more where an object would have too many.
	part int64
}

func (s *Service) openS3(described agent.Store, client *http.Client) (store, error) {
	options := s3.Options{
		Region: described.Region, HTTPClient: client, UsePathStyle: described.PathStyle,
		Retryer: retry.AddWithMaxBackoffDelay(retry.AddWithMaxAttempts(retry.NewStandard(), tries), longestPause),
		// The length and Content-MD5 of every request are enough, and every server knows them.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	if options.Region == "" {
		options.Region = "us-east-1"
	}
	if described.Endpoint != "" {
		options.BaseEndpoint = aws.String(described.Endpoint)
	}
	if described.AccessKeyID != "" {
		options.Credentials = credentials.NewStaticCredentialsProvider(described.AccessKeyID, described.SecretAccessKey, described.SessionToken)
	} else {
		options.Credentials = aws.NewCredentialsCache(ec2rolecreds.New())
	}
	return s3Store{client: s3.New(options), bucket: described.Bucket, prefix: described.Prefix, buffers: s.buffers, part: partBytes}, nil
}

func (s s3Store) put(ctx context.Context, name string, size int64, content io.Reader) error {
	key := joinName(s.prefix, name)
	part := s.part
	if least := (size + mostParts - 1) / mostParts; least > part {
		part = least
	}
	if size <= part {
		return s.putWhole(ctx, key, size, content)
	}
	upload, there, err := s.goOn(ctx, key)
	if err != nil {
		return err
	}
	parts, err := s.putParts(ctx, key, upload, there, part, size, content)
	if err != nil {
		return err
	}
	_, err = s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &s.bucket, Key: &key, UploadId: &upload, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	return s.asError(ctx, err)
}

func (s s3Store) buffer(ctx context.Context, size int64) ([]byte, error) {
	select {
	case buffer := <-s.buffers:
		if int64(cap(buffer)) < size {
			buffer = make([]byte, size)
		}
		return buffer[:size], nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s s3Store) release(buffer []byte) {
	if cap(buffer) > partBytes {
		buffer = nil
	}
	s.buffers <- buffer
}

func (s s3Store) putWhole(ctx context.Context, key string, size int64, content io.Reader) error {
	buffer, err := s.buffer(ctx, size)
	if err != nil {
		return err
	}
	defer s.release(buffer)
	if err := readAll(content, buffer); err != nil {
		return err
	}
	_, err = s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(buffer), ContentLength: &size, ContentMD5: aws.String(checksum(buffer)),
	})
	return s.asError(ctx, err)
}

// readAll fills the buffer, after which there must be no more.
func readAll(content io.Reader, buffer []byte) error {
	if _, err := io.ReadFull(content, buffer); err != nil {
		return err
	}
	if count, err := content.Read(make([]byte, 1)); count > 0 || !errors.Is(err, io.EOF) {
		return refused("more bytes than said were to be stored")
	}
	return nil
}

func checksum(content []byte) string {
	sum := md5.Sum(content)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// goOn finds the upload that an earlier call began, with its parts, or begins one.
func (s s3Store) goOn(ctx context.Context, key string) (upload string, there map[int32]types.Part, err error) {
	there = map[int32]types.Part{}
	begun, err := s.client.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: &key})
	if err != nil {
		return "", nil, s.asError(ctx, err)
	}
	for _, one := range begun.Uploads {
		if aws.ToString(one.Key) == key {
			upload = aws.ToString(one.UploadId)
		}
	}
	if upload == "" {
		made, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &key})
		if err != nil {
			return "", nil, s.asError(ctx, err)
		}
		return aws.ToString(made.UploadId), there, nil
	}
	pages := s3.NewListPartsPaginator(s.client, &s3.ListPartsInput{Bucket: &s.bucket, Key: &key, UploadId: &upload})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", nil, s.asError(ctx, err)
		}
		for _, part := range page.Parts {
			there[aws.ToInt32(part.PartNumber)] = part
		}
	}
	return upload, there, nil
}

// putParts reads one part after the other and sends several at once.
func (s s3Store) putParts(
	ctx context.Context, key, upload string, there map[int32]types.Part, part, size int64, content io.Reader,
) ([]types.CompletedPart, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := make([]types.CompletedPart, (size+part-1)/part)
	var sending sync.WaitGroup
	for index := range parts {
		number := int32(index + 1)
		length := min(part, size-int64(index)*part)
		buffer, err := s.buffer(ctx, length)
		if err != nil {
			break
		}
		if _, err := io.ReadFull(content, buffer); err != nil {
			s.release(buffer)
			cancel(err)
			break
		}
		if known, found := there[number]; found && samePart(known, buffer) {
			parts[index] = types.CompletedPart{PartNumber: &number, ETag: known.ETag}
			s.release(buffer)
			continue
		}
		sending.Go(func() {
			defer s.release(buffer)
			sent, err := s.client.UploadPart(ctx, &s3.UploadPartInput{
				Bucket: &s.bucket, Key: &key, UploadId: &upload, PartNumber: &number, Body: bytes.NewReader(buffer), ContentLength: &length,
				ContentMD5: aws.String(checksum(buffer)),
			})
			if err != nil {
				cancel(s.asError(ctx, err))
				return
			}
			parts[index] = types.CompletedPart{PartNumber: &number, ETag: sent.ETag}
		})
	}
	sending.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// The end of what is read is looked for: only then is its checksum right.
	return parts, readAll(content, nil)
}

// samePart compares checksums, where the store's tag is one, else lengths.
func samePart(there types.Part, content []byte) bool {
	if aws.ToInt64(there.Size) != int64(len(content)) {
		return false
	}
	tag := strings.Trim(aws.ToString(there.ETag), `"`)
	sum := md5.Sum(content)
	return len(tag) != hex.EncodedLen(md5.Size) || tag == hex.EncodeToString(sum[:])
}

func (s s3Store) size(ctx context.Context, name string) (int64, error) {
	key := joinName(s.prefix, name)
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return 0, s.asError(ctx, err)
	}
	return aws.ToInt64(head.ContentLength), nil
}

func (s s3Store) open(ctx context.Context, name string, from int64) (io.ReadCloser, error) {
	key := joinName(s.prefix, name)
	request := s3.GetObjectInput{Bucket: &s.bucket, Key: &key}
	if from > 0 {
		request.Range = aws.String(fmt.Sprintf("bytes=%d-", from))
	}
	got, err := s.client.GetObject(ctx, &request)
	if err != nil {
		return nil, s.asError(ctx, err)
	}
	return got.Body, nil
}

func (s s3Store) asError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var said smithy.APIError
	var answered *smithyhttp.ResponseError
	code, message := "", err.Error()
	if errors.As(err, &said) {
		code, message = said.ErrorCode(), said.ErrorMessage()
	}
	// Where nobody answered there is an answer too, without a status.
	if !errors.As(err, &answered) || answered.HTTPStatusCode() == 0 {
		return unreachable("%v", err)
	}
	status := answered.HTTPStatusCode()
	switch {
	case code == "NoSuchBucket":
		return refused("there is no bucket %s", s.bucket)
	case status == http.StatusNotFound:
		return errMissing
	case status == http.StatusRequestedRangeNotSatisfiable:
		// It is shorter than what was read of it already.
		return errMissing
	}
	return statusError(status, code, message)
}
