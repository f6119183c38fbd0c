/** PodNodeSelector: a namespace's node selector holds for all its pods (upstream: plugin/pkg/admission/podnodeselector). */
import type { Dialect } from '../../api/dialect.ts'
import type { Pod } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import { forbidden, notFound, StatusError } from '../../machinery/objects/status-error.ts'
import { labelValue, qualifiedName } from '../../machinery/validation/names.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'

type Labels = Readonly<Record<string, string>>

const clusterDefault = 'clusterDefaultNodeSelector'

/** `a=b,c=d` as labels; undefined for any other text. */
export function selectorLabels(selector: string): Labels | undefined {
  if (selector === '') return {}
  const pairs = selector.split(',').map((part) => part.split('='))
  const trimmed = pairs.map((pair) => pair.map((text) => text.trim()))
  const isValid = trimmed.every(
    ([key = '', value = '', ...more]) =>
      more.length === 0 && qualifiedName(key).length === 0 && labelValue(value).length === 0,
  )
  const hasBoth = trimmed.every((pair) => pair.length === 2)
  return isValid && hasBoth ? (Object.fromEntries(trimmed) as Labels) : undefined
}

function conflicts(a: Labels, b: Labels): boolean {
  return Object.entries(a).some(([key, value]) => b[key] !== undefined && b[key] !== value)
}

function labelsIn(selector: string): Labels {
  const labels = selectorLabels(selector)
  if (labels !== undefined) return labels
  throw new StatusError('', `invalid selector: ${selector}`, { code: 500 })
}

export function podNodeSelector(
  reader: ObjectReader,
  dialect: Dialect,
  selectors: ReadonlyMap<string, string> = new Map(),
): AdmissionPlugin {
  const { pods, namespaces } = resourcesOf(dialect)
  // Upstream's name of it, whatever the domain of other labels.
  const annotation = `scheduler.alpha.${dialect.labelDomain}/node-selector`

  /** The namespace's own selector, or the cluster's default. */
  function selectorOf(namespace: string): Labels {
    const found = reader.get(namespaces, '', namespace)
    if (found === undefined) throw notFound(namespaces, namespace)
    const own = found.metadata.annotations?.[annotation]
    return labelsIn(own ?? selectors.get(clusterDefault) ?? '')
  }

  /** The new pod; undefined for any other request. */
  function newPod({ operation, resource, subresource, object }: AdmissionRequest) {
    const isPod = operation === 'CREATE' && resource === pods && subresource === ''
    return isPod ? (object as Pod | undefined) : undefined
  }

  function check(pod: Pod, namespace: string): void {
    const refuse = (why: string): never => {
      throw forbidden(pods, pod.metadata.name ?? '', why)
    }
    const selector = pod.spec?.nodeSelector ?? {}
    if (conflicts(selectorOf(namespace), selector)) {
      refuse('pod node label selector conflicts with its namespace node label selector')
    }
    const allowed = labelsIn(selectors.get(namespace) ?? '')
    if (Object.keys(allowed).length === 0) return
    if (Object.entries(selector).some(([key, value]) => allowed[key] !== value)) {
      refuse('pod node label selector labels conflict with its namespace whitelist')
    }
  }

  return {
    name: 'PodNodeSelector',
    mutate(request) {
      const pod = newPod(request)
      if (pod?.spec === undefined) return
      const merged = { ...selectorOf(request.namespace), ...pod.spec.nodeSelector }
      check(pod, request.namespace)
      if (Object.keys(merged).length > 0) pod.spec.nodeSelector = merged
    },
    validate(request) {
      const pod = newPod(request)
      if (pod !== undefined) check(pod, request.namespace)
    },
  }
}
