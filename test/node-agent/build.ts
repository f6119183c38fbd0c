/** Pods for the node agent's tests, and a worker that runs one on a simulated runtime. */
import type { Pod, PodSpec, PodStatus, Service } from '../../components/api/generated/types.ts'
import { silentLog } from '../../components/component-base/log.ts'
import type { ContainerRuntime } from '../../components/node-agent/runtime/container-runtime.ts'
import { PodAddresses } from '../../components/node-agent/pods/pod-addresses.ts'
import { createPodEnvironment } from '../../components/node-agent/pods/pod-environment.ts'
import { createPodVolumes } from '../../components/node-agent/pods/pod-volumes.ts'
import { PodWorker } from '../../components/node-agent/pods/pod-worker.ts'
import { SimulatedRuntime } from '../../components/node-agent/runtime/simulated-runtime.ts'
import { FakeCluster } from '../support/fake-client.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'

export function pod(
  name: string,
  spec: Partial<PodSpec> = {},
  annotations: Record<string, string> = {},
): Pod {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations },
    spec: {
      containers: [{ name: 'main', image: 'app:1' }],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      nodeName: 'n1',
      ...spec,
    },
    status: { phase: 'Pending', qosClass: 'BestEffort' },
  }
}

/** One pod on one worker; `statuses` holds what was reported, `deletions` how often the object was removed. */
export async function runPod(
  first: Pod,
  more: {
    clock?: FakeClock
    runtime?: ContainerRuntime
    addresses?: PodAddresses
    cluster?: FakeCluster
    services?: readonly Service[]
    /** After a status is stored, and before that is answered. */
    beforeAnswer?: () => Promise<void>
  } = {},
) {
  const clock = more.clock ?? new FakeClock()
  const runtime =
    more.runtime ??
    new SimulatedRuntime({ clock, version: 'test', writeCheckpoint: async () => {} })
  const statuses: PodStatus[] = []
  const events: string[] = []
  let current = first
  let deletions = 0
  let revision = 0
  const nextRevision = (): string => String((revision += 1))
  const client = more.cluster?.client() ?? new FakeCluster(clock).client()
  const worker = new PodWorker(first, {
    runtime,
    addresses: more.addresses ?? new PodAddresses('10.1.0.0/24'),
    hostIp: '127.0.0.1',
    environment: createPodEnvironment({
      client,
      servicesFor: async () => ({ own: more.services ?? [], apiServer: undefined }),
      allocatable: () => ({ cpu: '4', memory: '8Gi', 'ephemeral-storage': '100Gi' }),
    }),
    volumes: createPodVolumes(client),
    admit: () => undefined,
    onProbe: () => {},
    record: (_pod, { reason, message }) => void events.push(`${reason}: ${message}`),
    writeStatus: async (written, status) => {
      statuses.push(structuredClone(status))
      const resourceVersion = nextRevision()
      await more.beforeAnswer?.()
      return { ...written, metadata: { ...written.metadata, resourceVersion } }
    },
    deletePod: async () => {
      deletions += 1
    },
    clock,
    log: silentLog,
  })
  await settle()
  return {
    clock,
    runtime,
    worker,
    statuses,
    events,
    get last(): PodStatus {
      const status = statuses.at(-1)
      if (status === undefined) throw new Error('nothing was reported')
      return status
    },
    get deletions() {
      return deletions
    },
    /** The pod's object changes on the server. */
    async change(edit: (pod: Pod) => void): Promise<void> {
      current = structuredClone(current)
      edit(current)
      current.metadata.resourceVersion = nextRevision()
      worker.update(current)
      await settle()
    },
    async delete(graceSeconds = 30): Promise<void> {
      await this.change(({ metadata }) => {
        metadata.deletionTimestamp = new Date(clock.now() + graceSeconds * 1000).toISOString()
        metadata.deletionGracePeriodSeconds = graceSeconds
      })
    },
  }
}

/** `True`, or `False` with its reason, of a condition. */
export function conditionOf(status: PodStatus, type: string): string {
  const found = status.conditions?.find((condition) => condition.type === type)
  if (found === undefined) return 'absent'
  return found.reason === undefined ? found.status : `${found.status} ${found.reason}`
}
