/** Priority: a pod's priority comes from its PriorityClass, and at most one class is the default. */
import type { Dialect } from '../../api/dialect.ts'
import type { Pod, PodSpec, PriorityClass } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

const defaultPolicy = 'PreemptLowerPriority'

interface Priority {
  readonly className: string
  readonly value: number
  readonly preemptionPolicy: string
}

export function priorityAdmission(reader: ObjectReader, dialect: Dialect): AdmissionPlugin {
  const { pods, priorityClasses } = resourcesOf(dialect)

  // Every pod asks for it, and it hardly ever changes.
  let known: { readonly value: PriorityClass | undefined } | undefined
  reader.onChange(priorityClasses, () => (known = undefined))

  /** The lowest of the classes marked as default, should several have slipped in. */
  function defaultClass(): PriorityClass | undefined {
    known ??= { value: findDefaultClass() }
    return known.value
  }

  function findDefaultClass(): PriorityClass | undefined {
    const marked = (reader.list(priorityClasses) as readonly PriorityClass[]).filter(
      ({ globalDefault }) => globalDefault === true,
    )
    return marked.toSorted((a, b) => a.value - b.value)[0]
  }

  function priorityOf(request: AdmissionRequest, className: string): Priority {
    const found =
      className === ''
        ? defaultClass()
        : (reader.get(priorityClasses, '', className) as PriorityClass | undefined)
    if (className !== '' && found === undefined) {
      throw admissionForbidden(request, `no PriorityClass with name ${className} was found`)
    }
    return {
      className: found?.metadata.name ?? '',
      value: found?.value ?? 0,
      preemptionPolicy: found?.preemptionPolicy ?? defaultPolicy,
    }
  }

  function createPod(request: AdmissionRequest, spec: PodSpec): void {
    const { className, value, preemptionPolicy } = priorityOf(request, spec.priorityClassName ?? '')
    if (className !== '') spec.priorityClassName = className
    if (spec.priority !== undefined && spec.priority !== null && spec.priority !== value) {
      const why = `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`
      throw admissionForbidden(request, why)
    }
    spec.priority = value
    if (spec.preemptionPolicy && spec.preemptionPolicy !== preemptionPolicy) {
      const why = `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`
      throw admissionForbidden(request, why)
    }
    spec.preemptionPolicy = preemptionPolicy
  }

  /** Clients that do not know the fields may leave them out of an update. */
  function keepPriority(spec: PodSpec, old: PodSpec | undefined): void {
    if (old?.priority !== undefined) spec.priority ??= old.priority
    if (old?.preemptionPolicy !== undefined) spec.preemptionPolicy ??= old.preemptionPolicy
  }

  return {
    name: 'Priority',
    mutate(request) {
      const { operation, resource, subresource, object, old } = request
      const spec = (object as Pod | undefined)?.spec
      if (resource !== pods || subresource !== '' || spec === undefined) return
      if (operation === 'CREATE') createPod(request, spec)
      if (operation === 'UPDATE') keepPriority(spec, (old as Pod | undefined)?.spec)
    },
    validate(request) {
      const { operation, resource, subresource } = request
      const isWritten = operation === 'CREATE' || operation === 'UPDATE'
      if (!isWritten || resource !== priorityClasses || subresource !== '') return
      const written = request.object as PriorityClass | undefined
      if (written?.globalDefault !== true) return
      const name = defaultClass()?.metadata.name
      if (name !== undefined && name !== written.metadata.name) {
        const why = `PriorityClass ${name} is already marked as default. Only one default can exist`
        throw admissionForbidden(request, why)
      }
    },
  }
}
