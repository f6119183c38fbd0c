/** The context that every controller gets, and an entry of the list of controllers. */
import type { Dialect } from '../api/dialect.ts'
import type { FeatureGateName, FeatureGates } from '../api/feature-gates.ts'
import type { Resources } from '../api/resources.ts'
import type { Client } from '../client/client.ts'
import type { EventRecorder } from '../client/event-recorder.ts'
import type { InformerFactory } from '../client/informer.ts'
import type { WorkQueues } from '../client/work-queue.ts'
import type { Clock } from '../component-base/clock.ts'
import type { Files } from '../component-base/files.ts'
import type { Log } from '../component-base/log.ts'
import type { ControllerMetrics } from './controller-metrics.ts'
import type { ControllerManagerOptions } from './options.ts'

export interface ControllerContext {
  /** Acts with the controller's own identity when the manager runs with --use-service-account-credentials. */
  readonly client: Client
  /** Shared by all controllers of the process; it is started by the manager after every controller has asked for its own. */
  readonly informers: InformerFactory
  readonly dialect: Dialect
  /** `resourcesOf(dialect)`. */
  readonly resources: Resources
  readonly clock: Clock
  readonly files: Files
  /** Bound to the controller's name. */
  readonly log: Log
  readonly recorder: EventRecorder
  /** Queues whose metrics the process shows. */
  readonly queues: WorkQueues
  readonly metrics: ControllerMetrics
  readonly options: ControllerManagerOptions
  readonly gates: FeatureGates
}

/** One controller of the explicit list in controllers.ts. */
export interface ControllerEntry {
  /** Upstream's name: `token-cleaner-controller`. */
  readonly name: string
  /** Older names that --controllers still accepts: `tokencleaner`. */
  readonly aliases: readonly string[]
  /** Upstream's name of it in Events, where that is another. */
  readonly eventSource?: string
  /** Whether `*` includes it. */
  readonly defaultOn: boolean
  /** It runs only while all of these gates are on. */
  readonly gates?: readonly FeatureGateName[]
  /**
   * Asks for its informers synchronously, before its first await, then runs until `signal` aborts and its workers have
   * stopped. A rejection ends the process.
   */
  start(context: ControllerContext, signal: AbortSignal): Promise<void>
}
