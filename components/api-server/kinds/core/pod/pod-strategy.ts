/** Pod: creation, updates and deletion (upstream: pkg/registry/core/pod/strategy.go). */
import type { Pod } from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { createValidation, updateValidation, type Change } from '../../rules/strategy-checks.ts'
import type { Strategy, StrategyContext } from '../../strategy.ts'
import { appArmorWarnings, syncAppArmor } from './app-armor-annotations.ts'
import { validatePodAnnotations, validatePodAnnotationUpdate } from './pod-annotation-validation.ts'
import { defaultPod } from './pod-defaults.ts'
import { dropDisabledPodFields } from './pod-features.ts'
import { expandLabelKeys } from './pod-label-keys.ts'
import { qosClassOf } from '../../../../api/pod-qos.ts'
import type { PodRules } from './pod-rules.ts'
import { validatePodSpec } from './pod-spec-validation.ts'
import { validatePodChange } from './pod-update-validation.ts'
import { podWarnings } from './pod-warnings.ts'
import { ephemeralContainersStrategy, podStatusStrategy } from './pod-subresources.ts'

function rulesFor(pod: Pod, { dialect }: StrategyContext): PodRules {
  const { name } = pod.metadata
  return name === undefined ? { dialect, isPod: true } : { dialect, isPod: true, podName: name }
}

/** Every rule of one state of a Pod. */
export function validatePodState(pod: Pod, root: FieldPath, context: StrategyContext): void {
  const rules = rulesFor(pod, context)
  const spec = pod.spec ?? { containers: [] }
  const annotationsAt = root.child('metadata').child('annotations')
  validatePodAnnotations(pod.metadata.annotations, spec, annotationsAt, rules)
  validatePodSpec(spec, root.child('spec'), rules)
  if (spec.serviceAccountName) return
  for (const [i, { projected }] of (spec.volumes ?? []).entries()) {
    for (const [j, { serviceAccountToken }] of (projected?.sources ?? []).entries()) {
      if (serviceAccountToken === undefined) continue
      root
        .child('spec')
        .child('volumes')
        .index(i)
        .child('projected')
        .child('sources')
        .index(j)
        .child('serviceAccountToken')
        .forbidden('must not be specified when serviceAccountName is not set')
    }
  }
}

function validateNew(pod: Pod, root: FieldPath, context: StrategyContext): void {
  validatePodState(pod, root, context)
  const specAt = root.child('spec')
  if (pod.spec?.ephemeralContainers?.length) {
    specAt.child('ephemeralContainers').forbidden('cannot be set on create')
  }
  if (pod.spec?.nodeName && pod.spec.schedulingGates?.length) {
    specAt.child('nodeName').forbidden('cannot be set until all schedulingGates have been cleared')
  }
}

function validateChange(
  { object: pod, old }: Change<Pod>,
  root: FieldPath,
  context: StrategyContext,
): void {
  validatePodState(pod, root, context)
  validatePodAnnotationUpdate(
    pod.metadata.annotations,
    old.metadata.annotations,
    root.child('metadata').child('annotations'),
    rulesFor(pod, context),
  )
  validatePodChange(pod, old, root)
}

const schedulingGated = {
  type: 'PodScheduled',
  status: 'False',
  lastProbeTime: null,
  lastTransitionTime: null,
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
}

/** Seconds a Pod gets to end: its own wish or the client's, none when nothing of it runs. */
function graceOf(pod: Pod, requestedSeconds: number | undefined): number {
  if (!pod.spec?.nodeName) return 0
  if (pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded') return 0
  const seconds = requestedSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0
  return seconds < 0 ? 1 : seconds
}

export const podStrategy: Strategy = {
  applyDefaults(object) {
    defaultPod(object as Pod)
  },
  warningsAsGiven: (object, { dialect }) => appArmorWarnings(object as Pod, dialect),
  prepareForCreate(object, { dialect, gates }) {
    const pod = object as Pod
    if (pod.spec) dropDisabledPodFields({ spec: pod.spec }, gates)
    expandLabelKeys(pod)
    syncAppArmor(pod, dialect)
    object['status'] = { phase: 'Pending', qosClass: qosClassOf(pod) }
    if (pod.spec?.schedulingGates?.length) {
      object['status'].conditions = [{ ...schedulingGated }]
    }
  },
  prepareForUpdate(object, old, { gates }) {
    const { spec } = object as Pod
    if (spec) dropDisabledPodFields({ spec, old: (old as Pod).spec }, gates)
  },
  validate: createValidation(validateNew),
  validateUpdate: updateValidation(validateChange),
  warnings: (object, _old, { dialect }) => podWarnings(object as Pod, dialect),
  subresources: { status: podStatusStrategy, ephemeralcontainers: ephemeralContainersStrategy },
  planDelete: (object, requestedSeconds) => ({
    gracePeriodSeconds: graceOf(object as Pod, requestedSeconds),
  }),
}
