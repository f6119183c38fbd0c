/**
 * resource-metrics: get and list of what nodes and pods use (upstream: the metrics server's pkg/api). Only nodes whose agent
 * answers, and pods that run, have metrics.
 */
import { selectableFieldValue } from '../../api/selectable-fields.ts'
import { timestamp } from '../../component-base/clock.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import { notFound } from '../../machinery/objects/status-error.ts'
import { matchesFields } from '../../machinery/selectors/field-selector.ts'
import { matchesLabels } from '../../machinery/selectors/label-selector.ts'
import { durationText } from '../../machinery/values/go-duration.ts'
import { canonicalQuantity } from '../../machinery/values/quantity.ts'
import { listOptionsOf } from '../codec/list-options.ts'
import { answerForm } from '../codec/respond.ts'
import type { NodeSummaries, NodeSummaryReader } from '../egress/node-summaries.ts'
import type { NodeSummary, Usage } from '../egress/node-summary.ts'
import { shownObject } from '../encoding/form.ts'
import type { RequestContext } from '../request/request.ts'
import { answerList } from './list.ts'
import type { Parts, ResourceHandler } from './parts.ts'
import { wantedForm } from './wanted-form.ts'

/** The time that agents average CPU over. */
const window = durationText(10e9)

/** Undefined without both figures, as the metrics server leaves such out. */
function usageOf({ cpu, memory }: Usage): { cpu: string; memory: string } | undefined {
  const { usageNanoCores } = cpu ?? {}
  const { workingSetBytes } = memory ?? {}
  if (usageNanoCores === undefined || workingSetBytes === undefined) return undefined
  const kibi = Math.ceil(workingSetBytes / 1024)
  return { cpu: canonicalQuantity(`${usageNanoCores}n`), memory: `${kibi}Ki` }
}

/** What both kinds have. */
function measured(
  { metadata }: KubeObject,
  at: { resource: Resource; time: string; now: string },
): KubeObject {
  const { name = '', namespace, labels } = metadata
  return {
    kind: at.resource.kind,
    apiVersion: apiVersionOf(at.resource),
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      creationTimestamp: at.now,
      ...(labels === undefined ? {} : { labels }),
    },
    timestamp: at.time,
    window,
  }
}

type Measure = (object: KubeObject) => KubeObject | undefined

function ofNodes(summaries: NodeSummaries, resource: Resource, now: string): Measure {
  return (node) => {
    const summary = summaries.get(node.metadata.name ?? '')
    const usage = summary && usageOf(summary.node)
    if (summary === undefined || usage === undefined) return undefined
    return { ...measured(node, { resource, time: summary.node.cpu?.time ?? now, now }), usage }
  }
}

function ofPods(summaries: NodeSummaries, resource: Resource, now: string): Measure {
  // By node: no agent reports on pods of another one.
  const found = new Map<string, NonNullable<NodeSummary['pods']>[number]>()
  for (const [node, { pods = [] }] of summaries) {
    for (const pod of pods) found.set(`${node}/${pod.podRef.namespace}/${pod.podRef.name}`, pod)
  }
  return (pod) => {
    const { namespace, name } = pod.metadata
    const { nodeName = '' } = pod['spec'] as { nodeName?: string }
    const { containers = [] } = found.get(`${nodeName}/${namespace}/${name}`) ?? {}
    const used = containers.flatMap((container) => {
      const usage = usageOf(container)
      return usage === undefined ? [] : [{ name: container.name, usage }]
    })
    if (used.length === 0) return undefined
    const time = containers[0]?.cpu?.time ?? now
    return { ...measured(pod, { resource, time, now }), containers: used }
  }
}

/** The name in the error, as the metrics server writes it. */
function nothingFor(resource: Resource, { info }: RequestContext): Error {
  const { namespace, name } = info
  const plural = resource.kind.toLowerCase()
  return notFound({ ...resource, plural }, resource.namespaced ? `${namespace}/${name}` : name)
}

function handlerOf(
  summaries: NodeSummaryReader,
  subjectOf: (parts: Parts) => Resource,
  measureBy: typeof ofNodes,
): ResourceHandler {
  return async (context, resource, parts) => {
    const { info } = context
    const form = wantedForm(context, resource, parts)
    const now = timestamp(parts.clock.now())
    const subject = subjectOf(parts)
    if (info.name !== '') {
      const object = parts.cache.get(subject, info.namespace, info.name)
      if (object === undefined) throw nothingFor(resource, context)
      const shown = measureBy(await summaries.read(), resource, now)(object)
      if (shown === undefined) throw nothingFor(resource, context)
      return answerForm(200, form, await form.one(shownObject(shown)))
    }
    const at = { dialect: parts.dialect, watch: false }
    const { labels, fields } = listOptionsOf(resource, info.query, at).selection
    const measure = measureBy(await summaries.read(), resource, now)
    const entries = parts.cache
      .list(subject, info.namespace)
      .filter(
        (object) =>
          matchesLabels(labels, object.metadata.labels) &&
          matchesFields(fields, (field) => selectableFieldValue(resource, object, field)),
      )
      .flatMap((object) => measure(object) ?? [])
      .map(shownObject)
    return await answerList(form, { entries, meta: { resourceVersion: '' } })
  }
}

/** The handlers of both kinds, by plural. */
export function createMetricsHandlers(
  summaries: NodeSummaryReader,
): Readonly<Record<'nodes' | 'pods', ResourceHandler>> {
  return {
    nodes: handlerOf(summaries, ({ resources }) => resources.nodes, ofNodes),
    pods: handlerOf(summaries, ({ resources }) => resources.pods, ofPods),
  }
}
