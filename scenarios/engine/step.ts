/** Step: one thing a scenario does or checks. A kind of step is a name, the shape of what may stand under it, and what it does. */
import type { Resources } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import type { FindResource } from './find-resource.ts'
import type { KeptProcess } from './kept-process.ts'
import type { Shape } from './shape.ts'
import type { Actor } from './actors.ts'
import type { Variables } from './variables.ts'
import type { Path } from './yaml.ts'

/** What a step works with. */
export interface StepContext {
  readonly cluster: Cluster
  /** The administrator's client. */
  readonly client: Client
  /** The built-in kinds. */
  readonly resources: Resources
  /** The resource of a kind that a step names, built in or defined in the cluster. */
  readonly findResource: FindResource
  readonly clock: Clock
  readonly variables: Variables
  /** Aborts at the step's deadline, and when the run is interrupted. */
  readonly signal: AbortSignal
  /** A client as that actor; it lives as long as the scenario. */
  readonly clientAs: (actor: Actor) => Promise<Client>
  /** A remark for the report. */
  readonly note: (text: string) => void
  /** Runs at the scenario's end, last one first. */
  readonly onEnd: (cleanup: () => Promise<void>) => void
  /** Fails the scenario, whatever step is running: for what goes on beside the steps. */
  readonly failScenario: (error: Error) => void
  /** Lines for the report of a step that fails: what went on beside it. */
  readonly onFailure: (report: () => readonly string[]) => void
  /** The folder of the scenario's file. */
  readonly folder: string
  /** What the scenario keeps running, by name. */
  readonly processes: Map<string, KeptProcess>
  /** Runs nested steps one after the other, as part of this one; `where` names this part in the report of a failure. */
  readonly runSteps: (steps: readonly ScenarioStep[], where: string) => Promise<void>
}

export interface StepKind<P = unknown> {
  /** The key it has in a scenario file. */
  readonly name: string
  /** One line for documentation. */
  readonly summary: string
  readonly shape: Shape<P>
  /** What a report calls a step of this kind that has no title of its own. */
  title(params: P): string
  /** Parameters come with their variables resolved. Rejects when it fails; an assertion with an AssertionFailure. */
  run(params: P, context: StepContext): Promise<void>
}

/** Keeps the exact type of the parameters for `title` and `run`. */
export function defineStep<P>(kind: StepKind<P>): StepKind {
  return kind as StepKind
}

/** A step of a scenario as it was read; a class of its own, so that its texts are resolved no earlier than it runs. */
export class ScenarioStep {
  readonly kind: StepKind
  readonly params: unknown
  readonly title: string
  readonly path: Path
  /** A regular expression: the step has to fail, with a report that fits. */
  readonly fails: string | undefined
  constructor(step: {
    kind: StepKind
    params: unknown
    title: string
    path: Path
    fails?: string | undefined
  }) {
    this.kind = step.kind
    this.params = step.params
    this.title = step.title
    this.path = step.path
    this.fails = step.fails
  }
}

/** A check that did not hold: what was expected, what was there, and how that changed meanwhile. */
export class AssertionFailure extends Error {
  readonly expected: readonly string[]
  readonly actual: readonly string[]
  readonly history: readonly string[]
  constructor(report: {
    message: string
    expected: readonly string[]
    actual: readonly string[]
    history?: readonly string[]
    cause?: unknown
  }) {
    super(report.message, report.cause === undefined ? undefined : { cause: report.cause })
    this.name = 'AssertionFailure'
    this.expected = report.expected
    this.actual = report.actual
    this.history = report.history ?? []
  }

  /** The whole report as lines of text. */
  lines(): string[] {
    const part = (title: string, lines: readonly string[]): string[] =>
      lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)]
    return [
      this.message,
      ...part('expected', this.expected),
      ...part('there was', this.actual),
      ...part('meanwhile', this.history),
    ]
  }
}
