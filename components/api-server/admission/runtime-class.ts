/** RuntimeClass: a pod has the overhead of its runtime class and is scheduled where that runs (upstream: plugin/pkg/admission/runtimeclass; KEP-688). */
import type { Dialect } from '../../api/dialect.ts'
import type { Pod, PodSpec, RuntimeClass } from '../../api/generated/types.ts'
import { sameLists } from '../../api/resource-list.ts'
import { resourcesOf } from '../../api/resources.ts'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'
import { mergeTolerations } from './tolerations.ts'

const isOther = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
const isAlone = 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead'

interface Classified {
  readonly request: AdmissionRequest
  readonly spec: PodSpec
  readonly found: RuntimeClass | undefined
}

function setOverhead({ request, spec, found }: Classified): void {
  const overhead = found?.overhead
  if (!overhead) return
  if (spec.overhead && !sameLists(overhead.podFixed ?? {}, spec.overhead)) {
    throw admissionForbidden(request, isOther)
  }
  if (overhead.podFixed) spec.overhead = { ...overhead.podFixed }
  else delete spec.overhead
}

function setScheduling({ request, spec, found }: Classified): void {
  const scheduling = found?.scheduling
  if (!scheduling) return
  const selector = { ...spec.nodeSelector }
  for (const [key, value] of Object.entries(scheduling.nodeSelector ?? {})) {
    const own = selector[key]
    if (own !== undefined && own !== value) {
      const why = `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`
      throw admissionForbidden(request, why)
    }
    selector[key] = value
  }
  if (Object.keys(selector).length > 0) spec.nodeSelector = selector
  const tolerations = mergeTolerations(spec.tolerations ?? [], scheduling.tolerations ?? [])
  if (tolerations.length > 0) spec.tolerations = tolerations
}

function checkOverhead({ request, spec, found }: Classified): void {
  const overhead = found?.overhead
  if (!overhead) {
    if (spec.overhead) throw admissionForbidden(request, isAlone)
    return
  }
  if (!sameLists(overhead.podFixed ?? {}, spec.overhead ?? {})) {
    throw admissionForbidden(request, isOther)
  }
}

export function runtimeClassAdmission(reader: ObjectReader, dialect: Dialect): AdmissionPlugin {
  const { pods, runtimeClasses } = resourcesOf(dialect)

  /** The new pod with its class; undefined for other requests, and for pods without class and overhead. Throws a 403 if the class does not exist. */
  function classified(request: AdmissionRequest): Classified | undefined {
    const { operation, resource, subresource, object } = request
    if (operation !== 'CREATE' || resource !== pods || subresource !== '') return undefined
    const spec = (object as Pod | undefined)?.spec
    if (spec === undefined) return undefined
    const name = spec.runtimeClassName ?? undefined
    // Nearly every pod: there is nothing to set or check.
    if (name === undefined) return spec.overhead ? { request, spec, found: undefined } : undefined
    const found = reader.get(runtimeClasses, '', name) as RuntimeClass | undefined
    if (found !== undefined) return { request, spec, found }
    throw admissionForbidden(request, `pod rejected: RuntimeClass ${goQuote(name)} not found`)
  }

  return {
    name: 'RuntimeClass',
    mutate(request) {
      const pod = classified(request)
      if (pod?.found === undefined) return
      setOverhead(pod)
      setScheduling(pod)
    },
    validate(request) {
      const pod = classified(request)
      if (pod !== undefined) checkOverhead(pod)
    },
  }
}
