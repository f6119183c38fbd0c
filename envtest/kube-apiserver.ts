/** KubeApiServer: the process that envtest starts as kube-apiserver: our API server, found its store and certificate. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runApiServer } from '../components/api-server/start/api-server.ts'
import { dialectNamed, dialects } from '../components/api/dialect.ts'
import type { ComponentContext } from '../components/component-base/component.ts'
import { removeFrameworkFolder } from './framework-folder.ts'
import { reportIdleFlags } from './idle-flags.ts'
import { knownGates } from './known-gates.ts'
import { idleServerFlags } from './kube-apiserver-flags.ts'
import type { kubeApiServerFlags } from './kube-apiserver-flags.ts'
import { endWithParent } from './parent.ts'
import { reachableAddress } from './reachable-address.ts'
import { servingCertificateIn } from './serving-certificate.ts'
import { storeOfEtcd } from './store-of-etcd.ts'

type Context = ComponentContext<typeof kubeApiServerFlags>

/** The options of the API server alone. `folder` takes what --cert-dir would. */
async function serverOptions(
  { options, clock, log }: Context,
  { folder, signal }: { folder: string; signal: AbortSignal },
): Promise<Context['options']> {
  const address = reachableAddress(options['bind-address'])
  const { apiServerService: serviceName } = dialectNamed(options.dialect) ?? dialects.kubernetes
  const [etcd] = options['etcd-servers']
  const hasPair = options['tls-cert-file'] !== undefined
  return {
    ...options,
    'advertise-address': options['advertise-address'] || address,
    // Without effect here.
    'etcd-servers-overrides': [],
    'feature-gates': knownGates(options['feature-gates'], log),
    ...(etcd === undefined
      ? {}
      : { 'etcd-servers': [], ...(await storeOfEtcd(etcd, { clock, signal })) }),
    ...(hasPair
      ? {}
      : await servingCertificateIn(folder, { serviceName, address, nowMs: clock.now() })),
  }
}

/** A folder of our own where the user names none; it goes with the process. */
async function openFolder(certDir: string | undefined) {
  if (certDir !== undefined)
    return { folder: certDir, remove: () => removeFrameworkFolder(certDir) }
  const folder = await mkdtemp(join(tmpdir(), 'skiff-envtest-'))
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}

/** Serves until `signal` aborts or the parent is gone. */
export async function runKubeApiServer(context: Context): Promise<void> {
  const { options, log } = context
  reportIdleFlags(idleServerFlags, options, log)
  const ending = endWithParent(context)
  const { folder, remove } = await openFolder(options['cert-dir'])
  try {
    const found = await serverOptions(context, { folder, signal: ending.signal })
    const server = { ...context, options: found, signal: ending.signal }
    if (options['with-controllers']) {
      const { runWithControllers } = await import('./with-controllers.ts')
      await runWithControllers(server, join(folder, 'controllers'))
    } else await runApiServer(server)
  } finally {
    if (ending.isOrphaned() || options['cert-dir'] === undefined) await remove()
  }
}
