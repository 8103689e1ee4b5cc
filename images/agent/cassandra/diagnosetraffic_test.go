package cassandra

import (
	"fmt"
	"testing"
)

func TestWhatWasCountedMeanwhileIsTheDifference(t *testing.T) {
	before := counts{"same": 5, "grew": 10, "began anew": 100, "ended": 7}
	names, grown := counts{"same": 5, "grew": 14, "began anew": 3, "new": 9}.difference(before)
	if told := fmt.Sprint(names, grown); told != "[new grew began anew] map[began anew:3 grew:4 new:9]" {
		t.Error(told)
	}
}

func TestAPartOfABeansNameIsFoundWhereverItStands(t *testing.T) {
	for bean, wanted := range map[string]string{
		"org.apache.cassandra.metrics:name=Latency,scope=Write-QUORUM,type=ClientRequest": "Write-QUORUM",
		"org.apache.cassandra.metrics:type=ClientRequest,name=Latency":                    "",
	} {
		if found := partOf(bean, "scope"); found != wanted {
			t.Errorf("%s: %q, not %q", bean, found, wanted)
		}
	}
}
