/** The balancer's process: checks, listeners and the backends file, from start to stop. */
import { aborted } from '../component-base/aborted.ts'
import { StartError } from '../component-base/component.ts'
import type { ComponentContext } from '../component-base/component.ts'
import { readFlagFile } from '../component-base/flag-file.ts'
import { openFollowedValue } from '../component-base/followed-value.ts'
import { BackendSet } from './backend-set.ts'
import type { Backend } from './backend.ts'
import { parseBackends } from './backends-file.ts'
import { createBalancerMetrics } from './balancer-metrics.ts'
import { parseEndpoint } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'
import { openListener } from './listener.ts'
import type { loadBalancerFlags } from './options.ts'
import { followReadiness } from './readiness-check.ts'
import type { CheckOptions } from './readiness-check.ts'
import { openStatusListener } from './status-listener.ts'

type Context = ComponentContext<typeof loadBalancerFlags>

interface Settings {
  readonly backendsFile: string
  readonly ca: string
  readonly status: Endpoint
}

function settingsOf({ options }: Context): Settings {
  const { 'backends-file': backendsFile, 'certificate-authority': caFile } = options
  if (backendsFile === undefined) throw new StartError('--backends-file is needed')
  if (caFile === undefined) throw new StartError('--certificate-authority is needed')
  const status = parseEndpoint(options['metrics-bind-address'])
  if (status === undefined) {
    throw new StartError(
      `invalid --metrics-bind-address "${options['metrics-bind-address']}": must be HOST:PORT`,
    )
  }
  return { backendsFile, ca: readFlagFile('certificate-authority', caFile), status }
}

/** Starts and ends the checks of backends as they come and go. */
class Checks {
  readonly #options: CheckOptions
  readonly #signal: AbortSignal
  readonly #running = new Map<Backend, AbortController>()

  constructor(options: CheckOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
  }

  /** Resolves when each added backend was checked once. */
  async follow(added: readonly Backend[], removed: readonly Backend[] = []): Promise<void> {
    for (const backend of removed) {
      this.#running.get(backend)?.abort()
      this.#running.delete(backend)
    }
    await Promise.all(
      added.map(async (backend) => {
        const end = new AbortController()
        this.#running.set(backend, end)
        const signal = AbortSignal.any([this.#signal, end.signal])
        await new Promise<void>((resolve) => {
          void followReadiness(backend, this.#options, { signal, onFirst: resolve })
        })
      }),
    )
  }
}

export async function runLoadBalancer(context: Context): Promise<void> {
  const { options, clock, log, signal } = context
  const { backendsFile, ca, status: statusAt } = settingsOf(context)
  const file = await openFollowedValue([['backends-file', backendsFile]], ([text = '']) =>
    parseBackends(text),
  )
  const backends = new BackendSet({
    healthy: options['healthy-threshold'],
    unhealthy: options['unhealthy-threshold'],
  })
  const metrics = createBalancerMetrics(backends)
  const ended = new AbortController()
  const checks = new Checks(
    {
      ca,
      serverName: options['tls-server-name'],
      clock,
      log,
      intervalMs: options['check-interval'],
      timeoutMs: options['check-timeout'],
      onResult: ({ name }, succeeded) =>
        metrics.checks.with(name, succeeded ? 'success' : 'failure').inc(),
    },
    ended.signal,
  )
  const notReady = (): string | undefined =>
    backends.all.some(({ isReady }) => isReady) ? undefined : 'no backend is ready'
  const status = await openStatusListener(statusAt, {
    notReady,
    metrics: () => metrics.metrics.text(),
  }).catch((error: Error) => {
    throw new StartError(error.message, error)
  })
  try {
    await checks.follow(backends.replace(file.current).added)
    const listener = await openListener({
      at: { host: options['bind-address'], port: options.port },
      backends,
      metrics,
      clock,
      log,
      connectTimeoutMs: options['connect-timeout'],
      mostConnections: options['max-connections'],
    }).catch((error: Error) => {
      throw new StartError(error.message, error)
    })
    context.ready({ port: listener.port, metricsPort: status.port })
    await Promise.race([
      aborted(signal),
      file.follow({ clock, log, signal }, (next) => {
        const { added, removed } = backends.replace(next)
        void checks.follow(added, removed)
      }),
    ])
    await listener.close(options['drain-timeout'])
  } finally {
    ended.abort()
    await status.close()
  }
}
