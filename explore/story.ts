/** Story: what happens while the controller under test runs, in a YAML file: manifests, steps, and what at rest means. */
import { dirname, resolve } from 'node:path'
import { ClusterError } from '../cluster/cluster-error.ts'
import { checkFile, readText } from '../scenarios/engine/checked-file.ts'
import { stepsShape } from '../scenarios/engine/scenario.ts'
import type { ScenarioStep } from '../scenarios/engine/step.ts'
import {
  anything,
  count,
  described,
  duration,
  list,
  object,
  optional,
  readable,
  record,
  string,
} from '../cluster/shape.ts'

/** Steps that only send requests: they run on any cluster. */
const allowedSteps = ['create', 'apply', 'patch', 'delete', 'expect', 'sleep']

export interface StoryUser {
  readonly user: string
  readonly groups: readonly string[]
}

export interface Story {
  readonly file: string
  readonly description: string
  /** Absolute paths. */
  readonly manifests: readonly string[]
  /** Undefined: the controller may do everything. */
  readonly serviceAccount: string | undefined
  readonly nodes: number
  /** The controller has come to rest when it has done nothing for this long. */
  readonly quietMs: number
  /** How long it may take to come to rest, in the state of the reference. */
  readonly withinMs: number
  /** Paths that are not compared. */
  readonly ignore: readonly string[]
  readonly variables: Readonly<Record<string, unknown>>
  readonly steps: readonly ScenarioStep[]
}

const accountShape = readable('NAMESPACE/NAME', (text) => {
  if (!/^[^/\s]+\/[^/\s]+$/.test(text)) throw new Error(`must be NAMESPACE/NAME, not "${text}"`)
})

const shape = object({
  description: described('What the story is about.', optional(string)),
  manifests: described(
    'Files and folders of manifests that are applied before the controller starts, relative to this file.',
    optional(list(string)),
  ),
  serviceAccount: described(
    'The service account whose rights the controller has, `NAMESPACE/NAME`. Default: it may do everything.',
    optional(accountShape),
  ),
  nodes: described('Nodes of the cluster. Default: 0.', optional(count)),
  quiet: described(
    'The controller has come to rest when it has done nothing for this long. Default: 500ms.',
    optional(duration),
  ),
  within: described(
    'How long the controller may take to come to rest. Default: 10s.',
    optional(duration),
  ),
  ignore: described(
    'Fields that are not compared, such as `status.attempts`.',
    optional(list(string)),
  ),
  variables: described('Values for `${name}` in steps.', optional(record(anything))),
  steps: described('What happens, in order.', stepsShape),
})

function refused(file: string, faults: readonly string[]): ClusterError {
  return new ClusterError('usage', `${file} is not a story that can be told`, {
    details: faults,
    hint: 'see docs/explore.md for the fields of a story',
  })
}

/** Throws a ClusterError that lists every fault. */
export function parseStory(text: string, file: string): Story {
  const { value, faults } = checkFile(shape, { text, file, variablesIn: ['steps', 'variables'] })
  if (value === undefined) throw refused(file, faults)
  const foreign = value.steps.filter(
    ({ kind, fails }) => !allowedSteps.includes(kind.name) || fails,
  )
  if (foreign.length > 0) {
    const names = foreign.map(({ kind }) => `${file}: a story has no step ${kind.name}`)
    throw refused(file, [...names, `its steps are ${allowedSteps.join(', ')}`])
  }
  const folder = dirname(resolve(file))
  return {
    file,
    description: value.description ?? '',
    manifests: (value.manifests ?? []).map((one) => resolve(folder, one)),
    serviceAccount: value.serviceAccount,
    nodes: value.nodes ?? 0,
    quietMs: value.quiet ?? 500,
    withinMs: value.within ?? 10_000,
    ignore: value.ignore ?? [],
    variables: value.variables ?? {},
    steps: value.steps,
  }
}

export function readStory(file: string): Story {
  const { text, fault } = readText(file)
  if (text === undefined) throw refused(file, [fault])
  return parseStory(text, file)
}

/** As RBAC knows a service account; without one, an administrator under a name of its own. */
export function userOf({ serviceAccount }: Pick<Story, 'serviceAccount'>): StoryUser {
  if (serviceAccount === undefined)
    return { user: 'controller-under-test', groups: ['system:masters'] }
  const [namespace = '', name = ''] = serviceAccount.split('/')
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
  }
}
