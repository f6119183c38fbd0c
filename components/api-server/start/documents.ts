/** documents: discovery, OpenAPI, health, metrics and the version: requests that name no resource. */
import type { Aggregator } from '../aggregation/aggregator.ts'
import { issuerDocuments } from '../authn/issuer-documents.ts'
import { createCurrentDiscovery } from '../discovery/discovery.ts'
import type { DeniedRequests } from '../filters/denied-requests.ts'
import type { RequestJournal } from '../filters/request-journal.ts'
import type { FlowControl } from '../flow-control/flow-control.ts'
import { flowDump } from '../flow-control/flow-dumps.ts'
import { answerNonResource, type NonResourceParts } from '../handlers/non-resource.ts'
import type { Parts } from '../handlers/parts.ts'
import { createHealthMetrics } from '../health/health-metrics.ts'
import type { HealthCheck } from '../health/health.ts'
import { createCustomKinds } from '../openapi/custom-kinds.ts'
import { createOpenApi } from '../openapi/openapi.ts'
import { answerText } from '../codec/respond.ts'
import type { Answer, RequestContext } from '../request/request.ts'
import type { Routes } from './router.ts'
import type { Security } from './security.ts'
import type { Settings } from './settings.ts'
import { cannotBeSaved } from './etcd-overrides.ts'
import { stateToSave } from './print-state.ts'
import type { State } from './state.ts'
import type { Writes } from './writes.ts'

interface DocumentParts {
  readonly settings: Settings
  readonly state: State
  readonly security: Security
  readonly custom: Writes['custom']
  readonly parts: Parts
  readonly aggregator: Aggregator
  readonly checks: readonly HealthCheck[]
  readonly denied: DeniedRequests
  readonly journal: RequestJournal
  readonly flowControl: FlowControl | undefined
  /** The `host:port` that clients connect to. Final once the server listens. */
  readonly address: () => string
}

function nonResourceParts(of: DocumentParts): NonResourceParts {
  const { settings, security, custom, parts, aggregator, checks, address } = of
  const { dialect, served, resources, gates, clock, metrics, version } = settings
  return {
    parts,
    discovery: createCurrentDiscovery(() => ({
      dialect,
      resources: served,
      custom: custom.established,
      groups: resources.groups,
      serverAddress: address(),
      ...aggregator.discovered,
    })),
    checks,
    healthMetrics: createHealthMetrics(),
    version,
    metrics: () => metrics.text(),
    openApi: createOpenApi({
      dialect,
      resources: () => served,
      custom: createCustomKinds(custom),
      cbor: gates.CBORServingAndStorage,
      extensions: () => aggregator.documents,
      serverVersion: version.gitVersion,
      pause: () => clock.sleep(0),
    }),
    issuerDocument: issuerDocuments(security.authentication.issuer, address),
  }
}

/** The handler of non-resource paths. It returns undefined for unknown paths. */
export function createDocuments(of: DocumentParts): Routes['nonResource'] {
  const nonResource = nonResourceParts(of)
  const { security, denied, journal, parts, settings, flowControl: control } = of
  const { cache, openWatches } = parts
  const { dialect } = settings
  const changes = { reader: cache, changes: cache }
  const from = { ...security, ...changes, denied, journal, openWatches, dialect }
  const saved = async (request: RequestContext): Promise<Answer | undefined> => {
    if (request.info.path !== '/debug/state') return undefined
    const { answerState } = await import('../saving/answer-state.ts')
    const fault = of.state.overrides.length === 0 ? undefined : cannotBeSaved
    return await answerState(request, { ...stateToSave(settings, of.state), fault })
  }
  const dumped = ({ info }: RequestContext): Answer | undefined => {
    const text = control && flowDump(info, { control, clock: settings.clock })
    return text === undefined ? undefined : answerText(200, text)
  }
  const explained = async (request: RequestContext): Promise<Answer | undefined> => {
    if (!request.info.path.startsWith('/explain/')) return undefined
    const { answerExplain } = await import('../explain/explain.ts')
    return await answerExplain(request, from)
  }
  return async (request) =>
    (await saved(request)) ??
    (await explained(request)) ??
    dumped(request) ??
    (await answerNonResource(request, nonResource))
}
