/** simulateFrom: checked options run, and what comes of it in the user's words. The cluster is loaded with the first simulation. */
import { formatDuration } from '../components/component-base/flags.ts'
import { describeFault } from '../cluster/lab/describe-fault.ts'
import type { ClusterImage } from '../embedded/cluster-image.ts'
import { isStop } from '../simulation/simulated-fault.ts'
import type { SimulatedFault } from '../simulation/simulated-fault.ts'
import type { SimulatedPart, SimulatedRun as Run } from '../simulation/simulated-run.ts'
import { clusterNodes } from './cluster-nodes.ts'
import { embeddedNode } from './embedded-options.ts'
import { createKinds } from './kinds.ts'
import { objectClientOver } from './object-client.ts'
import { checkDuration } from './options.ts'
import { SimulationError } from './simulation-error.ts'
import type { CheckedSimulation } from './simulation-options.ts'
import type { SimulatedRun, SimulationContext } from './types.ts'

const retryMs = 1000

/** What is dead does nothing to them any more. */
function nodesOf({ nodes, signal }: Pick<SimulatedPart, 'nodes' | 'signal'>) {
  const alive = async (work: () => Promise<void>): Promise<void> => {
    signal.throwIfAborted()
    await work()
  }
  return clusterNodes({
    nodeNames: () => nodes.nodeNames,
    addNode: (node) => alive(() => nodes.addNode(embeddedNode(node))),
    startNode: (name) => alive(() => nodes.startNode(name)),
    stopNode: (name) => alive(() => nodes.stopNode(name)),
    removeNode: (name) => alive(() => nodes.removeNode(name)),
  })
}

function contextOf({ client, nodes: owned, clock, signal }: SimulatedPart): SimulationContext {
  const kubeconfig = (): string => {
    throw new Error('a simulated cluster has no address, so that no kubeconfig leads to it')
  }
  const connection = { client, kinds: createKinds(client), namespace: 'default', kubeconfig }
  const sleep = async (ms: number): Promise<void> => await clock.sleep(ms, signal)
  const { nodes, node, addNode } = nodesOf({ nodes: owned, signal })
  return {
    client: objectClientOver(connection),
    get nodes() {
      return nodes()
    },
    node,
    addNode,
    now: () => new Date(clock.now()),
    sleep: async (given) => await sleep(checkDuration('sleep', given)),
    random: () => clock.random(),
    eventually: async (work) => {
      for (;;) {
        signal.throwIfAborted()
        try {
          return await work()
        } catch {
          await sleep(retryMs)
        }
      }
    },
    signal,
  }
}

const moments = {
  now: 'is stopped',
  'before-write': 'is stopped before its next write',
  'after-write': 'is stopped after its next write, without the answer',
} as const

function faultText(one: SimulatedFault): string {
  const during = one.forMs === 0 ? '' : ` for ${formatDuration(one.forMs)}`
  const what = isStop(one)
    ? `controller ${one.controller} ${moments[one.when]}`
    : describeFault(one.fault)
  return `after ${formatDuration(one.atMs)}${during}: ${what}`
}

function shown({ seed, hash, commits, tookMs, faults }: Run): SimulatedRun {
  return { seed, hash, commits, tookMs, faults: faults.map(faultText) }
}

/**
 * Runs the seeds; with an image, each run begins with it. Rejects with a SimulationError for the first seed that fails, and with the signal's
 * reason.
 */
export async function simulateFrom(
  { story, controllers, check, seeds, signal, onRun, ...spec }: CheckedSimulation,
  image?: ClusterImage,
): Promise<readonly SimulatedRun[]> {
  const { simulateSeeds } = await import('../simulation/simulate.ts')
  const partOf =
    (work: (context: SimulationContext) => Promise<void>) =>
    async (part: SimulatedPart): Promise<void> =>
      await work(contextOf(part))
  const simulation = {
    ...spec,
    image,
    story: partOf(story),
    controllers: controllers.map(partOf),
    check: partOf(check),
  }
  const { runs, failed } = await simulateSeeds(simulation, {
    seeds,
    signal,
    onRun: (run) => onRun?.(shown(run), run.failure === undefined),
  })
  if (failed?.failure !== undefined) throw new SimulationError(shown(failed), failed.failure)
  return runs.map(shown)
}
