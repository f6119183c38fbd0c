/** Scenario: steps and checks on a cluster, in a YAML file. Errors name file, line and path. */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { nearestName } from '../../components/component-base/flags.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { programs } from '../../cluster/plan/cluster-config.ts'
import {
  anything,
  choice,
  count,
  deferredIn,
  described,
  duration,
  mapping,
  object,
  optional,
  record,
  regularExpression,
  scalar,
  string,
} from './shape.ts'
import type { Issue, Shape, ShapeType } from './shape.ts'
import { ScenarioStep } from './step.ts'
import type { StepKind } from './step.ts'
import { createStepKinds } from './step-kinds.ts'
import { parseLocated, pathText, YamlError } from './yaml.ts'
import type { Path } from './yaml.ts'

const flagsOf = record(scalar)

const clusterShape = object({
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
})

type ScenarioCluster = ShapeType<typeof clusterShape>

export interface Scenario {
  /** The file's name without `.yaml`. */
  readonly name: string
  readonly file: string
  readonly description: string
  readonly cluster: ScenarioCluster
  /** Time limit of all steps together; starting the cluster does not count. */
  readonly timeoutMs: number
  readonly variables: Readonly<Record<string, unknown>>
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

const stepsShape: Shape<ScenarioStep[]> = {
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
  cluster: described('The cluster that the scenario runs on.', optional(clusterShape)),
  timeout: described(
    "Deadline of all steps together, without the cluster's start. Default: 2m.",
    optional(duration),
  ),
  variables: described('Values for `${name}` in steps.', optional(record(anything))),
  steps: described(
    'What happens, in order. The first step that fails ends the scenario.',
    stepsShape,
  ),
})

const defaultTimeoutMs = 120_000

/** Reads a scenario from text. Throws a ScenarioError. */
export function parseScenario(text: string, file: string): Scenario {
  let document
  try {
    document = parseLocated(text)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw new ScenarioError([`${file}:${error.line}: ${error.message}`], error)
  }
  const issues: Issue[] = []
  const checked = scenarioShape.check(document.value, [], issues)
  const { steps: _, variables: __, ...settings } = checked
  for (const { path, text } of issues.length > 0 ? [] : deferredIn(settings)) {
    issues.push({ path, message: `${text} is unknown here: only steps can use variables` })
  }
  if (issues.length > 0) {
    throw new ScenarioError(
      issues.map(({ path, message }) => {
        const where = path.length === 0 ? '' : ` ${pathText(path)}:`
        return `${file}:${document.lineOf(path)}:${where} ${message}`
      }),
    )
  }
  return {
    name: basename(file).replace(/\.ya?ml$/, ''),
    file,
    description: checked.description.trim(),
    cluster: checked.cluster ?? {},
    timeoutMs: checked.timeout ?? defaultTimeoutMs,
    variables: checked.variables ?? {},
    steps: checked.steps,
  }
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'is a directory',
  EACCES: 'permission denied',
}

/** Reads a scenario file. Throws a ScenarioError for an invalid or unreadable file. */
export function readScenario(file: string): Scenario {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ScenarioError([`${file}: ${unreadable[code ?? ''] ?? messageOf(error)}`], error)
  }
  return parseScenario(text, file)
}
