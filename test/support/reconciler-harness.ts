/**
 * Runs several controllers together on one FakeCluster and FakeClock, with what they recorded and complained of. Each may do
 * what the default roles allow it.
 */
import { diskFiles } from '../../components/component-base/files.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import { parseFeatureGates } from '../../components/api/feature-gates.ts'
import type { FeatureGates } from '../../components/api/feature-gates.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Resources } from '../../components/api/resources.ts'
import type { RecordedEvent } from '../../components/client/event-recorder.ts'
import { createInformerFactory } from '../../components/client/informer.ts'
import { createWorkQueue } from '../../components/client/work-queue.ts'
import { servedRelease } from '../../components/api/lifecycle.ts'
import { silentLog } from '../../components/component-base/log.ts'
import type { Log, LogFields } from '../../components/component-base/log.ts'
import { createMetrics } from '../../components/component-base/metrics.ts'
import type {
  ControllerContext,
  ControllerEntry,
} from '../../components/controller-manager/controller-context.ts'
import { declareControllerMetrics } from '../../components/controller-manager/controller-metrics.ts'
import { controllerManagerFlags } from '../../components/controller-manager/options.ts'
import type { ControllerManagerOptions } from '../../components/controller-manager/options.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import { defaultRights, userOfController } from './component-rights.ts'
import { FakeCluster } from './fake-client.ts'
import { FakeClock, settle } from './fake-clock.ts'

const defaults = Object.fromEntries(
  Object.entries(controllerManagerFlags).map(([name, { default: value }]) => [name, value]),
) as ControllerManagerOptions

export interface ReconcilerHarness {
  readonly cluster: FakeCluster
  readonly clock: FakeClock
  readonly resources: Resources
  /** `Warning FailedCreate Deployment default/web: message`, in order. */
  readonly events: string[]
  /** What the controllers logged as an error or a warning. */
  readonly complaints: string[]
  readonly context: ControllerContext
  /** What the controllers show under that name, without its help: a line for each series. */
  readonly shown: (metric: string) => string[]
  /** Runs the controllers; call it once the cluster holds what they are to find. */
  start(...entries: readonly Pick<ControllerEntry, 'name' | 'start'>[]): Promise<void>
  /** Moves time; with no argument lets everything that is due run. */
  step(ms?: number): Promise<void>
  /** Stops everything, and fails if a controller failed. */
  stop(): Promise<void>
}

const plain = (_: string, value: unknown): unknown =>
  value instanceof Error ? (value.stack ?? value.message) : value

/** `{label="x"} 1` of a counter or gauge; of a histogram `{label="x"} COUNT, SUM`. */
function shownLines(text: string, metric: string): string[] {
  const sums = new Map<string, string>()
  const lines: string[] = []
  for (const line of text.split('\n')) {
    if (!line.startsWith(metric)) continue
    const rest = line.slice(metric.length)
    const [, suffix = '', labels = '', value = ''] =
      /^(_sum|_count|)(\{.*\}|) (\S+)$/.exec(rest) ?? []
    if (value === '') continue
    if (suffix === '_sum') sums.set(labels, value)
    else if (suffix === '_count') lines.push(`${labels} ${value}, ${sums.get(labels)}`.trim())
    else lines.push(`${labels} ${value}`.trim())
  }
  return lines
}

export function createReconcilerHarness(
  options: {
    dialect?: Dialect
    flags?: Partial<ControllerManagerOptions>
    gates?: Partial<FeatureGates>
    seed?: number
    /** To go on with what another harness left behind. */
    cluster?: FakeCluster
  } = {},
): ReconcilerHarness {
  const clock =
    (options.cluster?.clock as FakeClock | undefined) ??
    new FakeClock('2025-01-01T00:00:00Z', options.seed)
  const cluster = options.cluster ?? new FakeCluster(clock, options.dialect)
  const { dialect } = cluster
  const resources = resourcesOf(dialect)
  const events: string[] = []
  const complaints: string[] = []
  const gates: FeatureGates = {
    ...parseFeatureGates(options.flags?.['feature-gates'] ?? '').gates,
    ...options.gates,
  }
  const rightsOf = defaultRights(dialect, gates)
  const clientOf = (user: string) => cluster.client(rightsOf(user))
  const client = clientOf('system:kube-controller-manager')
  const stop = new AbortController()
  let running: Promise<void>[] = []
  const complain =
    (level: string) =>
    (message: string, fields?: LogFields): void =>
      void complaints.push(`${level}: ${message} ${JSON.stringify(fields, plain)}`)
  const log: Log = {
    ...silentLog,
    warn: complain('warn'),
    error: complain('error'),
    with: () => log,
  }
  const informers = createInformerFactory(client, clock, log)
  const record = (about: KubeObject, { type, reason, message }: RecordedEvent): void => {
    events.push(`${type} ${reason} ${about.kind} ${keyOf(about)}: ${message}`)
  }
  const metrics = createMetrics({ release: servedRelease })
  const context: ControllerContext = {
    client,
    informers,
    dialect,
    resources,
    files: diskFiles,
    clock,
    log,
    recorder: { record, run: async () => {} },
    queues: (_, delays) => createWorkQueue({ clock, ...delays }),
    metrics: declareControllerMetrics(metrics, dialect),
    options: { ...defaults, ...options.flags },
    gates,
  }
  return {
    cluster,
    clock,
    resources,
    events,
    complaints,
    context,
    shown: (metric) => shownLines(metrics.text(), metric),
    start: async (...entries) => {
      running = entries.map((entry) => {
        const own = clientOf(userOfController(entry.name, dialect))
        return entry.start({ ...context, client: own }, stop.signal)
      })
      running.push(informers.run(stop.signal))
      await settle(20)
    },
    step: async (ms = 0) => {
      await clock.step(ms)
      await settle(20)
    },
    stop: async () => {
      stop.abort(new Error('the test is over'))
      await settle(20)
      await Promise.all(running)
      running = []
    },
  }
}
