package cassandra

import (
	"context"
	"errors"
	"maps"
	"slices"

	"ringmaster/agent"
	"ringmaster/agent/jolokia"
)

// Beans that have to do with access and with settings.
const (
	addressGroupsBean = "org.apache.cassandra.db:type=CIDRGroupsMappingManager"
	messagingService  = "org.apache.cassandra.net:type=MessagingService"
	guardrails        = "org.apache.cassandra.db:type=Guardrails"
	commitLog         = "org.apache.cassandra.db:type=Commitlog"
)

// roleCaches are what an engine keeps of roles, each a bean.
var roleCaches = []string{"RolesCache", "PermissionsCache", "CredentialsCache", "CidrPermissionsCache"}

func roleCacheBean(cache string) string { return "org.apache.cassandra.auth:type=" + cache }

// accessBeans are what may be asked of the beans for roles, addresses, TLS and settings.
func accessBeans() []managed {
	all := []managed{
		{Name: addressGroupsBean, Operations: []string{"loadCidrGroupsCache", "getCidrGroupsOfIP", "getCidrsOfCidrGroupAsStrings", "updateCidrGroup"}},
		{Name: messagingService, Operations: []string{"reloadSslCertificates"}},
	}
	for _, cache := range roleCaches {
		all = append(all, managed{Name: roleCacheBean(cache), Operations: []string{"invalidate"}})
	}
	for _, name := range slices.Sorted(maps.Keys(liveSettings)) {
		live := liveSettings[name]
		one := managed{Name: live.bean, Attributes: []attribute{{Name: live.attribute}}}
		if live.read != "" {
			one.Attributes = append(one.Attributes, readable(live.read)...)
		}
		all = append(all, one)
	}
	return all
}

// joined makes one entry of all those about the same bean.
func joined(all []managed) []managed {
	var together []managed
	for _, one := range all {
		index := slices.IndexFunc(together, func(other managed) bool { return other.Name == one.Name })
		if index < 0 {
			together = append(together, one)
			continue
		}
		known := &together[index]
		known.Attributes = append(slices.Clone(known.Attributes), one.Attributes...)
		known.Operations = append(slices.Clone(known.Operations), one.Operations...)
	}
	return together
}

// exec runs an operation of a bean; what it returns is put into the variable that into points to, nil drops it.
func (e *Engine) exec(ctx context.Context, into any, bean, operation string, arguments ...any) error {
	return reached(e.management.Do(ctx, jolokia.Exec(bean, operation, arguments...), into))
}

// reached gives the failure to reach the engine's management the code management-unreachable; a refusal stays one.
func reached(err error) error {
	var coded *agent.Error
	if err == nil || jolokia.Refusal(err) != nil || errors.As(err, &coded) || errors.Is(err, context.Canceled) {
		return err
	}
	return agent.Errorf("management-unreachable", "The engine's management does not answer: %v. An engine that was started by an earlier agent "+
		"has none until it is started anew.", err)
}
