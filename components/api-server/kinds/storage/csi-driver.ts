/** CSIDriver (upstream: pkg/apis/storage/validation, pkg/registry/storage/csidriver). */
import type { StorageTokenRequest, CSIDriverSpec, CSIDriver } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateOneOf, semanticEqual, validateImmutable } from '../rules/field-rules.ts'

const groupPolicies = ['File', 'None', 'ReadWriteOnceWithFSType']

const lifecycleModes = ['Persistent', 'Ephemeral']

const shortestTokenSeconds = 600

const longestTokenSeconds = 2 ** 32

function validateTokenRequests(requests: readonly StorageTokenRequest[], at: FieldPath): void {
  const seen = new Set<string>()
  for (const [i, { audience, expirationSeconds: seconds }] of requests.entries()) {
    if (seen.has(audience)) {
      at.index(i).child('audience').duplicate(audience)
      continue
    }
    seen.add(audience)
    const secondsAt = at.index(i).child('expirationSeconds')
    if (seconds === undefined) continue
    if (seconds < shortestTokenSeconds) {
      secondsAt.invalid(seconds, 'may not specify a duration less than 10 minutes')
    } else if (seconds > longestTokenSeconds) {
      secondsAt.invalid(seconds, 'may not specify a duration larger than 2^32 seconds')
    }
  }
}

/** Defaults of the flags; upstream misspells the path of the first. */
const flags = [
  { field: 'attachRequired', path: 'attachedRequired', preset: true },
  { field: 'podInfoOnMount', path: 'podInfoOnMount', preset: false },
  { field: 'storageCapacity', path: 'storageCapacity', preset: false },
  { field: 'requiresRepublish', path: undefined, preset: false },
  { field: 'seLinuxMount', path: 'seLinuxMount', preset: false },
] as const

function validateDriver(object: KubeObject, root: FieldPath): void {
  const at = root.child('spec')
  const spec: CSIDriverSpec = (object as CSIDriver).spec ?? {}
  for (const { field, path } of flags) {
    if (path !== undefined && typeof spec[field] !== 'boolean') at.child(path).required()
  }
  validateOneOf(spec.fsGroupPolicy, groupPolicies, at.child('fsGroupPolicy'))
  validateTokenRequests(spec.tokenRequests ?? [], at.child('tokenRequests'))
  for (const mode of spec.volumeLifecycleModes ?? []) {
    validateOneOf(mode, lifecycleModes, at.child('volumeLifecycleModes'))
  }
}

export const csiDriverStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  applyDefaults(object) {
    const { spec } = object as CSIDriver
    if (!spec) return
    for (const { field, preset } of flags) spec[field] ??= preset
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType'
    if (!spec.volumeLifecycleModes?.length) spec.volumeLifecycleModes = ['Persistent']
  },
  prepareForUpdate(object, old) {
    // There is no generation before the first change.
    if (semanticEqual(object['spec'], old['spec'])) return
    object.metadata.generation = (old.metadata.generation ?? 0) + 1
  },
  ...validation(validateDriver, ({ object, old }: Change<KubeObject>, root) => {
    const at = root.child('spec')
    const [now, before] = [(object as CSIDriver).spec, (old as CSIDriver).spec]
    validateImmutable(
      { now: now.attachRequired, before: before.attachRequired },
      at.child('attachedRequired'),
    )
    validateImmutable(
      { now: now.volumeLifecycleModes, before: before.volumeLifecycleModes },
      at.child('volumeLifecycleModes'),
    )
  }),
}
