/** The metrics that controllers have beside those of their queues: an explicit list, declared once for the process. */
import type { Dialect } from '../api/dialect.ts'
import type { Metrics } from '../component-base/metrics.ts'
import { declareCidrSetMetrics } from './cidr-set-metrics.ts'
import { declareCronJobMetrics } from './cron-job/cron-job-metrics.ts'
import { declareMirroringMetrics, declareSliceMetrics } from './endpoints/slice-metrics.ts'
import { declareEphemeralVolumeMetrics } from './ephemeral-volume-metrics.ts'
import { declareGarbageCollectorMetrics } from './garbage-collector/collector-metrics.ts'
import { declareAutoscalerMetrics } from './horizontal-pod-autoscaler/autoscaler-metrics.ts'
import { declareJobMetrics } from './job/job-metrics.ts'
import { declareNodeLifecycleMetrics } from './node-lifecycle/node-lifecycle-metrics.ts'
import { declarePodGcMetrics } from './pod-gc-metrics.ts'
import { declareReplicaSetMetrics } from './replica-set/replica-set-metrics.ts'
import { declareResourceClaimMetrics } from './resource-claims/claim-metrics.ts'
import { declareRootCaMetrics } from './root-ca-metrics.ts'
import { declareRunningControllers } from './running-controllers.ts'
import { declareTaintEvictionMetrics } from './taint-eviction/taint-eviction-metrics.ts'
import { declareTtlMetrics } from './ttl-after-finished/ttl-metrics.ts'
import { declareVolumeMetrics } from './volume-metrics.ts'

export type ControllerMetrics = ReturnType<typeof declareControllerMetrics>

export function declareControllerMetrics(metrics: Metrics, dialect: Dialect) {
  return {
    autoscaler: declareAutoscalerMetrics(metrics),
    cidrSets: declareCidrSetMetrics(metrics),
    cronJob: declareCronJobMetrics(metrics),
    ephemeralVolumes: declareEphemeralVolumeMetrics(metrics),
    garbageCollector: declareGarbageCollectorMetrics(metrics),
    job: declareJobMetrics(metrics, dialect),
    mirroring: declareMirroringMetrics(metrics),
    nodeLifecycle: declareNodeLifecycleMetrics(metrics),
    podGc: declarePodGcMetrics(metrics),
    replicaSet: declareReplicaSetMetrics(metrics),
    resourceClaims: declareResourceClaimMetrics(metrics),
    rootCa: declareRootCaMetrics(metrics),
    running: declareRunningControllers(metrics),
    slices: declareSliceMetrics(metrics),
    taintEviction: declareTaintEvictionMetrics(metrics),
    ttlAfterFinished: declareTtlMetrics(metrics),
    volumes: declareVolumeMetrics(metrics),
  }
}
