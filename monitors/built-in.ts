/** The monitors that come with the product, by name. */
import type { Resource } from '../components/machinery/objects/resource.ts'
import type { Finding, Monitor, Rule } from './monitor.ts'
import { cascade } from './rules/cascade.ts'
import { disruptionBudget } from './rules/disruption-budget.ts'
import { frequentWrites } from './rules/frequent-writes.ts'
import { hotLoop } from './rules/hot-loop.ts'
import { jobIndex } from './rules/job-index.ts'
import { leaseHolder } from './rules/lease-holder.ts'
import { nodeName } from './rules/node-name.ts'
import { observedGeneration } from './rules/observed-generation.ts'
import { statefulIdentity } from './rules/stateful-identity.ts'
import { takenOwnership } from './rules/taken-fields.ts'
import { undoneWrites } from './rules/undone-writes.ts'

/** How long the garbage collector may take. */
const orphanPatienceMs = 60_000
/** How long a controller may take to see a change. */
const generationPatienceMs = 30_000
/** Four a second, all the time: what a controller's progress through a large rollout does not reach. */
const mostWritesPerMinute = 240

/** One rule of several: each gets every event. */
function joined(rules: readonly Rule[]): Rule {
  const all = <T>(ask: (rule: Rule) => readonly T[] | undefined): T[] =>
    rules.flatMap((rule) => ask(rule) ?? [])
  return {
    take: (change): Finding[] => all((rule) => rule.take?.(change)),
    request: (record): Finding[] => all((rule) => rule.request?.(record)),
    rest: (nowMs): Finding[] => all((rule) => rule.rest?.(nowMs)),
  }
}

const isKind =
  (...plurals: string[]) =>
  ({ plural, group }: Resource): boolean =>
    plurals.includes(plural) && !isForeign(group)

/** A group of custom resources may have kinds of the same names. */
const isForeign = (group: string): boolean =>
  group.includes('.') && !/^(?:coordination|discovery|networking|storage)\./.test(group)

/** Their objects are signs of life, or say nothing by what they are like. */
const isNoise = ({ plural }: Resource): boolean =>
  ['events', 'leases', 'endpoints'].includes(plural)
/** Of these, only the metadata is read. */
export const isSecret = ({ plural, group }: Pick<Resource, 'plural' | 'group'>): boolean =>
  plural === 'secrets' && group === ''

const hasStates = (resource: Resource): boolean => !isNoise(resource) && !isSecret(resource)

export const builtInMonitors: readonly Monitor[] = [
  {
    name: 'identity',
    summary:
      'One live pod per StatefulSet identity, one working pod per Job index, one agent per node name, one holder per lease.',
    watches: isKind('pods', 'nodes', 'leases'),
    journal: 'unused',
    start: () => joined([statefulIdentity(), jobIndex(), nodeName(), leaseHolder()]),
  },
  {
    name: 'budgets',
    summary: 'Evictions never leave fewer healthy pods than a PodDisruptionBudget needs.',
    watches: isKind('pods', 'poddisruptionbudgets'),
    journal: 'unused',
    start: () => disruptionBudget(),
  },
  {
    name: 'orphans',
    summary: 'An object whose owners are all gone is gone a minute later.',
    watches: ({ plural }) => plural !== 'events',
    journal: 'unused',
    start: ({ watched }) => cascade({ watched, patienceMs: orphanPatienceMs }),
  },
  {
    name: 'generation',
    summary: 'status.observedGeneration reaches metadata.generation within 30 s.',
    watches: hasStates,
    journal: 'unused',
    start: () => observedGeneration({ patienceMs: generationPatienceMs }),
  },
  {
    name: 'hot-loop',
    summary:
      'No object is written over and over with states it had, no client writes one more than 240 times a minute, no two undo each other.',
    watches: hasStates,
    journal: 'part',
    withoutJournal:
      'writes that change nothing are not seen, and clients are known by field manager',
    start: (context) =>
      joined([
        hotLoop(),
        undoneWrites(context),
        frequentWrites(context, { most: mostWritesPerMinute }),
      ]),
  },
  {
    name: 'ownership',
    summary:
      'An applied field is not changed by another manager’s update, a field of the status is written by one manager.',
    watches: hasStates,
    journal: 'unused',
    start: () => takenOwnership(),
  },
]
