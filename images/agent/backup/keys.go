// Package backup reads and writes the objects that backups are made of: it finds the SSTables of a snapshot, names them by their
// content, stores, verifies and fetches them. It knows nothing of the engine but what its files look like.
//
// The format of objects is in docs/backup-format.md.
package backup

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"ringmaster/agent"
)

const keyIDBytes = 8

// keys are what is derived from an organisation's backup key.
type keys struct {
	content, objects []byte
	id               [keyIDBytes]byte
}

// deriveKeys reads a backup key. Error code: invalid-parameters.
func deriveKeys(encryption agent.Encryption) (keys, error) {
	secret, err := base64.StdEncoding.DecodeString(encryption.Key)
	if err != nil || len(secret) != 32 {
		return keys{}, agent.Errorf("invalid-parameters", "encryption.key must be 32 bytes in base64")
	}
	derived := keys{
		content: keyed(secret, "ringmaster/backup/content/1"),
		objects: keyed(secret, "ringmaster/backup/object/1"),
	}
	copy(derived.id[:], keyed(secret, "ringmaster/backup/key-id/1"))
	return derived, nil
}

func keyed(secret []byte, text string) []byte {
	sum := hmac.New(sha256.New, secret)
	sum.Write([]byte(text))
	return sum.Sum(nil)
}

// bundleKey names a bundle: the same for the same content under the same backup key.
func (k keys) bundleKey(of header) string {
	sum := hmac.New(sha256.New, k.content)
	fmt.Fprintf(sum, "%s\n", of.Format)
	for _, one := range of.Components {
		fmt.Fprintf(sum, "%s %d %s\n", one.Name, one.Size, one.SHA256)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// cipherFor encrypts one object.
func (k keys) cipherFor(key string) cipher.AEAD {
	// Neither can fail: the key has the right length.
	block, _ := aes.NewCipher(keyed(k.objects, key))
	sealing, _ := cipher.NewGCM(block)
	return sealing
}

// objectName is below the store's prefix.
func objectName(key string) string { return "objects/" + key[:2] + "/" + key }

// validKey tells whether key can name an object: it becomes part of a path.
func validKey(key string) bool {
	return len(key) == 2*sha256.Size && strings.Trim(key, "0123456789abcdef") == ""
}

func digest(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }
