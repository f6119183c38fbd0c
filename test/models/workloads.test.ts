/** Random stories of workloads against an API server and controllers that end and start again; `npm run soak` tells longer ones. */
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { diskFiles } from '../../components/component-base/files.ts'
import { defaultFeatureGates } from '../../components/api/feature-gates.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createClient } from '../../components/client/client.ts'
import type { Client } from '../../components/client/client.ts'
import { createWorkQueue } from '../../components/client/work-queue.ts'
import { parseFlags } from '../../components/component-base/flags.ts'
import { runControllers } from '../../components/controller-manager/controller-manager.ts'
import { controllers } from '../../components/controller-manager/controllers.ts'
import { controllerManagerFlags } from '../../components/controller-manager/options.ts'
import { startApiServer } from '../support/api-server.ts'
import { ownPort } from '../support/own-port.ts'
import { unseenMetrics } from '../support/unseen-metrics.ts'
import { parametersOf } from './replay.ts'
import { playNodes } from './workloads/stand-in-nodes.ts'
import { workloadStories, type Kill } from './workloads/steps.ts'
import { runWorkloadStory } from './workloads/story.ts'

const nodes = ['node-1', 'node-2', 'node-3']

/** Those that act on workloads. Nodes that a test plays have no leases, and nothing is signed. */
const names = new Set([
  'serviceaccount-controller',
  'pod-garbage-collector-controller',
  'replicaset-controller',
  'deployment-controller',
  'statefulset-controller',
  'daemonset-controller',
  'job-controller',
  'disruption-controller',
  'resourcequota-controller',
  'namespace-controller',
  'garbage-collector-controller',
])

/** Controllers that are ended and started again. */
function startControllers(client: Client) {
  const { clock, log } = client
  const start = () => {
    const stop = new AbortController()
    const ended = runControllers(
      {
        client,
        clientOf: undefined,
        files: diskFiles,
        entries: controllers.filter(({ name }) => names.has(name)),
        options: parseFlags(controllerManagerFlags, []),
        gates: defaultFeatureGates,
        clock,
        log,
        metrics: unseenMetrics(),
        queues: () => createWorkQueue({ clock }),
      },
      stop.signal,
    )
    return async (): Promise<void> => {
      stop.abort(new Error('killed'))
      await ended.catch(() => {}) // the reason of the abort
    }
  }
  let end = start()
  return {
    kill: async (): Promise<void> => {
      const ending = end()
      end = start()
      await ending
    },
    end: () => end(),
  }
}

async function createNodes(client: Client): Promise<void> {
  const one = client.resource(resourcesOf(client.dialect).nodes)
  const room = { cpu: '4', memory: '4Gi', pods: '110' }
  const conditions = [{ type: 'Ready', status: 'True' }]
  for (const name of nodes) {
    await one.create({ metadata: { name } })
    // A new node has the taint of one that is not ready, until the controller of nodes has seen it ready.
    const made = await one.patch({ name }, { spec: { taints: null } }, { type: 'merge' })
    await one.updateStatus({ ...made, status: { capacity: room, allocatable: room, conditions } })
  }
}

describe('whatever users do and whichever process ends', () => {
  it('no invariant of workloads is violated, and everything comes to rest', async () => {
    await using server = await startApiServer({
      store: 'sqlite',
      flags: [`--secure-port=${ownPort()}`],
    })
    const { certificatePem, privateKeyPem } = server.pki.credentials.admin
    const client = createClient({
      server: `https://127.0.0.1:${server.port}`,
      ca: server.pki.authority.certificatePem,
      credentials: { cert: certificatePem, key: privateKeyPem },
      dialect: server.dialect,
    })
    await createNodes(client)
    const stop = new AbortController()
    const playing = playNodes(client, stop.signal)
    const manager = startControllers(client)
    // One after the other, as a real server is away before the next one can be killed.
    let restarting = Promise.resolve()
    const kill = async ({ component }: Kill): Promise<void> => {
      if (component === 'controller-manager') await manager.kill()
      if (component === 'api-server') restarting = restarting.then(() => server.restart())
      await restarting
    }
    let serial = 0
    const property = fc.asyncProperty(workloadStories(6), async (rounds) => {
      const subject = { client, kill, restMs: 60_000, quietMs: 200 }
      await runWorkloadStory(subject, rounds, `story-${(serial += 1)}`)
    })
    try {
      // A story takes seconds: a smaller one is not worth the time.
      await fc.assert(property, { ...parametersOf(2), endOnFailure: true })
    } finally {
      await manager.end()
      stop.abort(new Error('the test is over'))
      await playing
      client.close()
    }
  }, 300_000)
})
