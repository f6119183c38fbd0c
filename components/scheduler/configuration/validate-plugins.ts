/** Validation of plugin sets (upstream: apis/config/validation/validation.go). */
import type { FieldPath } from '../../machinery/validation/field-path.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { extensionPoints } from '../extension-points.ts'
import type { PluginSets } from './plugin-sets.ts'

/** Plugins that v1 no longer has; NodeVolumeLimits took their place. */
const removed = ['AzureDiskLimits', 'CinderLimits', 'EBSLimits', 'GCEPDLimits']

/** `version` is the file's apiVersion. */
export function validatePluginSets(sets: PluginSets, at: FieldPath, version: string): void {
  for (const point of extensionPoints) {
    for (const [i, { name }] of (sets[point]?.enabled ?? []).entries()) {
      if (!removed.includes(name)) continue
      const detail = `was invalid in version "${version}" (KubeSchedulerConfiguration is version "${version}")`
      at.child(point).child('enabled').index(i).invalid(name, detail)
    }
  }
}

/** There is one queue: every profile must sort it alike. */
export function validateQueueSort(profiles: readonly PluginSets[], at: FieldPath): void {
  const [first = {}] = profiles
  const count = first.queueSort?.enabled?.length ?? 0
  if (count > 1) {
    const field = at.index(0).child('plugins').child('queueSort').child('Enabled')
    field.invalid(count, 'only one queue sort plugin can be enabled')
  }
  for (const [i, { queueSort }] of profiles.entries()) {
    if (deepEqual(queueSort ?? {}, first.queueSort ?? {})) continue
    const field = at.index(i).child('plugins').child('queueSort')
    field.invalid(JSON.stringify(queueSort ?? {}), 'must be the same for all profiles')
  }
}
