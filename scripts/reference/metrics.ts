/** The page of the metrics. Each component's are declared here as it declares them, without anything behind them. */
import { createAvailabilityMetrics } from '../../components/api-server/aggregation/availability-metrics.ts'
import type { AdmissionChain } from '../../components/api-server/admission/chain.ts'
import { measuredAdmission } from '../../components/api-server/admission/admission-metrics.ts'
import { admissionWebhookMetrics } from '../../components/api-server/admission/webhook/admission-webhook-metrics.ts'
import { measuredAuthentication } from '../../components/api-server/authn/authentication-metrics.ts'
import {
  countDecisions,
  measuredAuthorizer,
} from '../../components/api-server/authz/authorization-metrics.ts'
import {
  createReloadMetrics,
  showConfigurationHash,
} from '../../components/api-server/configuration/reload-metrics.ts'
import { versionInfo } from '../../components/api-server/discovery/version.ts'
import { countReloads } from '../../components/api-server/encryption/encryption-file.ts'
import { createKmsMetrics } from '../../components/api-server/encryption/kms/kms-metrics.ts'
import {
  countedAddresses,
  countedPorts,
} from '../../components/api-server/kinds/core/allocator-metrics.ts'
import { createTransformationMetrics } from '../../components/api-server/encryption/transformation-metrics.ts'
import { createRequestMetrics } from '../../components/api-server/filters/request-metrics.ts'
import { declareFlowMetrics } from '../../components/api-server/flow-control/flow-metrics.ts'
import { createFlowSeries } from '../../components/api-server/flow-control/flow-series.ts'
import { createLevelMetrics } from '../../components/api-server/flow-control/level-metrics.ts'
import { createWatchEventCount } from '../../components/api-server/handlers/watch-metrics.ts'
import { createHealthMetrics } from '../../components/api-server/health/health-metrics.ts'
import {
  createServerMetrics,
  declareCacheMetrics,
} from '../../components/api-server/start/server-metrics.ts'
import { storeMetrics } from '../../components/store/measured-store.ts'
import { declareStoreSize } from '../../components/store/store-size.ts'
import { etcdMetrics } from '../../components/store/etcd/etcd-metrics.ts'
import { dialects } from '../../components/api/dialect.ts'
import { parseFeatureGates } from '../../components/api/feature-gates.ts'
import { servedRelease } from '../../components/api/lifecycle.ts'
import { createRestObserver } from '../../components/client/rest-metrics.ts'
import { systemClock as clock } from '../../components/component-base/clock.ts'
import {
  createMetrics,
  declareProcessMetrics,
  metricState,
} from '../../components/component-base/metrics.ts'
import type { DeclaredMetric } from '../../components/component-base/metrics.ts'
import { createManagerMetrics } from '../../components/controller-manager/manager-metrics.ts'
import { BackendSet } from '../../components/load-balancer/backend-set.ts'
import { createBalancerMetrics } from '../../components/load-balancer/balancer-metrics.ts'
import { createNodeMetrics } from '../../components/node-agent/node/node-metrics.ts'
import type { NodeUsage } from '../../components/node-agent/node/node-usage.ts'
import { cadvisorMetrics, resourceMetrics } from '../../components/node-agent/node/usage-metrics.ts'
import { ProbeCounts } from '../../components/node-agent/pods/probe-counts.ts'
import {
  createEvaluationCounters,
  createEventMetrics,
  createHintMetrics,
  createPluginMetrics,
  createQueueMetrics,
  createSchedulerMetrics,
} from '../../components/scheduler/scheduler-metrics.ts'
import { code, codes, escaped, page, table } from './markdown.ts'

/** Stands for what a declaration keeps and only uses once something is measured. */
const unused = <T>(): T => ({}) as T

function apiServerMetrics(): readonly DeclaredMetric[] {
  const { gates } = parseFeatureGates('')
  const metrics = createServerMetrics({ showHidden: true, gates, version: versionInfo(process) })
  declareCacheMetrics(metrics, unused(), [])
  storeMetrics(metrics)
  declareStoreSize(metrics)
  etcdMetrics(metrics)
  createRequestMetrics(metrics, clock)
  createWatchEventCount(metrics)
  measuredAuthentication(unused(), metrics, clock)
  measuredAuthorizer(unused(), metrics, clock)
  countDecisions(metrics)
  for (const subsystem of ['authentication', 'authorization'] as const) {
    showConfigurationHash(metrics, { subsystem, serverId: '' })
    createReloadMetrics(metrics, { subsystem, serverId: '', clock })
  }
  countReloads(metrics)
  createKmsMetrics(metrics, { serverId: '', clock })
  createTransformationMetrics(metrics, clock)
  countedAddresses(unused(), { metrics, cidr: '', use: unused() })
  countedPorts(unused(), { metrics, use: unused() })
  measuredAdmission(unused<AdmissionChain>(), metrics, clock)
  admissionWebhookMetrics(metrics)
  declareFlowMetrics(metrics, unused())
  createFlowSeries(metrics)
  createLevelMetrics(metrics, clock)
  createAvailabilityMetrics(metrics)
  return metrics.declared
}

function schedulerMetrics(): readonly DeclaredMetric[] {
  const metrics = createMetrics({ release: servedRelease })
  declareProcessMetrics(metrics)
  createRestObserver(metrics, clock)
  createEvaluationCounters(metrics)
  createEventMetrics(metrics, clock)
  createHintMetrics(metrics)
  createPluginMetrics(metrics)
  createQueueMetrics(metrics)
  createSchedulerMetrics(metrics, unused(), unused())
  return metrics.declared
}

function nodeMetrics(): readonly DeclaredMetric[] {
  const metrics = createNodeMetrics({ name: '', pods: () => [] }, true)
  createRestObserver(metrics, clock)
  return metrics.declared
}

const idleNode: NodeUsage = {
  startedMs: 0,
  timeMs: 0,
  cores: 0,
  coreSeconds: 0,
  memoryBytes: 0,
  memoryCapacityBytes: undefined,
  coreCapacity: undefined,
  pods: [],
}

/** By endpoint. */
export function declaredMetrics(): ReadonlyMap<string, readonly DeclaredMetric[]> {
  const manager = createManagerMetrics({
    showHidden: true,
    leaseName: '',
    gates: parseFeatureGates('').gates,
    dialect: dialects.kubernetes,
    clock,
  })
  return new Map([
    ['api-server', apiServerMetrics()],
    ['api-server: /metrics/slis', createHealthMetrics().declared],
    ['controller-manager', manager.metrics.declared],
    ['scheduler', schedulerMetrics()],
    [
      'load-balancer',
      createBalancerMetrics(new BackendSet({ healthy: 1, unhealthy: 1 })).metrics.declared,
    ],
    ['node-agent', nodeMetrics()],
    ['node-agent: /metrics/resource', resourceMetrics(idleNode).declared],
    ['node-agent: /metrics/cadvisor', cadvisorMetrics(idleNode).declared],
    ['node-agent: /metrics/probes', new ProbeCounts().metrics([]).declared],
  ])
}

function helpText({ help, deprecatedFrom }: DeclaredMetric): string {
  if (deprecatedFrom === undefined) return escaped(help)
  const isHidden = metricState(deprecatedFrom, servedRelease) === 'hidden'
  return `**Deprecated since ${deprecatedFrom}${isHidden ? ', hidden' : ''}.** ${escaped(help)}`
}

function metricTable(metrics: readonly DeclaredMetric[]): string {
  return table(
    ['metric', 'type', 'stability', 'labels', 'help'],
    metrics
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((metric) => [
        code(metric.name),
        metric.kind,
        metric.stability ?? 'ALPHA',
        codes(metric.labels ?? []),
        helpText(metric),
      ]),
  )
}

export function metricsPage(): string {
  return page(
    'Metrics',
    'Each component serves its metrics at `/metrics`, in the text format of Prometheus. Names are those of upstream. ' +
      'The node agent serves those of each of its nodes.',
    'A hidden metric is only served with `--show-hidden-metrics-for-version`. ALPHA metrics may change in any release.',
    ...Array.from(declaredMetrics()).flatMap(([endpoint, metrics]) => [
      `## ${endpoint}`,
      metricTable(metrics),
    ]),
  )
}
