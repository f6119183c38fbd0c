/**
 * Priority: a pod's priority comes from its PriorityClass, and at most one class is the default (upstream:
 * plugin/pkg/admission/priority).
 */
import type { Dialect } from '../../api/dialect.ts'
import type { Pod, PodSpec, PriorityClass } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { findNewest } from '../watch-cache/find-newest.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

const defaultPolicy = 'PreemptLowerPriority'

interface Priority {
  readonly className: string
  readonly value: number
  readonly preemptionPolicy: string
}

type DefaultClass = () => PriorityClass | undefined

/** The class marked as default, the lowest if several are; read again after a change, since every pod needs it. */
function defaultClassOf(reader: ObjectReader, dialect: Dialect): DefaultClass {
  const { priorityClasses } = resourcesOf(dialect)
  let known: { readonly value: PriorityClass | undefined } | undefined
  reader.onChange(priorityClasses, () => (known = undefined))

  function find(): PriorityClass | undefined {
    const marked = (reader.list(priorityClasses) as readonly PriorityClass[]).filter(
      ({ globalDefault }) => globalDefault === true,
    )
    return marked.toSorted((a, b) => a.value - b.value)[0]
  }

  return () => {
    known ??= { value: find() }
    return known.value
  }
}

/** The priority of a class, or 0 without one. */
function priorityOf(found: PriorityClass | undefined): Priority {
  return {
    className: found?.metadata.name ?? '',
    value: found?.value ?? 0,
    preemptionPolicy: found?.preemptionPolicy ?? defaultPolicy,
  }
}

/** Sets the priority of a new pod. Throws a 403 when the pod states another one. */
function setPriority(spec: PodSpec, at: { request: AdmissionRequest; priority: Priority }): void {
  const { request, priority } = at
  const { className, value, preemptionPolicy } = priority
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

/** Clients that do not know the fields may omit them in an update. */
function keepPriority(spec: PodSpec, old: PodSpec | undefined): void {
  if (old?.priority !== undefined) spec.priority ??= old.priority
  if (old?.preemptionPolicy !== undefined) spec.preemptionPolicy ??= old.preemptionPolicy
}

/** Rejects a second default class. */
function validateClass(request: AdmissionRequest, defaultClass: DefaultClass): void {
  const written = request.object as PriorityClass | undefined
  if (written?.globalDefault !== true) return
  const name = defaultClass()?.metadata.name
  if (name !== undefined && name !== written.metadata.name) {
    const why = `PriorityClass ${name} is already marked as default. Only one default can exist`
    throw admissionForbidden(request, why)
  }
}

export function priorityAdmission(reader: ObjectReader, dialect: Dialect): AdmissionPlugin {
  const { pods, priorityClasses } = resourcesOf(dialect)
  const defaultClass = defaultClassOf(reader, dialect)

  function withClass(
    request: AdmissionRequest,
    spec: PodSpec,
    use: (found: PriorityClass | undefined) => void,
  ): void | Promise<void> {
    const { priorityClassName: name } = spec
    if (!name) return use(defaultClass())
    const check = (found: KubeObject | undefined): void => {
      if (found !== undefined) return use(found as PriorityClass)
      throw admissionForbidden(request, `no PriorityClass with name ${name} was found`)
    }
    const found = findNewest(reader, priorityClasses, { name })
    return found instanceof Promise ? found.then(check) : check(found)
  }

  return {
    name: 'Priority',
    mutate(request) {
      const { operation, resource, subresource, object, old } = request
      const spec = (object as Pod | undefined)?.spec
      if (resource !== pods || subresource !== '' || spec === undefined) return
      if (operation === 'CREATE') {
        return withClass(request, spec, (found) =>
          setPriority(spec, { request, priority: priorityOf(found) }),
        )
      }
      if (operation === 'UPDATE') keepPriority(spec, (old as Pod | undefined)?.spec)
    },
    validate(request) {
      const { operation, resource, subresource } = request
      const isWritten = operation === 'CREATE' || operation === 'UPDATE'
      if (!isWritten || resource !== priorityClasses || subresource !== '') return
      validateClass(request, defaultClass)
    },
  }
}
