package metrics

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus/push"
)

// Push sends what a server would show now to a Pushgateway at url, for jobs that are over before
// Prometheus scrapes them. It takes the place of what the same rank of the same job had there,
// under the labels job and instance. The latter is "rank-" and the number of the rank, and behind
// that, of a job that ranks have spawned, "-of-spawned-" and its name.
func Push(ctx context.Context, url, job string, src Source) error {
	tr := &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}
	defer tr.CloseIdleConnections()
	instance := "rank-" + strconv.Itoa(src.Rank)
	if src.Spawned != "" {
		instance += "-of-spawned-" + src.Spawned
	}
	err := push.New(url, job).Gatherer(registry(src)).Grouping("instance", instance).
		Client(&http.Client{Transport: tr}).PushContext(ctx)
	if err != nil {
		return fmt.Errorf("metrics: push to %s: %w", url, err)
	}
	return nil
}
