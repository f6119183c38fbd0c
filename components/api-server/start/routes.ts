/** routes: the tables of sub-resources and virtual types that have handlers of their own. */
import type { Authentication } from '../authn/authentication.ts'
import { bindPod, createBinding } from '../handlers/pod-binding.ts'
import { evictPod } from '../handlers/pod-eviction.ts'
import { createPodLog } from '../handlers/pod-log.ts'
import { createProxyHandlers } from '../handlers/proxy.ts'
import { createReviewHandlers } from '../handlers/review-handlers.ts'
import type { Reviews } from '../handlers/reviews.ts'
import { scaleHandler } from '../handlers/scale.ts'
import { createStreamHandlers } from '../handlers/streams.ts'
import { createTokenHandler } from '../handlers/token.ts'
import { createMetricsHandlers } from '../handlers/resource-metrics.ts'
import { listComponentStatuses } from '../handlers/component-statuses.ts'
import type { HealthCheck } from '../health/health.ts'
import type { NodeSummaryReader } from '../egress/node-summaries.ts'
import type { NodeAgentCredentials } from '../egress/node-agents.ts'
import type { Routes } from './router.ts'

export function createRoutes(options: {
  reviews: Reviews
  authentication: Authentication
  nodeAgents: NodeAgentCredentials
  summaries: NodeSummaryReader
  /** Aborts when the server begins to shut down. */
  stopping: AbortSignal
  checks: readonly HealthCheck[]
  nonResource: Routes['nonResource']
  custom: Routes['custom']
  aggregated: Routes['aggregated']
}): Routes {
  const { reviews, authentication, nodeAgents, summaries, stopping, checks } = options
  const { nonResource, custom, aggregated } = options
  return {
    subresources: {
      scale: scaleHandler,
      'pods/binding': bindPod,
      'pods/eviction': evictPod,
      'serviceaccounts/token': createTokenHandler(authentication.issuer),
      ...createStreamHandlers({ ...nodeAgents, stopping }),
      ...createProxyHandlers(nodeAgents),
      'pods/log': createPodLog(nodeAgents),
    },
    virtual: {
      bindings: createBinding,
      componentstatuses: listComponentStatuses(checks),
      ...createMetricsHandlers(summaries),
      ...createReviewHandlers(reviews),
    },
    nonResource,
    custom,
    aggregated,
  }
}
