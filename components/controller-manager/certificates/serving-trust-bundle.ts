/**
 * Publishes the authority of the API servers' certificates as a ClusterTrustBundle, and removes the bundle of an earlier one
 * (upstream: pkg/controller/certificates/clustertrustbundlepublisher; KEP-3257).
 */
import { createHash } from 'node:crypto'
import { labelKey } from '../../api/dialect.ts'
import { runController, source } from '../../client/controller.ts'
import { StartError } from '../../component-base/component.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'

const name = 'kube-apiserver-serving-clustertrustbundle-publisher-controller'
/** There is one thing to do, whichever bundle changes. */
const onlyKey = 'bundles'

interface ClusterTrustBundle extends KubeObject {
  readonly spec?: { readonly signerName?: string; readonly trustBundle?: string }
}

/** `kubernetes.io:kube-apiserver-serving:` and a hash of the bundle. */
export function bundleName(signerName: string, trustBundle: string): string {
  const hash = createHash('sha256').update(trustBundle).digest('hex').slice(0, 24)
  return `${signerName.replaceAll('/', ':')}:${hash}`
}

/** Publishes `trustBundle` until `signal` aborts. */
export async function publishTrustBundle(
  trustBundle: string,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues } = context
  const signerName = labelKey(dialect, '', 'kube-apiserver-serving')
  const wanted = bundleName(signerName, trustBundle)
  const bundles = informers.informer<ClusterTrustBundle>(resources.clusterTrustBundles)
  const bundleClient = client.resource<ClusterTrustBundle>(resources.clusterTrustBundles)
  const publish = async (): Promise<void> => {
    const found = bundles.get(wanted)
    const spec = { signerName, trustBundle }
    if (found === undefined) await bundleClient.create({ metadata: { name: wanted }, spec })
    else if (found.spec?.trustBundle !== trustBundle) {
      await bundleClient.update({ ...found, spec: { ...found.spec, trustBundle } })
    }
  }
  const removeOthers = async (): Promise<void> => {
    for (const { metadata, spec } of bundles.list()) {
      if (spec?.signerName !== signerName || metadata.name === wanted) continue
      try {
        await bundleClient.delete({ name: metadata.name ?? '' })
      } catch (error) {
        if (!isStatusError(error, 'NotFound')) throw error
      }
    }
  }
  await runController(
    {
      name,
      informers: [source(bundles, () => [onlyKey])],
      initialKeys: [onlyKey],
      reconcile: async () => {
        await publish()
        await removeOthers()
      },
      clock,
      log,
      queue: queues('ca_cert_publisher_cluster_trust_bundles'),
    },
    signal,
  )
}

async function start(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { log, options, informers, resources } = context
  const file = options['root-ca-file']
  if (file === undefined) {
    log.warn('no authority to publish: --root-ca-file is not set')
    return
  }
  // Informers are asked for before the first await.
  informers.informer(resources.clusterTrustBundles)
  const trustBundle = await context.files.read(file).catch((error: unknown) => {
    throw new StartError(`cannot read --root-ca-file ${file}`, error)
  })
  await publishTrustBundle(trustBundle, context, signal)
}

export const servingTrustBundle: ControllerEntry = {
  name,
  aliases: [],
  defaultOn: true,
  gates: ['ClusterTrustBundle'],
  start,
}
