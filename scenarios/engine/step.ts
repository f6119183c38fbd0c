/** Step: one action or check of a scenario. A kind of step has a name, the shape of its parameters, and an implementation. */
import type { Resources } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import type { FindResource } from './find-resource.ts'
import type { KeptProcess } from './kept-process.ts'
import type { ScenarioCluster } from './scenario-cluster.ts'
import type { Shape } from '../../cluster/shape.ts'
import type { RecordedSelection } from './selection.ts'
import type { RecordedHistory } from './selection-record.ts'
import type { Actor } from './actors.ts'
import type { Variables } from './variables.ts'
import type { Path } from '../../cluster/path.ts'

/** The cluster, clients and services of a running step. */
export interface StepContext {
  readonly cluster: ScenarioCluster
  /** The administrator's client. */
  readonly client: Client
  /** Of namespaced objects that name none. */
  readonly namespace: string
  /** The built-in kinds. */
  readonly resources: Resources
  /** The resource of a kind that a step names, built in or defined in the cluster. */
  readonly findResource: FindResource
  readonly clock: Clock
  readonly variables: Variables
  /** Aborts at the step's deadline, and when the run is interrupted. */
  readonly signal: AbortSignal
  /** A client for the actor, which stays open until the scenario ends. */
  readonly clientAs: (actor: Actor) => Promise<Client>
  /** Adds a note to the report. */
  readonly note: (text: string) => void
  /** Registers a cleanup for the end of the scenario. The last registered one runs first. */
  readonly onEnd: (cleanup: () => Promise<void>) => void
  /** Fails the scenario during any step: for processes that run beside the steps. */
  readonly failScenario: (error: Error) => void
  /** Lines of background processes, for the report of a failed step. */
  readonly onFailure: (report: () => readonly string[]) => void
  /** The folder of the scenario's file. */
  readonly folder: string
  /** What has happened since the scenario began. */
  readonly history: RecordedHistory
  /** The scenario's background processes, by name. */
  readonly processes: Map<string, KeptProcess>
  /** Runs nested steps in order. `where` locates them in the report of a failure. */
  readonly runSteps: (
    steps: readonly ScenarioStep[],
    where: string,
    surroundings?: NestedSurroundings,
  ) => Promise<void>
}

/** What nested steps have of their own. */
export interface NestedSurroundings {
  /** Variables of these steps alone, which hide others of the same name. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined
  /** The folder of the file that holds them. */
  readonly folder?: string | undefined
  /** Aborting ends them; the scenario goes on. */
  readonly signal?: AbortSignal | undefined
}

export interface StepKind<P = unknown> {
  /** The key in a scenario file. */
  readonly name: string
  /** One line for documentation. */
  readonly summary: string
  readonly shape: Shape<P>
  /** The default title of a step of this kind. */
  title(params: P): string
  /** What the step selects when it looks back at what has happened since the scenario began. */
  looksBack?(params: P): readonly RecordedSelection[]
  /** Runs the step with resolved parameters. Rejects when the step fails, with an AssertionFailure for a check that fails. */
  run(params: P, context: StepContext): Promise<void>
}

/** Infers the type of the parameters for `title` and `run`. */
export function defineStep<P>(kind: StepKind<P>): StepKind {
  return kind as StepKind
}

/** A step as read from a file. It is a class so that resolving variables skips nested steps, which resolve when they run. */
export class ScenarioStep {
  readonly kind: StepKind
  readonly params: unknown
  readonly title: string
  readonly path: Path
  /** A regular expression: the step must fail with a report that matches. */
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

  /** The same step with other parameters. */
  with(params: unknown): ScenarioStep {
    const { kind, title, path, fails } = this
    return new ScenarioStep({ kind, params, title, path, fails })
  }
}
