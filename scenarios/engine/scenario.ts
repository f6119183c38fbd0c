/** Scenario: steps and checks on a cluster, in a YAML file. Errors name file, line and path. */
import { basename, dirname, resolve } from 'node:path'
import { nearestName } from '../../components/component-base/flags.ts'
import { programs } from '../../cluster/plan/cluster-config.ts'
import { isChainsaw, parseChainsawTest } from './chainsaw/chainsaw-test.ts'
import { checkFile, readText } from './checked-file.ts'
import {
  anything,
  choice,
  count,
  described,
  duration,
  list,
  mapping,
  object,
  optional,
  record,
  regularExpression,
  scalar,
  string,
} from '../../cluster/shape.ts'
import type { Issue, Shape, ShapeType } from '../../cluster/shape.ts'
import { monitorsShape, type ScenarioMonitors } from './scenario-monitors.ts'
import { ScenarioStep } from './step.ts'
import type { StepKind } from './step.ts'
import { variableName } from './steps/each.ts'
import { contradictingFaults } from './contradicting-faults.ts'
import { resolveIncludes } from './included-files.ts'
import { createStepKinds } from './step-kinds.ts'
import type { Path } from '../../cluster/path.ts'

const flagsOf = record(scalar)

const clusterFields = {
  nodes: described('Nodes, each a process of its own.', optional(count)),
  simulatedNodes: described('Simulated nodes, up to 1,250 in a process.', optional(count)),
  dialect: described(
    'Names of API groups, labels and namespaces.',
    optional(choice('kubernetes', 'svc')),
  ),
  flags: described(
    'Further flags, by component.',
    optional(
      object(
        Object.fromEntries(programs.map((program) => [program, optional(flagsOf)])) as Record<
          (typeof programs)[number],
          ReturnType<typeof optional<Record<string, string>>>
        >,
      ),
    ),
  ),
}

export const clusterShape = object(clusterFields)

const scenarioClusterShape = object({
  ...clusterFields,
  stages: described(
    "Stage files of kwok that the cluster plays, or `default` for kwokctl's own stages; paths from the folder of this file.",
    optional(list(string)),
  ),
})

type ClusterSettings = ShapeType<typeof scenarioClusterShape>

export interface Scenario {
  /** The file's name without `.yaml`. */
  readonly name: string
  readonly file: string
  readonly description: string
  readonly cluster: ClusterSettings
  /** Time limit of all steps together; starting the cluster does not count. */
  readonly timeoutMs: number
  readonly variables: Readonly<Record<string, unknown>>
  /** Of namespaced objects that name none; made when the scenario begins. Default: `default`, which is there. */
  readonly namespace?: string | undefined
  /** Variables that a file which includes this one has to give. */
  readonly parameters?: readonly string[] | undefined
  /** The scenario runs once for each combination of these variables' values. */
  readonly matrix?: Readonly<Record<string, readonly unknown[]>> | undefined
  /** Absolute paths of the files that it includes. */
  readonly includes?: readonly string[] | undefined
  /** Undefined: none. */
  readonly monitors?: ScenarioMonitors | undefined
  readonly steps: readonly ScenarioStep[]
}

/** An invalid scenario file; one line per fault, each with file, line and path. */
export class ScenarioError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[], cause?: unknown) {
    super(faults.join('\n'), cause === undefined ? undefined : { cause })
    this.name = 'ScenarioError'
    this.faults = faults
  }
}

/** A step is a mapping from its kind to its parameters, with an optional title (`name`) and expected failure (`fails`). */
function checkStep(value: unknown, at: { path: Path; issues: Issue[] }): ScenarioStep | undefined {
  const { path, issues } = at
  const before = issues.length
  const step = mapping.check(value, path, issues)
  if (issues.length > before) return undefined
  const { name, fails, ...rest } = step
  const [key, ...others] = Object.keys(rest)
  const names = stepKinds.map((kind) => kind.name)
  if (key === undefined) {
    issues.push({ path, message: `the step is empty; it needs one of ${names.join(', ')}` })
    return undefined
  }
  if (others.length > 0) {
    issues.push({
      path,
      message: `a step has one kind; this one has ${[key, ...others].join(', ')}`,
    })
    return undefined
  }
  const kind = stepKinds.find((one) => one.name === key)
  if (kind === undefined) {
    const nearest = nearestName(key, names)
    const hint =
      nearest === undefined ? `known are ${names.join(', ')}` : `did you mean ${nearest}?`
    issues.push({ path: [...path, key], message: `unknown step; ${hint}` })
    return undefined
  }
  const params = kind.shape.check(rest[key], [...path, key], issues)
  const pattern =
    fails === undefined ? undefined : regularExpression.check(fails, [...path, 'fails'], issues)
  const ownTitle = name === undefined ? undefined : string.check(name, [...path, 'name'], issues)
  if (issues.length > before) return undefined
  const failing = pattern === undefined ? '' : ` (fails: ${pattern})`
  const title = String(ownTitle ?? `${kind.title(params)}${failing}`)
  return new ScenarioStep({ kind, params, title, path, fails: pattern && String(pattern) })
}

export const stepsShape: Shape<ScenarioStep[]> = {
  what: 'a list of steps',
  schema: { $ref: '#/definitions/steps' },
  check: (value, path, issues) => {
    if (!Array.isArray(value)) {
      issues.push({ path, message: 'must be a list of steps' })
      return []
    }
    if (value.length === 0) issues.push({ path, message: 'has no step' })
    return value
      .map((one: unknown, index) => checkStep(one, { path: [...path, index], issues }))
      .filter((step) => step !== undefined)
  },
}

export const stepKinds: readonly StepKind[] = createStepKinds(stepsShape)

export const scenarioShape = object({
  description: described('What the scenario shows; `skiff scenario list` prints it.', string),
  cluster: described('The cluster that the scenario runs on.', optional(scenarioClusterShape)),
  timeout: described(
    "Deadline of all steps together, without the cluster's start. Default: 2m.",
    optional(duration),
  ),
  variables: described('Values for `${name}` in steps.', optional(record(anything))),
  parameters: described(
    'Variables without a value of their own: a file that includes this one has to give them.',
    optional(list(variableName)),
  ),
  matrix: described(
    'Variables with a list of values each: the scenario runs once for each combination, and reports each apart.',
    optional(record(list(anything))),
  ),
  monitors: described(
    '`all`, or a list of monitors: rules that must hold all the time. A violation fails the scenario.',
    optional(monitorsShape),
  ),
  steps: described(
    'What happens, in order. The first step that fails ends the scenario.',
    stepsShape,
  ),
})

const defaultTimeoutMs = 120_000
/** Its operations have deadlines of their own. */
const chainsawTimeoutMs = 600_000

/** Reads a scenario from text, and the files that it includes. Throws a ScenarioError. */
export function parseScenario(text: string, file: string): Scenario {
  if (isChainsaw(text)) return chainsawScenario(text, file)
  const scenario = parseIncluding(text, file, [resolve(file)])
  const [parameter] = scenario.parameters ?? []
  if (parameter === undefined) return scenario
  throw new ScenarioError([
    `${file}: has parameters (${scenario.parameters?.join(', ') ?? ''}): include it in another file, and give them there`,
  ])
}

function chainsawScenario(text: string, file: string): Scenario {
  const test = parseChainsawTest(text, file, { steps: stepsShape, kinds: stepKinds })
  if ('steps' in test) return { ...test, file, cluster: {}, timeoutMs: chainsawTimeoutMs }
  throw new ScenarioError(test)
}

/** `chain`: the files that include each other, this one last. */
function parseIncluding(text: string, file: string, chain: readonly string[]): Scenario {
  const {
    value: checked,
    faults,
    cause,
    faultAt,
    placeOf,
  } = checkFile(scenarioShape, { text, file, variablesIn: ['steps', 'variables', 'matrix'] })
  if (checked === undefined) throw new ScenarioError(faults, cause)
  const empty = Object.entries(checked.matrix ?? {}).find(([, values]) => values.length === 0)
  if (empty !== undefined)
    throw new ScenarioError([faultAt({ path: ['matrix', empty[0]], message: 'has no value' })])
  const contradictions = contradictingFaults(checked.steps, placeOf)
  if (contradictions.length > 0) throw new ScenarioError(contradictions)
  const { steps, files, issues } = resolveIncludes(checked.steps, {
    file,
    chain,
    read: readIncluded,
  })
  const included = issues.map((one) => ('fault' in one ? one.fault : faultAt(one)))
  if (included.length > 0) throw new ScenarioError([...new Set(included)])
  return {
    name: basename(file).replace(/\.ya?ml$/, ''),
    file,
    description: checked.description.trim(),
    cluster: withStages(checked.cluster ?? {}, file),
    timeoutMs: checked.timeout ?? defaultTimeoutMs,
    variables: checked.variables ?? {},
    monitors: checked.monitors,
    steps,
    ...(checked.parameters === undefined ? {} : { parameters: checked.parameters }),
    ...(checked.matrix === undefined ? {} : { matrix: checked.matrix }),
    ...(files.length === 0 ? {} : { includes: files }),
  }
}

/** Its stages by paths that can be read. */
function withStages({ stages, ...rest }: ClusterSettings, file: string): ClusterSettings {
  if (stages === undefined) return rest
  const paths = stages.map((one) => (one === 'default' ? one : resolve(dirname(file), one)))
  return { ...rest, stages: paths }
}

function readIncluded(file: string, chain: readonly string[]): Scenario | readonly string[] {
  const { text, fault } = readText(file)
  if (text === undefined) return [fault]
  try {
    return parseIncluding(text, file, chain)
  } catch (error) {
    if (error instanceof ScenarioError) return error.faults
    throw error
  }
}

/** Reads a scenario file. Throws a ScenarioError for an invalid or unreadable file. */
export function readScenario(file: string): Scenario {
  const { text, fault, cause } = readText(file)
  if (text === undefined) throw new ScenarioError([fault], cause)
  return parseScenario(text, file)
}
