/** Chainsaw tests (chainsaw.kyverno.io/v1alpha1, kind Test) as scenarios. What is not supported is a fault with its line. */
import { basename } from 'node:path'
import type { Issue, Shape } from '../../../cluster/shape.ts'
import { ScenarioStep } from '../step.ts'
import type { StepKind } from '../step.ts'
import { pathText } from '../../../cluster/path.ts'
import { parseLocated, YamlError } from '../../../cluster/located-yaml.ts'
import type { Path } from '../../../cluster/path.ts'
import { defaultTimeouts, operations } from './chainsaw-operations.ts'
import type { StepData, Timeouts } from './chainsaw-operations.ts'
import { translated, wordOf } from './chainsaw-text.ts'
import type { Unsupported } from './chainsaw-text.ts'

type Data = Readonly<Record<string, unknown>>

export interface ChainsawTest {
  readonly name: string
  readonly description: string
  readonly namespace: string
  readonly variables: Readonly<Record<string, unknown>>
  readonly steps: readonly ScenarioStep[]
}

export interface ChainsawEngine {
  readonly steps: Shape<ScenarioStep[]>
  readonly kinds: readonly StepKind[]
}

export const isChainsaw = (text: string): boolean =>
  /^apiVersion:\s*['"]?chainsaw\.kyverno\.io\//m.test(text)

const isData = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Those that change nothing on a cluster of its own: tests run one after the other, and their objects end with the cluster. */
const specFields = ['description', 'timeouts', 'bindings', 'steps', 'catch', 'namespace']
const idleSpecFields = ['concurrent', 'skipDelete', 'template', 'deletionPropagationPolicy']
const stepFields = ['name', 'description', 'timeouts', 'bindings', 'try', 'catch', 'finally']
const idleStepFields = ['skipDelete', 'template', 'deletionPropagationPolicy']

class Translation {
  readonly faults: Unsupported[] = []
  readonly #file: string
  readonly #engine: ChainsawEngine
  readonly #namespace: string

  constructor(file: string, { engine, namespace }: { engine: ChainsawEngine; namespace: string }) {
    this.#file = file
    this.#engine = engine
    this.#namespace = namespace
  }

  known(value: Data, path: Path, fields: readonly string[]): void {
    for (const name of Object.keys(value)) {
      if (fields.includes(name)) continue
      const message = 'not supported'
      this.faults.push({ path: [...path, name], message })
    }
  }

  bindings(value: unknown, path: Path): Record<string, unknown> {
    const pairs = listIn(value).map((one, index) => {
      const { name, value: given } = isData(one) ? one : {}
      return [String(name), translated(given, [...path, index, 'value'], this.faults)]
    })
    return Object.fromEntries(pairs) as Record<string, unknown>
  }

  timeouts(value: unknown, outer: Timeouts): Timeouts {
    return { ...outer, ...(isData(value) ? value : {}) }
  }

  step(value: unknown, path: Path, outer: { timeouts: Timeouts; catches: Data[] }): ScenarioStep {
    const fields = isData(value) ? value : {}
    this.known(fields, path, [...stepFields, ...idleStepFields])
    const timeouts = this.timeouts(fields['timeouts'], outer.timeouts)
    const part = (name: string): ScenarioStep[] =>
      this.#operations(fields[name], { path: [...path, name], timeouts })
    const tried = part('try')
    const common = this.#operations(outer.catches, { path: ['spec', 'catch'], timeouts })
    const caught = [...part('catch'), ...common]
    const last = part('finally')
    const set = this.bindings(fields['bindings'], [...path, 'bindings'])
    const first = Object.keys(set).length === 0 ? [] : this.#made([{ set }], path)
    const { name, description } = fields
    const own = wordOf(name, wordOf(description))
    const title = own === '' ? tried.map((one) => one.title).join('; ') : own
    if (tried.length === 0 && this.faults.length === 0)
      this.faults.push({ path, message: 'the step has no operation in try' })
    return this.#kept([...first, ...tried], { caught, last, title, path })
  }

  /** A failure stays one, after `catch` and `finally`. */
  #kept(
    steps: readonly ScenarioStep[],
    more: { caught: ScenarioStep[]; last: ScenarioStep[]; title: string; path: Path },
  ): ScenarioStep {
    const { caught, last, title, path } = more
    const params = {
      steps,
      ...(caught.length === 0 ? {} : { onFailure: caught }),
      ...(last.length === 0 ? {} : { finally: last }),
    }
    const kind = this.#engine.kinds.find((one) => one.name === 'try')
    if (kind === undefined) throw new Error('there is no step try')
    return new ScenarioStep({ kind, params, title, path })
  }

  #operations(value: unknown, at: { path: Path; timeouts: Timeouts }): ScenarioStep[] {
    return listIn(value).flatMap((one, index) => {
      const path = [...at.path, index]
      const { description: _, ...operation } = isData(one) ? one : {}
      const { bindings, ...rest } = this.#withoutBindings(operation)
      const [name = '', ...others] = Object.keys(rest)
      const lower = operations[name]
      if (lower === undefined || others.length > 0) {
        const unknown = lower === undefined ? name : (others[0] ?? '')
        const message = `not supported; operations are ${Object.keys(operations).join(', ')}`
        this.faults.push({ path: [...path, unknown], message })
        return []
      }
      const inner = [...path, name]
      const set = this.bindings(bindings, [...inner, 'bindings'])
      const place = {
        file: this.#file,
        path: inner,
        timeouts: at.timeouts,
        namespace: this.#namespace,
        faults: this.faults,
      }
      const data = lower(rest[name], place)
      const first = Object.keys(set).length === 0 ? [] : [{ set }]
      return this.#made([...first, ...data], inner)
    })
  }

  /** Bindings of an operation are beside its other fields. */
  #withoutBindings(operation: Data): Data {
    const [name = ''] = Object.keys(operation)
    const fields = operation[name]
    if (!isData(fields)) return operation
    const { bindings, ...rest } = fields
    return { ...operation, [name]: rest, ...(bindings === undefined ? {} : { bindings }) }
  }

  /** Checked as steps of a scenario; their faults are those of the operation. */
  #made(data: readonly StepData[], path: Path): ScenarioStep[] {
    if (data.length === 0) return []
    const issues: Issue[] = []
    const steps = this.#engine.steps.check(data, path, issues)
    const [issue] = issues
    if (issue !== undefined) this.faults.push({ path, message: issue.message })
    return steps
  }
}

const label = (name: string): string =>
  `chainsaw-${name}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .slice(0, 63)
    .replace(/-+$/, '')

/** The test, or its faults, each with file and line. */
export function parseChainsawTest(
  text: string,
  file: string,
  engine: ChainsawEngine,
): ChainsawTest | readonly string[] {
  let document
  try {
    document = parseLocated(text)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    return [`${file}:${error.line}: ${error.message}`]
  }
  const { apiVersion, kind, metadata, spec } = document.value as Data
  if (apiVersion !== 'chainsaw.kyverno.io/v1alpha1' || kind !== 'Test') {
    const what = `${String(kind)} of ${String(apiVersion)}`
    return [`${file}:1: ${what} is not supported: only Test of chainsaw.kyverno.io/v1alpha1 is`]
  }
  const own = isData(metadata) ? wordOf(metadata['name']) : ''
  const name = own === '' ? basename(file).replace(/\.ya?ml$/, '') : own
  const fields = isData(spec) ? spec : {}
  const namespace = wordOf(fields['namespace'], label(name))
  const translation = new Translation(file, { engine, namespace })
  translation.known(fields, ['spec'], [...specFields, ...idleSpecFields])
  const variables = translation.bindings(fields['bindings'], ['spec', 'bindings'])
  const timeouts = translation.timeouts(fields['timeouts'], defaultTimeouts)
  const catches = listIn(fields['catch']) as Data[]
  const steps = listIn(fields['steps']).map((one, index) =>
    translation.step(one, ['spec', 'steps', index], { timeouts, catches }),
  )
  if (steps.length === 0)
    translation.faults.push({ path: ['spec'], message: 'the test has no step' })
  if (translation.faults.length > 0) {
    return translation.faults.map(
      ({ path, message }) => `${file}:${document.lineOf(path)}: ${pathText(path)}: ${message}`,
    )
  }
  return {
    name,
    description: wordOf(fields['description'], `chainsaw test ${name}`),
    namespace,
    variables: { dollar: '$', namespace, ...variables },
    steps,
  }
}
