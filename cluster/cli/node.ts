/** `skiff node ...`: adds, removes, stops, starts and lists nodes. */
import { resourcesOf } from '../../components/api/resources.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { nodeNames } from '../plan/cluster-config.ts'
import type { Cluster } from '../cluster.ts'
import { ClusterError } from '../cluster-error.ts'
import { nameFlagOf } from '../state/state-dir.ts'
import { readyCondition } from '../wait-for-nodes.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withCluster } from './find-cluster.ts'
import { checkNodeName, checkSimulated } from '../check-node.ts'
import { freeNodeName } from '../free-node-name.ts'
import { showingComponent } from './progress.ts'
import { shortDuration, table } from './terminal.ts'

const flags = defineFlags({ ...nameFlag })
const addFlags = defineFlags({
  ...nameFlag,
  simulated: flag.int(
    'Number of simulated nodes NODE-0, NODE-1 and so on, which share one process.',
  ),
  wait: flag.duration('How long to wait for the node to become Ready.', 60_000, { least: 0 }),
  ...outputFlag,
})
const listFlags = defineFlags({ ...nameFlag, ...outputFlag })
const removeFlags = defineFlags({
  ...nameFlag,
  'keep-object': flag.bool('Keep the Node object, as if the machine had vanished.', false),
})

/** Whether a Node object of that name exists; its agent can be a `skiff join` on any machine. */
async function isElsewhere({ client }: Cluster, name: string): Promise<boolean> {
  try {
    await client.resource(resourcesOf(client.dialect).nodes).get({ name })
    return true
  } catch {
    return false // no such Node, or no answer
  }
}

async function isNode(cluster: Cluster, name: string): Promise<void> {
  const { components } = await cluster.control.call('status', {})
  const nodes = components.filter((one) => one.program === 'node-agent').map((one) => one.name)
  if (nodes.includes(name)) return
  if (await isElsewhere(cluster, name)) {
    throw new ClusterError('not-found', `node "${name}" has no process in this cluster`, {
      hint: `its agent runs elsewhere, or shares a process with others; delete its object with: kubectl delete node ${name}`,
    })
  }
  throw new ClusterError('not-found', `there is no node "${name}"`, {
    hint: nodes.length === 0 ? 'the cluster has no nodes' : `nodes: ${nodes.join(', ')}`,
  })
}

const add = defineCommand({
  name: 'node add',
  summary: 'Add a node and wait until it is Ready',
  arguments: [{ name: 'NODE', isOptional: true }],
  flags: addFlags,
  examples: [
    ['skiff node add', 'Add a node with the next free name'],
    ['skiff node add crowd --simulated 100', 'Add a hundred simulated nodes in one process'],
  ],
  run: async (context, { flags: given, args }) =>
    await withCluster(context, given.name, async (cluster) => {
      const startedMs = context.clock.now()
      if (given.simulated !== undefined) checkSimulated(given.simulated, 1)
      const { components } = await cluster.control.call('status', {})
      const name = args[0] ?? freeNodeName(components.map((one) => one.name))
      checkNodeName(name)
      if (components.some((one) => one.name === name)) {
        throw new ClusterError('already-exists', `component "${name}" already exists`, {
          hint: 'choose another name, or omit it for a free one',
        })
      }
      const simulated = given.simulated
      const node = simulated === undefined ? { name } : { name, simulated }
      const adding = showingComponent(context, name, (onComponent) =>
        cluster.addNode(node, { waitMs: given.wait, onComponent }),
      )
      await adding.catch((error: unknown): never => {
        if (!(error instanceof ClusterError) || error.kind !== 'timeout') throw error
        const { message, details } = error
        const suffix = nameFlagOf(given.name)
        const hint = `its agent keeps trying: check \`skiff node list${suffix}\`, or remove it: \`skiff node remove ${name}${suffix}\``
        throw new ClusterError('timeout', message, { details, hint, cause: error })
      })
      if (given.output === 'json') {
        const readyAfterMs = context.clock.now() - startedMs
        context.terminal.out(`${JSON.stringify({ name, nodes: nodeNames(node), readyAfterMs })}\n`)
        return exitCodes.ok
      }
      const took = shortDuration(context.clock.now() - startedMs)
      context.terminal.out(
        `${nodeNames(node).length > 1 ? `${simulated} nodes` : name} Ready after ${took}\n`,
      )
      return exitCodes.ok
    }),
})

const remove = defineCommand({
  name: 'node remove',
  summary: 'Stop a node and delete it from the API',
  arguments: [{ name: 'NODE' }],
  flags: removeFlags,
  examples: [['skiff node remove node-3', 'The controllers also delete its pods']],
  run: async (context, { flags: given, args: [name = ''] }) =>
    await withCluster(context, given.name, async (cluster) => {
      await isNode(cluster, name)
      await cluster.removeNode(name, { deleteObject: !given['keep-object'] })
      context.terminal.out(`${name} removed\n`)
      return exitCodes.ok
    }),
})

function simple(verb: 'stop' | 'start', words: { summary: string; effect: string; done: string }) {
  return defineCommand({
    name: `node ${verb}`,
    summary: words.summary,
    arguments: [{ name: 'NODE' }],
    flags,
    examples: [[`skiff node ${verb} node-2`, words.effect]],
    run: async (context, { flags: given, args: [name = ''] }) =>
      await withCluster(context, given.name, async (cluster) => {
        await isNode(cluster, name)
        await showingComponent(context, name, async (onComponent) => {
          await cluster.control.call(`${verb}-component`, { name }, onComponent)
        })
        context.terminal.out(`${name} ${words.done}\n`)
        return exitCodes.ok
      }),
  })
}

const stop = simple('stop', {
  summary: 'Stop the process of a node; its Node object stays and becomes Unknown',
  effect: 'As if the machine were switched off',
  done: 'stopped',
})
const start = simple('start', {
  summary: 'Start the process of a stopped node again',
  effect: 'It uses its existing certificate',
  done: 'started',
})

const list = defineCommand({
  name: 'node list',
  summary: 'List the nodes with their processes and Node objects',
  flags: listFlags,
  examples: [['skiff node list', 'List every node of the cluster']],
  run: async (context, { flags: given }) =>
    await withCluster(context, given.name, async (cluster) => {
      const { client, config } = cluster
      const { components } = await cluster.control.call('status', {})
      const objects = await client.resource(resourcesOf(client.dialect).nodes).list()
      const processOf = (name: string): string | undefined => {
        const owner = config.nodes.find((node) => nodeNames(node).includes(name))
        return components.find((one) => one.name === (owner?.name ?? name))?.state
      }
      const names = new Set([
        ...components
          .filter((one) => one.program === 'node-agent')
          .map((one) => config.nodes.find((node) => node.name === one.name) ?? { name: one.name })
          .flatMap(nodeNames),
        ...objects.items.map((object) => object.metadata.name ?? ''),
      ])
      const rows = [...names].map((name) => {
        const object = objects.items.find((one) => one.metadata.name === name)
        const ready = object === undefined ? undefined : readyCondition(object)?.status
        return { name, process: processOf(name) ?? 'elsewhere', ready: ready ?? 'not registered' }
      })
      const { terminal } = context
      if (given.output === 'json') terminal.out(`${JSON.stringify(rows)}\n`)
      else {
        const lines = rows.map((row) => [row.name, row.process, row.ready])
        terminal.out(table([['NODE', 'PROCESS', 'READY'], ...lines]))
      }
      return exitCodes.ok
    }),
})

export const nodeCommands = [add, remove, stop, start, list]
