/** Plan file: a plan with its story, as YAML that `skiff explore replay` runs again. */
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { ClusterError } from '../cluster/cluster-error.ts'
import { yamlOf } from '../components/machinery/values/yaml.ts'
import { checkFile, readText } from '../scenarios/engine/checked-file.ts'
import {
  anything,
  choice,
  count,
  described,
  integer,
  list,
  object,
  optional,
  string,
} from '../cluster/shape.ts'
import type { Issue, Shape } from '../cluster/shape.ts'
import type { Plan } from './make-plans.ts'
import type { PlanKind, PlannedFault } from './planned-fault.ts'

const pointShape = object({
  verb: described('As in RBAC.', string),
  resource: described('Such as `configmaps` or `deployments.apps/status`.', string),
  namespace: described('Default: none.', optional(string)),
  name: described('With a star at its end for a generated name.', optional(string)),
  nth: described('Which of several requests like this, from 1. Default: 1.', optional(integer)),
})

const faultFields = object({
  kind: described(
    'What happens.',
    choice(
      'kill-before',
      'kill-after',
      'lose-answer',
      'refuse',
      'late-events',
      'repeat-events',
      'relist',
      'unseen',
      'stale-restart',
      'slow',
    ),
  ),
  at: described('The request that it happens to.', optional(pointShape)),
  code: described('The HTTP status of `refuse`.', optional(integer)),
  resource: described('Whose watches.', optional(string)),
  ms: described('Milliseconds.', optional(count)),
  step: described('A step, from 1.', optional(count)),
  from: described('A step, from 1.', optional(count)),
  to: described('A step, from 1.', optional(count)),
  view: described('The step whose state is shown; 0 is that before the first.', optional(count)),
})

/** What each kind needs beside itself. */
const needs: Readonly<Record<PlannedFault['kind'], readonly string[]>> = {
  'kill-before': ['at'],
  'kill-after': ['at'],
  'lose-answer': ['at'],
  refuse: ['at', 'code'],
  'late-events': ['resource', 'ms'],
  'repeat-events': ['resource'],
  relist: ['resource', 'step'],
  unseen: ['resource', 'from', 'to'],
  'stale-restart': ['step', 'view', 'ms'],
  slow: ['ms'],
}

const faultShape: Shape<PlannedFault> = {
  ...(faultFields as unknown as Shape<PlannedFault>),
  check: (value, path, issues: Issue[]) => {
    const before = issues.length
    const fault = faultFields.check(value, path, issues)
    if (issues.length > before) return fault as unknown as PlannedFault
    for (const field of needs[fault.kind])
      if (!Object.hasOwn(fault, field))
        issues.push({ path, message: `a fault ${fault.kind} needs ${field}` })
    const { at } = fault
    if (at === undefined) return fault as unknown as PlannedFault
    const point = { namespace: '', name: '', nth: 1, ...at }
    return { ...fault, at: point } as unknown as PlannedFault
  },
}

const changeShape = object({
  path: described('Fields from `spec` on.', list(string)),
  value: described('Default: the field is removed.', optional(anything)),
  why: described('For the reader.', optional(string)),
})

const planShape = object({
  story: described('The story, relative to this file.', string),
  kind: described('The kind of plan that it was.', string),
  faults: described('What happens to the controller.', optional(list(faultShape))),
  values: described('The CustomResourceDefinition of `change`.', optional(string)),
  change: described(
    'The value that is changed, from a settled state, and back.',
    optional(changeShape),
  ),
  found: described('What was found, for the reader.', optional(list(string))),
})

export interface PlanFile {
  readonly plan: Plan
  /** Absolute path. */
  readonly story: string
  /** The definition whose values are changed. */
  readonly values?: string | undefined
}

export function planText(
  { plan, story, values }: PlanFile,
  { file, found }: { readonly file: string; readonly found: readonly string[] },
): string {
  const near = relative(dirname(resolve(file)), story)
  const document = {
    story: isAbsolute(near) ? story : near,
    kind: plan.kind,
    ...(plan.change === undefined ? { faults: plan.faults } : { values, change: plan.change }),
    found,
  }
  return `# skiff explore replay ${file} --controller '...'\n${yamlOf(JSON.stringify(document))}`
}

/** Throws a ClusterError that lists every fault. */
export function readPlanFile(file: string): PlanFile {
  const { text, fault } = readText(file)
  const checked =
    text === undefined
      ? { faults: [fault], value: undefined }
      : checkFile(planShape, { text, file, variablesIn: [] })
  const { value } = checked
  if (value === undefined)
    throw new ClusterError('usage', `${file} is not a plan`, {
      details: checked.faults,
      hint: 'skiff explore writes plans: see docs/explore.md',
    })
  const { kind, faults = [], story, values, change } = value
  const changing =
    change === undefined
      ? {}
      : { change: { path: change.path, value: change.value, why: change.why ?? '' } }
  return {
    plan: { kind: kind as PlanKind, faults, ...changing },
    story: resolve(dirname(resolve(file)), story),
    values,
  }
}
