/** Annotations of Pods that upstream gives a meaning. */
import { labelKey } from '../../../../api/dialect.ts'
import type { ObjectMeta, PodSpec } from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { goQuote } from '../../../../machinery/values/go-syntax.ts'
import { validateLocalDescendingPath } from '../../rules/field-rules.ts'
import { appArmorPrefix } from './app-armor-annotations.ts'
import { containersOf } from './pod-os-validation.ts'
import type { PodRules } from './pod-rules.ts'

type Annotations = Readonly<Record<string, string>>

function mirrorKey({ dialect }: PodRules): string {
  return labelKey(dialect, '', 'config.mirror')
}

function seccompPrefix({ dialect }: PodRules): string {
  return labelKey(dialect, 'container.seccomp.security.alpha', '')
}

/** The Pod mirrors a static one of its node. */
export function isMirrorPod(metadata: ObjectMeta, rules: PodRules): boolean {
  return metadata.annotations?.[mirrorKey(rules)] !== undefined
}

/** `at` is the annotations' path. */
export function validatePodAnnotations(
  annotations: Annotations | undefined,
  spec: PodSpec,
  at: FieldPath,
  rules: PodRules,
): void {
  if (annotations === undefined) return
  const mirror = annotations[mirrorKey(rules)]
  if (mirror !== undefined && !spec.nodeName) {
    at.key(mirrorKey(rules)).invalid(
      mirror,
      'must set spec.nodeName if mirror pod annotation is set',
    )
  }
  const costKey = labelKey(rules.dialect, 'controller', 'pod-deletion-cost')
  const cost = annotations[costKey]
  if (cost !== undefined && !isDeletionCost(cost)) {
    at.key(costKey).invalid(cost, 'must be a 32bit integer')
  }
  const podSeccompKey = labelKey(rules.dialect, 'seccomp.security.alpha', 'pod')
  for (const key in annotations) {
    const value = annotations[key] ?? ''
    if (key === podSeccompKey || key.startsWith(seccompPrefix(rules))) {
      validateSeccompName(value, at.child(key))
    } else if (key.startsWith(appArmorPrefix(rules.dialect))) {
      const container = key.slice(appArmorPrefix(rules.dialect).length)
      const isThere = containersOf(spec, at).some((found) => found.container.name === container)
      if (!isThere) at.key(key).invalid(container, 'container not found')
      if (!isAppArmorName(value)) {
        at.key(key).invalid(value, `invalid AppArmor profile name: ${goQuote(value)}`)
      }
    }
  }
}

function isDeletionCost(text: string): boolean {
  if (!/^(0|-?[1-9][0-9]*)$/.test(text)) return false
  const cost = Number(text)
  return cost >= -(2 ** 31) && cost < 2 ** 31
}

const seccompNames = new Set(['runtime/default', 'docker/default', 'unconfined'])

function validateSeccompName(name: string, at: FieldPath): void {
  if (seccompNames.has(name)) return
  if (name.startsWith('localhost/')) {
    validateLocalDescendingPath(name.slice('localhost/'.length), at)
  } else at.invalid(name, 'must be a valid seccomp profile')
}

function isAppArmorName(name: string): boolean {
  if (name === '' || name === 'runtime/default' || name === 'unconfined') return true
  return name.startsWith('localhost/')
}

/** Mirror and AppArmor annotations stay as they were when the Pod was made. */
export function validatePodAnnotationUpdate(
  annotations: Annotations = {},
  old: Annotations = {},
  at: FieldPath,
  rules: PodRules,
): void {
  const kindOf = (key: string) => {
    if (key.startsWith(appArmorPrefix(rules.dialect))) return 'AppArmor annotations'
    return key === mirrorKey(rules) ? 'mirror pod annotation' : undefined
  }
  for (const key in old) {
    const kind = kindOf(key)
    if (kind !== undefined && annotations[key] !== old[key]) {
      at.key(key).forbidden(`may not remove or update ${kind}`)
    }
  }
  for (const key in annotations) {
    const kind = kindOf(key)
    if (kind !== undefined && old[key] === undefined) {
      at.key(key).forbidden(`may not add ${kind}`)
    }
  }
}
