/** The conditions of a namespace's deletion (upstream: status_condition_utils.go). Pure. */
import type { NamespaceCondition } from '../../api/generated/types.ts'
import { findCondition } from '../conditions.ts'

/** The findings of one round of deleting. */
export interface DeletionReport {
  /** Why not all kinds of objects are known. */
  readonly discoveryFailure?: string
  /** Why some could not be deleted, one text for each kind of object. */
  readonly contentFailures: readonly string[]
  /** `pods.` or `deployments.apps` -> how many are left. */
  readonly remaining: ReadonlyMap<string, number>
  /** Finalizer -> how many objects have it. */
  readonly finalizers: ReadonlyMap<string, number>
}

type Facts = Pick<NamespaceCondition, 'reason' | 'message'>

function counted(counts: ReadonlyMap<string, number>, text: (name: string, n: number) => string) {
  return [...counts]
    .map(([name, count]) => text(name, count))
    .sort()
    .join(', ')
}

/** The failure of each type, if there is one, with the reason and message of a condition without failure. */
function findings(
  report: DeletionReport,
): [type: string, trouble: Facts | undefined, fine: Facts][] {
  const { discoveryFailure, contentFailures, remaining, finalizers } = report
  return [
    [
      'NamespaceDeletionDiscoveryFailure',
      discoveryFailure === undefined
        ? undefined
        : { reason: 'DiscoveryFailed', message: discoveryFailure },
      { reason: 'ResourcesDiscovered', message: 'All resources successfully discovered' },
    ],
    [
      'NamespaceDeletionGroupVersionParsingFailure',
      undefined,
      { reason: 'ParsedGroupVersions', message: 'All legacy kube types successfully parsed' },
    ],
    [
      'NamespaceDeletionContentFailure',
      contentFailures.length === 0
        ? undefined
        : {
            reason: 'ContentDeletionFailed',
            message: `Failed to delete all resource types, ${contentFailures.length} remaining: ${contentFailures.join(', ')}`,
          },
      {
        reason: 'ContentDeleted',
        message: 'All content successfully deleted, may be waiting on finalization',
      },
    ],
    [
      'NamespaceContentRemaining',
      remaining.size === 0
        ? undefined
        : {
            reason: 'SomeResourcesRemain',
            message: `Some resources are remaining: ${counted(remaining, (name, n) => `${name} has ${n} resource instances`)}`,
          },
      { reason: 'ContentRemoved', message: 'All content successfully removed' },
    ],
    [
      'NamespaceFinalizersRemaining',
      finalizers.size === 0
        ? undefined
        : {
            reason: 'SomeFinalizersRemain',
            message: `Some content in the namespace has finalizers remaining: ${counted(finalizers, (name, n) => `${name} in ${n} resource instances`)}`,
          },
      {
        reason: 'ContentHasNoFinalizers',
        message: 'All content-preserving finalizers finished',
      },
    ],
  ]
}

/** The conditions after this round; undefined when they say all of it already. */
export function deletionConditions(
  old: readonly NamespaceCondition[] | undefined,
  report: DeletionReport,
  now: string,
): NamespaceCondition[] | undefined {
  const next = [...(old ?? [])]
  let isChanged = false
  for (const [type, trouble, fine] of findings(report)) {
    const facts = trouble ?? fine
    const status = trouble === undefined ? 'False' : 'True'
    const known = findCondition(next, type)
    if (known === undefined) {
      next.push({ type, status, lastTransitionTime: now, ...facts })
      isChanged = true
      continue
    }
    const isSame =
      known.status === status && known.reason === facts.reason && known.message === facts.message
    if (isSame) continue
    const since = known.status === status ? known.lastTransitionTime : undefined
    next[next.indexOf(known)] = { type, status, lastTransitionTime: since ?? now, ...facts }
    isChanged = true
  }
  return isChanged ? next : undefined
}
