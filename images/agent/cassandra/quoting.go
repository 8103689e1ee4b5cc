package cassandra

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ringmaster/agent"
)

// longestRoleName is in characters. The engine has no limit; a row's key has one far above it.
const longestRoleName = 128

// checkRoleName refuses what cannot safely be the name of a role. Error code: invalid-parameters.
//
// Any printable name can be quoted in a statement, but the engine itself writes the name between plain quotation marks
// into its own statements when it keeps address groups, and takes slashes for separators when it reads resources back.
func checkRoleName(field, name string) error {
	switch {
	case name == "" || utf8.RuneCountInString(name) > longestRoleName:
		return agent.Errorf("invalid-parameters", "%s must have 1 to %d characters", field, longestRoleName)
	case !utf8.ValidString(name) || strings.TrimSpace(name) != name:
		return agent.Errorf("invalid-parameters", "%s must be plain text without spaces around it", field)
	}
	for _, letter := range name {
		if !unicode.IsPrint(letter) || letter == '\'' || letter == '/' {
			return agent.Errorf("invalid-parameters", "%s must not hold %q", field, letter)
		}
	}
	return nil
}

// quotedName is a name as CQL takes it whatever its case and letters.
func quotedName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quotedText is a text as CQL takes it.
func quotedText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
