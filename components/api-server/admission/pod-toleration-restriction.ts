/** PodTolerationRestriction: a namespace's default and allowed tolerations of pods (upstream: plugin/pkg/admission/podtolerationrestriction). */
import { labelKey, type Dialect } from '../../api/dialect.ts'
import type { Pod, Toleration } from '../../api/generated/types.ts'
import { qosClassOf } from '../../api/pod-qos.ts'
import { resourcesOf } from '../../api/resources.ts'
import { notFound, StatusError } from '../../machinery/objects/status-error.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import type { PodTolerationSettings } from './pod-toleration-configuration.ts'
import { areAllowed, mergeTolerations } from './tolerations.ts'

const noSettings: PodTolerationSettings = { defaults: [], allowed: [] }

/** Throws an error 500 for a text that is no list. */
function parsed(text: string): readonly Toleration[] {
  if (text === '') return []
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value)) return value as readonly Toleration[]
  } catch (error) {
    throw new StatusError('', (error as Error).message, { code: 500, cause: error })
  }
  const why = 'json: cannot unmarshal object into Go value of type []v1.Toleration'
  throw new StatusError('', why, { code: 500 })
}

export function podTolerationRestriction(
  reader: ObjectReader,
  dialect: Dialect,
  settings: PodTolerationSettings = noSettings,
): AdmissionPlugin {
  const { pods, namespaces } = resourcesOf(dialect)
  const domain = `scheduler.alpha.${dialect.labelDomain}`
  const memoryPressure = {
    key: labelKey(dialect, 'node', 'memory-pressure'),
    operator: 'Exists',
    effect: 'NoSchedule',
  }

  /** Undefined if the namespace says nothing. */
  function ofNamespace(namespace: string, name: string): readonly Toleration[] | undefined {
    const found = reader.get(namespaces, '', namespace)
    if (found === undefined) throw notFound(namespaces, namespace)
    const text = found.metadata.annotations?.[`${domain}/${name}`]
    return text === undefined ? undefined : parsed(text)
  }

  function podOf({ operation, resource, subresource, object }: AdmissionRequest) {
    const isWritten = operation === 'CREATE' || operation === 'UPDATE'
    const isPod = isWritten && resource === pods && subresource === ''
    return isPod ? (object as Pod | undefined) : undefined
  }

  function check({ spec }: Pod, namespace: string): void {
    const tolerations = spec?.tolerations ?? []
    if (tolerations.length === 0) return
    const own = ofNamespace(namespace, 'tolerationsWhitelist')
    if (areAllowed(tolerations, own ?? settings.allowed)) return
    const scope = own === undefined ? 'cluster' : 'namespace'
    const why = `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${scope} whitelist`
    throw new StatusError('', why, { code: 500 })
  }

  return {
    name: 'PodTolerationRestriction',
    mutate(request) {
      const pod = podOf(request)
      if (pod?.spec === undefined) return
      const { namespace, operation } = request
      const defaults =
        operation === 'CREATE'
          ? (ofNamespace(namespace, 'defaultTolerations') ?? settings.defaults)
          : []
      const pressure = qosClassOf(pod) === 'BestEffort' ? [] : [memoryPressure]
      const withOwn = mergeTolerations(defaults, pressure)
      const merged = mergeTolerations(withOwn, pod.spec.tolerations ?? [])
      if (merged.length > 0) pod.spec.tolerations = merged
      check(pod, namespace)
    },
    validate(request) {
      const pod = podOf(request)
      if (pod !== undefined) check(pod, request.namespace)
    },
  }
}
