/** actOnComponent: one action on a process of the cluster, through its supervisor. */
import { checkNodeName } from '../../../cluster/check-node.ts'
import type { Cluster } from '../../../cluster/cluster.ts'
import { ClusterError } from '../../../cluster/cluster-error.ts'
import { componentActions, type ComponentAction } from '../../protocol/lab.ts'

const methods = {
  kill: 'kill',
  pause: 'pause',
  resume: 'resume',
  restart: 'restart',
  stop: 'stop-component',
  start: 'start-component',
} as const

const isAction = (text: string): text is ComponentAction =>
  (componentActions as readonly string[]).includes(text)

async function addNode(cluster: Cluster, name: string): Promise<void> {
  checkNodeName(name)
  const { components } = await cluster.control.call('status', {})
  if (components.some((one) => one.name === name)) {
    throw new ClusterError('already-exists', `component "${name}" already exists`, {
      hint: 'choose another name',
    })
  }
  await cluster.addNode({ name })
}

/** Resolves when it is done: a node that was added is Ready then. Rejects with the supervisor's ClusterError. */
export async function actOnComponent(
  cluster: Cluster,
  name: string,
  action: string,
): Promise<void> {
  if (!isAction(action)) {
    throw new ClusterError('not-found', `there is no action "${action}"`, {
      hint: `known are ${componentActions.join(', ')}`,
    })
  }
  if (action === 'add') await addNode(cluster, name)
  else if (action === 'remove') await cluster.removeNode(name, { deleteObject: true })
  else await cluster.control.call(methods[action], { name })
}
