/** A controller in this process against a real API server, as its administrator. */
import { diskFiles } from '../../components/component-base/files.ts'
import { defaultFeatureGates } from '../../components/api/feature-gates.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createClient } from '../../components/client/client.ts'
import type { Client } from '../../components/client/client.ts'
import { createInformerFactory } from '../../components/client/informer.ts'
import { createWorkQueue } from '../../components/client/work-queue.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { parseFlags } from '../../components/component-base/flags.ts'
import { silentLog } from '../../components/component-base/log.ts'
import type { ControllerEntry } from '../../components/controller-manager/controller-context.ts'
import { controllerManagerFlags } from '../../components/controller-manager/options.ts'
import { admin } from './api-client.ts'
import type { TestApiServer } from './api-server.ts'
import { unseenMetrics } from './unseen-metrics.ts'

/** A typed client of the server, or of what listens before it at another port, as the server's administrator. */
function adminClient(server: TestApiServer, port: number): Client {
  const shown = server.credential(admin)
  return createClient({
    server: `https://127.0.0.1:${port}`,
    ca: server.pki.authority.certificatePem,
    credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
    dialect: server.dialect,
  })
}

/**
 * Runs the controllers until disposed of, with the manager's flags as on the command line; by default at the server's port. Resolves when their informers have
 * seen the server. They record no events.
 */
export async function startControllers(
  server: TestApiServer,
  entries: readonly Pick<ControllerEntry, 'name' | 'start'>[],
  options: { readonly flags?: readonly string[]; readonly port?: number } = {},
): Promise<AsyncDisposable> {
  const { dialect } = server
  const { flags = [], port = server.port } = options
  const client = adminClient(server, port)
  const stop = new AbortController()
  const informers = createInformerFactory(client, systemClock, silentLog)
  const context = {
    client,
    informers,
    dialect,
    resources: resourcesOf(dialect),
    files: diskFiles,
    clock: systemClock,
    log: silentLog,
    recorder: { record: () => {}, run: async () => {} },
    metrics: unseenMetrics(),
    queues: () => createWorkQueue({ clock: systemClock }),
    gates: defaultFeatureGates,
    options: parseFlags(controllerManagerFlags, flags),
  }
  const running = entries.map((entry) => entry.start(context, stop.signal))
  running.push(informers.run(stop.signal))
  await informers.ready()
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error('the test is over'))
      await Promise.allSettled(running)
      client.close()
    },
  }
}
