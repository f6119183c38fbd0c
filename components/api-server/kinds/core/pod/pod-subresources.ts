/** Sub-resources of Pods: status, ephemeral containers and binding (upstream: pkg/registry/core/pod/storage). */
import type { Binding, Pod } from '../../../../api/generated/types.ts'
import { schemaOf } from '../../../../api/schemas.ts'
import { timestamp } from '../../../../component-base/clock.ts'
import { FieldPath } from '../../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../../machinery/objects/object.ts'
import { conflict, StatusError } from '../../../../machinery/objects/status-error.ts'
import { updateValidation, type Change } from '../../rules/strategy-checks.ts'
import type { SubresourceStrategy } from '../../strategy.ts'
import { restoreAllButStatus } from '../../rules/status-update.ts'
import {
  isMirrorPod,
  validatePodAnnotations,
  validatePodAnnotationUpdate,
} from './pod-annotation-validation.ts'
import { semanticEqual } from '../../rules/field-rules.ts'
import { validatePodSpec } from './pod-spec-validation.ts'
import { validatePodStatusChange } from './pod-status-validation.ts'
import { specDifference } from './spec-difference.ts'

export const podStatusStrategy: SubresourceStrategy = {
  prepareForUpdate(object, old, { gates }) {
    restoreAllButStatus(object, old)
    const { qosClass, resourceClaimStatuses } = (old as Pod).status ?? {}
    object['status'] ??= {}
    if (!gates.DynamicResourceAllocation && resourceClaimStatuses === undefined) {
      delete object['status'].resourceClaimStatuses
    }
    if (qosClass !== undefined) object['status'].qosClass = qosClass
  },
  validateUpdate: updateValidation(({ object: pod, old }: Change<Pod>, root, { dialect }) => {
    const rules = { dialect, isPod: true }
    const annotationsAt = root.child('metadata').child('annotations')
    validatePodAnnotationUpdate(
      pod.metadata.annotations,
      old.metadata.annotations,
      annotationsAt,
      rules,
    )
    const spec = pod.spec ?? { containers: [] }
    validatePodAnnotations(pod.metadata.annotations, spec, annotationsAt, rules)
    validatePodStatusChange(pod, old, root)
  }),
}

export const ephemeralContainersStrategy: SubresourceStrategy = {
  prepareForUpdate(object, old) {
    const asked = (object as Pod).spec?.ephemeralContainers
    const { resourceVersion } = object.metadata
    for (const field of Object.keys(object)) if (field !== 'metadata') delete object[field]
    Object.assign(object, structuredClone(old))
    if (resourceVersion === undefined) delete object.metadata.resourceVersion
    else object.metadata.resourceVersion = resourceVersion
    const spec = (object['spec'] ??= {})
    if (asked === undefined) delete spec.ephemeralContainers
    else spec.ephemeralContainers = asked
  },
  validateUpdate: updateValidation(({ object: pod, old }: Change<Pod>, root, { dialect }) => {
    const rules = { dialect, isPod: true }
    if (isMirrorPod(old.metadata, rules)) {
      root.forbidden('static pods do not support ephemeral containers')
      return
    }
    validatePodSpec(pod.spec ?? { containers: [] }, root.child('spec'), rules)
    const at = root.child('spec').child('ephemeralContainers')
    const now = new Map(
      (pod.spec?.ephemeralContainers ?? []).map((container) => [container.name, container]),
    )
    for (const before of old.spec?.ephemeralContainers ?? []) {
      const after = now.get(before.name)
      const which = `existing ephemeral containers "${before.name}" may not be`
      if (after === undefined) at.forbidden(`${which} removed\n`)
      else if (!semanticEqual(before, after)) {
        const difference = specDifference('core.EphemeralContainer', {
          old: { ...before },
          now: { ...after },
          schema: schemaOf('core/v1.EphemeralContainer'),
        })
        at.forbidden(`${which} changed\n${difference}`)
      }
    }
  }),
}

const bindings = { group: '', plural: 'pods/binding' }

/** Texts of a Binding's faults, joined as upstream joins them. */
function bindingFaults({ target }: Binding): string {
  const root = FieldPath.root()
  const { kind = '', name = '' } = (target ?? {}) as { kind?: string; name?: string }
  const at = root.child('target')
  if (kind !== '' && kind !== 'Node') at.child('kind').unsupported(kind, ['Node', '<empty>'])
  if (name === '') at.child('name').required()
  const texts = root.errors.map(({ field, message }) => `${field}: ${message}`)
  return texts.length > 1 ? `[${texts.join(', ')}]` : texts.join('')
}

/**
 * Assigns the Pod of the draft to the Binding's node and returns the draft. Throws a Conflict StatusError when it is
 * assigned, terminating or gated, and a bare 500 for a Binding with faults, as upstream.
 */
export function applyBinding(draft: KubeObject, binding: KubeObject, nowMs: number): KubeObject {
  const faults = bindingFaults(binding as unknown as Binding)
  if (faults !== '') throw new StatusError('', faults)
  const pod = draft as Pod
  const { name = '', uid = '' } = pod.metadata
  const asked = binding.metadata ?? {}
  if (asked.uid && asked.uid !== uid) {
    throw conflict(
      bindings,
      name,
      `Precondition failed: UID in precondition: ${asked.uid}, UID in object meta: ${uid}`,
    )
  }
  if (pod.metadata.deletionTimestamp) {
    throw conflict(bindings, name, `pod ${name} is being deleted, cannot be assigned to a host`)
  }
  const spec = (pod.spec ??= { containers: [] })
  if (spec.nodeName) {
    throw conflict(bindings, name, `pod ${name} is already assigned to node "${spec.nodeName}"`)
  }
  if (spec.schedulingGates?.length) {
    throw conflict(bindings, name, `pod ${name} has non-empty .spec.schedulingGates`)
  }
  spec.nodeName = (binding['target'] as { name: string }).name
  if (asked.annotations) {
    pod.metadata.annotations = { ...pod.metadata.annotations, ...asked.annotations }
  }
  setScheduled(draft, nowMs)
  return draft
}

function setScheduled(draft: KubeObject, nowMs: number): void {
  const status = (draft['status'] ??= {})
  const others = ((draft as Pod).status?.conditions ?? []).filter(
    ({ type }) => type !== 'PodScheduled',
  )
  status.conditions = [
    ...others,
    {
      type: 'PodScheduled',
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: timestamp(nowMs),
    },
  ]
}
