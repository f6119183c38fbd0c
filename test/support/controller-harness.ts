/** Runs one controller, with the rights of its default role, against the in-memory cluster, on a clock that the test steps. */
import { diskFiles } from '../../components/component-base/files.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import { dialects } from '../../components/api/dialect.ts'
import { defaultFeatureGates } from '../../components/api/feature-gates.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Resources } from '../../components/api/resources.ts'
import { createInformerFactory } from '../../components/client/informer.ts'
import { createWorkQueue } from '../../components/client/work-queue.ts'
import type { RecordedEvent } from '../../components/client/event-recorder.ts'
import { parseFlags } from '../../components/component-base/flags.ts'
import { servedRelease } from '../../components/api/lifecycle.ts'
import { silentLog } from '../../components/component-base/log.ts'
import type { Log } from '../../components/component-base/log.ts'
import { createMetrics } from '../../components/component-base/metrics.ts'
import type { ControllerEntry } from '../../components/controller-manager/controller-context.ts'
import { declareControllerMetrics } from '../../components/controller-manager/controller-metrics.ts'
import { controllerManagerFlags } from '../../components/controller-manager/options.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import { defaultRights, userOfController } from './component-rights.ts'
import { FakeClock, settle, settleFiles } from './fake-clock.ts'
import { FakeCluster } from './fake-client.ts'

export interface Harness {
  readonly clock: FakeClock
  readonly cluster: FakeCluster
  readonly dialect: Dialect
  readonly resources: Resources
  /** Events recorded, as `Warning Reason Kind key: message`. */
  readonly events: string[]
  /** All metrics, as the process shows them. */
  readonly metricsText: () => string
  /** Starts the controller, waits for its informers, and lets it work on what is there. */
  readonly start: (entry: ControllerEntry) => Promise<void>
  /** Lets the controller take in what the test has changed. */
  readonly settle: () => Promise<void>
  /** Moves time on, and lets the controller take in what happened. */
  readonly step: (ms?: number) => Promise<void>
  readonly stop: () => Promise<void>
}

export function createHarness(
  options: {
    readonly dialect?: Dialect
    /** Flags as on the command line. */
    readonly flags?: readonly string[]
    readonly log?: Log
    readonly now?: string
  } = {},
): Harness {
  const { dialect = dialects.kubernetes, flags = [], log = silentLog } = options
  const clock = new FakeClock(options.now)
  const metrics = createMetrics({ release: servedRelease })
  const controllerMetrics = declareControllerMetrics(metrics, dialect)
  const cluster = new FakeCluster(clock, dialect)
  const resources = resourcesOf(dialect)
  const events: string[] = []
  const recorder = {
    record: (about: KubeObject, { type, reason, message }: RecordedEvent): void =>
      void events.push(`${type} ${reason} ${about.kind} ${keyOf(about)}: ${message}`),
    run: async (): Promise<void> => {},
  }
  const controller = new AbortController()
  const running: Promise<void>[] = []
  return {
    clock,
    cluster,
    dialect,
    resources,
    events,
    metricsText: () => metrics.text(),
    start: async (entry) => {
      const rightsOf = defaultRights(dialect)
      const client = cluster.client(rightsOf(userOfController(entry.name, dialect)))
      const manager = cluster.client(rightsOf('system:kube-controller-manager'))
      const informers = createInformerFactory(manager, clock, log)
      const context = {
        client,
        informers,
        dialect,
        resources,
        files: diskFiles,
        clock,
        log,
        recorder,
        queues: () => createWorkQueue({ clock }),
        metrics: controllerMetrics,
        options: parseFlags(controllerManagerFlags, flags),
        gates: defaultFeatureGates,
      }
      const { signal } = controller
      running.push(entry.start(context, signal), informers.run(signal))
      await informers.ready()
      await settleFiles()
    },
    settle: () => settle(20),
    step: async (ms = 0) => {
      await settle(20)
      await clock.step(ms)
      await settle(20)
    },
    stop: async () => {
      controller.abort(new Error('the test is over'))
      await Promise.all(running)
    },
  }
}
