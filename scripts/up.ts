/**
 * Starts a cluster by hand, one process after the other, and explains each:
 * npx node scripts/up.ts [--dir .cluster/by-hand] [--nodes 2] [--yes]. Delete it: npx node scripts/down.ts
 * The same code as `skiff up`, but without a supervisor: a process that ends is not restarted.
 */
import { join, resolve } from 'node:path'
import { readdirSync, readFileSync } from 'node:fs'
import { chalk, echo } from 'zx'
import { createPki } from '../certs/pki.ts'
import { createBootstrapToken, formatToken, tokenSecret } from '../cluster/plan/bootstrap-token.ts'
import { startChild } from '../cluster/supervisor/child-process.ts'
import { clusterClient } from '../cluster/cluster-client.ts'
import { dialectOf, serverUrl, writeClusterConfig } from '../cluster/plan/cluster-config.ts'
import type { ClusterConfig } from '../cluster/plan/cluster-config.ts'
import { defaultStorage } from '../cluster/plan/default-storage.ts'
import { createObjects, joinObjects } from '../cluster/plan/join-objects.ts'
import { caHashOf } from '../cluster/plan/ca-hash.ts'
import { planCluster } from '../cluster/plan/plan.ts'
import type { ComponentSpec } from '../cluster/plan/component-spec.ts'
import { choosePort } from '../cluster/plan/ports.ts'
import { apiServerNames, prepareCluster } from '../cluster/plan/prepare.ts'
import { clusterMarker, identify } from '../cluster/state/process-identity.ts'
import { builtPrograms } from '../cluster/plan/programs.ts'
import { createStateDir, logOf, pathsIn, writePrivateFile } from '../cluster/state/state-dir.ts'
import type { RecordedProcess } from '../cluster/supervisor/process-record.ts'
import { exportLine } from '../cluster/shell-word.ts'
import { waitForNodes } from '../cluster/wait-for-nodes.ts'
import { resourcesOf } from '../components/api/resources.ts'
import { systemClock } from '../components/component-base/clock.ts'
import { option, show, step } from './teaching/lesson.ts'

const paths = pathsIn(resolve(option('dir', join('.cluster', 'by-hand'))))
const clock = systemClock

await step(
  'The state directory',
  'One folder holds the whole cluster: keys, configuration, data and logs. Only you can read it.',
)
createStateDir(paths)
show(paths.dir)

await step(
  'Identities',
  'A certificate authority (CA), and a certificate for each component. scripts/certs.ts shows them in detail.',
)
const shape = { dialect: 'kubernetes', address: '127.0.0.1', serviceRange: '10.96.0.0/16' } as const
const pki = createPki({ apiServer: apiServerNames(shape), nowMs: clock.now() })
const config: ClusterConfig = {
  name: 'by-hand',
  id: clock.uuid(),
  ...shape,
  port: await choosePort(shape.address, undefined),
  caHash: caHashOf(pki.authority),
  nodes: Array.from({ length: Number(option('nodes', '2')) }, (_, index) => ({
    name: `node-${index + 1}`,
  })),
  extraFlags: {},
}
const token = createBootstrapToken(clock)
const plan = planCluster(config, paths)
writeClusterConfig(paths, config)
await prepareCluster(plan, { config, paths, pki, token: formatToken(token) })
show(readdirSync(paths.pki).join('\n'))

const started: RecordedProcess[] = []
/** Starts one process of the plan and waits until it reports ready. */
async function start(spec: ComponentSpec): Promise<void> {
  const script = join(builtPrograms().folder, `${spec.program}.js`)
  const args = [...spec.nodeOptions, script, ...spec.args]
  show(`node ${args.join(' \\\n  ')}`)
  const child = startChild(
    {
      name: spec.name,
      command: process.execPath,
      args,
      environment: { [clusterMarker]: config.id },
      cwd: paths.dir,
      logFile: logOf(paths, spec.name),
      readyTimeoutMs: 30_000,
      stopTimeoutMs: 5000,
    },
    clock,
  )
  const identity = child.pid === undefined ? undefined : identify(child.pid)
  if (identity !== undefined) started.push({ component: spec.name, ...identity })
  writePrivateFile(paths.processes, JSON.stringify(started))
  await child.ready
  echo(chalk.green(`  ready: pid ${child.pid ?? '?'}`))
}

const explanations: Readonly<Record<string, string>> = {
  'api-server':
    'The only process that reads and writes the data. All others connect to it; it starts none of them.',
  'controller-manager':
    'Runs the controllers, which move the cluster from its status to its spec. One of them signs certificate requests.',
  scheduler: 'Assigns pods that have no node to one.',
  'node-agent': `Starts with a bootstrap token alone. It reads cluster-info, verifies the signature with the token and the CA
                 with the pin, requests a certificate, and registers its Node.`,
}
const agents = plan.filter((spec) => spec.program === 'node-agent')
for (const spec of plan.filter((one) => !agents.includes(one))) {
  await step(spec.name, explanations[spec.program] ?? '')
  await start(spec)
  if (spec.program !== 'api-server') continue

  await step(
    'Objects for joining nodes, and the default StorageClass',
    `The token as a Secret; cluster-info, which anonymous users may read; the bindings that allow certificate requests; and the
     class of claims that name none.`,
  )
  const client = clusterClient({ config, paths, clock })
  const dialect = dialectOf(config)
  const secret = tokenSecret({ token, dialect, nowMs: clock.now(), ttlMs: 86_400_000 })
  const authorityPem = readFileSync(join(paths.pki, 'ca.crt'), 'utf8')
  const objects = [
    { resource: resourcesOf(dialect).secrets, object: secret },
    ...joinObjects({ dialect, server: serverUrl(config), authorityPem }),
    defaultStorage(dialect),
  ]
  await createObjects(client, objects)
  for (const { resource, object } of objects) show(`${resource.kind} ${object.metadata.name ?? ''}`)
  client.close()
}
for (const spec of agents) {
  await step(spec.name, explanations[spec.program] ?? '')
  await start(spec)
}

await step('Ready?', 'A node is Ready while its agent reports Ready and renews its Lease in time.')
const client = clusterClient({ config, paths, clock })
const { signal } = new AbortController()
await waitForNodes({
  client,
  paths,
  nodes: config.nodes,
  waitMs: 60_000,
  signal,
  onReady: (name) => show(`${name} is Ready`),
})
client.close()
echo(`\n  ${exportLine('KUBECONFIG', paths.adminKubeconfig)}\n  kubectl get nodes\n`)
echo('Delete it: npx node scripts/down.ts')
process.exit(0)
