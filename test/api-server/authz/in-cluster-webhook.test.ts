/** An API server that runs in a pod of a cluster and asks a webhook there, by the files and variables that the pod has. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { user } from '../../support/api-server.ts'
import {
  allow,
  askedOf,
  fileOf,
  folder,
  fresh,
  pass,
  pods,
  refused,
  remote,
  useRemotes,
  webhook,
  whole,
} from '../../support/authorization-remotes.ts'
import { startChildApiServer } from '../../support/child-api-server.ts'

useRemotes()

/** A process with a /run of its own, which holds what a pod finds there, copied from the folder in its first argument. */
const namespaces = ['--mount', ...(process.getuid?.() === 0 ? [] : ['--map-root-user'])]
const account = '/run/secrets/kubernetes.io/serviceaccount'
const script = `mount -t tmpfs tmpfs /run && mkdir -p ${account} && cp "$0"/* ${account}/ && exec "$@"`

/** Why there are no such processes; undefined when there are. */
function whyNot(): string | undefined {
  try {
    execFileSync('unshare', [...namespaces, 'sh', '-c', 'mount -t tmpfs tmpfs /run'], {
      stdio: 'pipe',
    })
    return undefined
  } catch (error) {
    return (error as Error).message.trim()
  }
}
const reason = whyNot()
if (reason !== undefined) process.stderr.write(`NOT TESTED: webhooks in the cluster; ${reason}\n`)

test.skipIf(reason !== undefined)(
  '[WEBHOOK-040] an in-cluster connection asks the API server of the cluster with the token of the pod',
  async () => {
    const inPod = join(folder, 'in-pod')
    mkdirSync(inPod)
    writeFileSync(join(inPod, 'ca.crt'), Buffer.from(remote.caBundle, 'base64'))
    writeFileSync(join(inPod, 'token'), 'the-token-of-the-pod\n')
    const connectionInfo = { type: 'InClusterConfig' }
    expect(refused({ connectionInfo })).toBe('accepted')
    const kubeConfigFile = remote.kubeconfig(folder)
    expect(refused({ connectionInfo: { ...connectionInfo, kubeConfigFile } })).toContain(
      'can only be set when type=KubeConfigFile',
    )
    const config = whole([
      { type: 'Webhook', name: 'remote', webhook: webhook({ connectionInfo }) },
    ])
    const { hostname, port } = new URL(remote.url)
    await using server = await startChildApiServer({
      wrapper: ['unshare', ...namespaces, 'sh', '-c', script, inPod],
      environment: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
      flags: ['--authorization-mode=', `--authorization-config=${fileOf(config)}`],
    })
    for (const [answer, status] of [
      [allow, 200],
      [pass, 403],
    ] as const) {
      remote.answer = () => answer
      const name = fresh()
      expect((await server.request('GET', pods, { as: user(name) })).status).toBe(status)
      expect(askedOf(name)).toHaveLength(1)
      expect(remote.authorizations.at(-1)).toBe('Bearer the-token-of-the-pod')
    }
  },
)
