package token

import "testing"

// The tokens were asked of the engine's own class.
func TestTokensAreTheEngines(t *testing.T) {
	for key, wanted := range map[string]int64{
		"": 0, "a": -8839064797231613815, "hello world": 5998619086395760910, "0123456789abcdef": 5467490433528156583,
		"The quick brown fox jumps over it": 1111144597589660361,
	} {
		if got := Of([]byte(key)); got != wanted {
			t.Errorf("%q: %d", key, got)
		}
	}
}
