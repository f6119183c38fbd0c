/** Root CA publisher: every active namespace has the cluster's authority in a ConfigMap (upstream: certificates/rootcacertpublisher). */
import type { Dialect } from '../api/dialect.ts'
import { labelKey } from '../api/dialect.ts'
import type { ConfigMap, Namespace } from '../api/generated/types.ts'
import { runController, source } from '../client/controller.ts'
import type { Clock } from '../component-base/clock.ts'
import { StartError } from '../component-base/component.ts'
import { isStatusError, StatusError } from '../machinery/objects/status-error.ts'
import type { ControllerEntry } from './controller-context.ts'
import { isActive, isNamespaceEnding } from './namespace-state.ts'
import type { RootCaMetrics } from './root-ca-metrics.ts'

/** The ConfigMap as it must be; undefined when the one there is right already. */
export function wantedRootCa(
  existing: ConfigMap | undefined,
  wanted: { namespace: string; ca: string; dialect: Dialect },
): ConfigMap | undefined {
  const { namespace, ca, dialect } = wanted
  const annotation = labelKey(dialect, '', 'description')
  const description =
    'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints ' +
    `such as the internal service IP or ${dialect.apiServerService}.default.svc. ` +
    'No other usage is guaranteed across distributions of Kubernetes clusters.'
  const data = { 'ca.crt': ca }
  if (existing === undefined) {
    const name = dialect.rootCaConfigMap
    return { metadata: { namespace, name, annotations: { [annotation]: description } }, data }
  }
  const isRight =
    Object.keys(existing.data ?? {}).length === 1 &&
    existing.data?.['ca.crt'] === ca &&
    existing.metadata.annotations?.[annotation] === description
  if (isRight) return undefined
  const annotations = { ...existing.metadata.annotations, [annotation]: description }
  return { ...existing, metadata: { ...existing.metadata, annotations }, data }
}

async function measured(
  { syncs, syncSeconds }: RootCaMetrics,
  clock: Clock,
  act: () => Promise<void>,
): Promise<void> {
  const startedMs = clock.elapsed()
  let code = '200'
  try {
    await act()
  } catch (error) {
    code = error instanceof StatusError ? String(error.code) : '500'
    throw error
  } finally {
    syncs.with(code).inc()
    syncSeconds.with(code).observe((clock.elapsed() - startedMs) / 1000)
  }
}

export const rootCaPublisher: ControllerEntry = {
  name: 'root-ca-certificate-publisher-controller',
  aliases: ['root-ca-cert-publisher'],
  defaultOn: true,
  start: async (context, signal) => {
    const { client, informers, dialect, resources, clock, log, queues, options } = context
    const configMaps = client.resource<ConfigMap>(resources.configMaps)
    const namespaces = informers.informer<Namespace>(resources.namespaces)
    const published = informers.informer<ConfigMap>(resources.configMaps, {
      fieldSelector: `metadata.name=${dialect.rootCaConfigMap}`,
    })
    const file = options['root-ca-file']
    if (file === undefined) {
      log.warn('no authority to publish: --root-ca-file is not set')
      return
    }
    const ca = await context.files.read(file).catch((error: unknown) => {
      throw new StartError(`cannot read --root-ca-file ${file}`, error)
    })
    const publish = async (name: string): Promise<void> => {
      if (!isActive(namespaces.get(name))) return
      const existing = published.get(`${name}/${dialect.rootCaConfigMap}`)
      const wanted = wantedRootCa(existing, { namespace: name, ca, dialect })
      if (wanted === undefined) return
      try {
        if (existing === undefined) await configMaps.create(wanted, { signal })
        else await configMaps.update(wanted, { signal })
      } catch (error) {
        if (!isNamespaceEnding(error) && !isStatusError(error, 'AlreadyExists')) throw error
      }
    }
    await runController(
      {
        queues,
        name: 'root-ca-certificate-publisher-controller',
        informers: [
          source(namespaces),
          source(published, ({ metadata }) => [metadata.namespace ?? '']),
        ],
        reconcile: (name) => measured(context.metrics.rootCa, clock, () => publish(name)),
        clock,
        log,
      },
      signal,
    )
  },
}
