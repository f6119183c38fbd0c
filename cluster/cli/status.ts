/** `skiff status`: the components of a cluster, or all clusters. */
import { timestamp } from '../../components/component-base/clock.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { frontOf, nodeNames, readClusterConfig, serverUrl } from '../plan/cluster-config.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import { ClusterError } from '../cluster-error.ts'
import type { Cluster } from '../cluster.ts'
import type { ClusterEnd, ComponentStatus } from '../control-protocol.ts'
import { memberStates } from '../etcd/member-states.ts'
import type { MemberState } from '../etcd/member-states.ts'
import { lockHolder } from '../state/lock.ts'
import { listClusters, nameFlagOf, statePaths } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { readyCondition } from '../wait-for-nodes.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import type { CommandContext } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withCluster } from './find-cluster.ts'
import { asTyped, shortDuration, styled, table } from './terminal.ts'

const flags = defineFlags({
  ...nameFlag,
  all: flag.bool('List all clusters instead.', false),
  ...outputFlag,
})

/** How long to wait for the list of nodes: the API server may be down or paused. */
const askMs = 2000

type NodeStates = Map<string, string> | 'no answer' | undefined

/** Node name -> Ready, NotReady, Unknown; `no answer` in time from a server that is there; undefined when it cannot be asked. */
async function nodeStates(cluster: Cluster): Promise<NodeStates> {
  const { client } = cluster
  const limit = new AbortController()
  const cancel = client.clock.after(askMs, () => limit.abort(new Error('no answer')))
  try {
    const nodes = client.resource(resourcesOf(client.dialect).nodes)
    const list = await nodes.list({}, limit.signal)
    const word: Record<string, string> = { True: 'Ready', False: 'NotReady' }
    return new Map(
      list.items.map((node) => [
        node.metadata.name ?? '',
        word[readyCondition(node)?.status ?? ''] ?? 'Unknown',
      ]),
    )
  } catch {
    return limit.signal.aborted ? 'no answer' : undefined // the table says which component is down
  } finally {
    cancel()
  }
}

function nodeCell(cluster: Cluster, name: string, states: NodeStates): string {
  const node = cluster.config.nodes.find((one) => one.name === name)
  if (node === undefined) return ''
  if (!(states instanceof Map)) return '?'
  const names = nodeNames(node)
  if (names.length === 1) return states.get(name) ?? 'not registered'
  return `${names.filter((one) => states.get(one) === 'Ready').length} of ${names.length} Ready`
}

function describe(
  cluster: Cluster,
  components: readonly ComponentStatus[],
  more: { states: NodeStates; nowMs: number; colors: boolean },
): string {
  const rows = components.map((one) => [
    one.name,
    one.state,
    String(one.pid ?? '-'),
    String(one.restarts),
    shortDuration(more.nowMs - one.sinceMs),
    nodeCell(cluster, one.name, more.states),
    one.message ?? '',
  ])
  const text = table([['COMPONENT', 'STATE', 'PID', 'RESTARTS', 'SINCE', 'NODE', ''], ...rows])
  return text.replaceAll(
    / (ready|stuck|failed|backoff|paused|stopped) /g,
    (whole, state: string) => {
      const style =
        state === 'ready' ? 'green' : ['failed', 'stuck'].includes(state) ? 'red' : 'yellow'
      return styled(whole, style, more.colors)
    },
  )
}

function endText({ withPid, atMs }: ClusterEnd, nowMs: number): string {
  const ways = [
    ...(withPid === undefined ? [] : [`with process ${withPid}`]),
    ...(atMs === undefined ? [] : [`in ${shortDuration(Math.max(0, atMs - nowMs))}`]),
  ]
  return `ends ${ways.join(', or ')}`
}

/** The components as they are; what clients talk to is stuck too when it was silent from `askedMs` on. */
function withSilence(
  components: readonly ComponentStatus[],
  { states, askedMs, front }: { states: NodeStates; askedMs: number; front: string },
): readonly ComponentStatus[] {
  if (states !== 'no answer') return components
  return components.map((one) =>
    one.name === front && one.state === 'ready'
      ? { ...one, state: 'stuck', sinceMs: askedMs, message: 'does not answer' }
      : one,
  )
}

function stuckText(components: readonly ComponentStatus[], suffix: string, nowMs: number): string {
  const lines = components
    .filter(({ state }) => state === 'stuck')
    .map(({ name, sinceMs, message = '' }) => {
      const since = `${timestamp(sinceMs)} (${shortDuration(nowMs - sinceMs)})`
      return `${name} is stuck since ${since}: ${message}. Restart it with: skiff restart ${name}${suffix}\n`
    })
  return lines.length === 0 ? '' : `\n${lines.join('')}`
}

/** Undefined when it cannot be read, so that the other clusters are still listed. */
function storedConfig(paths: StatePaths): ClusterConfig | undefined {
  try {
    return readClusterConfig(paths)
  } catch (error) {
    if (error instanceof ClusterError && error.kind === 'failed') return undefined
    throw error
  }
}

function listAll(context: CommandContext, asJson: boolean): number {
  const clusters = listClusters(context.stateRoot).map((name) => {
    const paths = statePaths(context.stateRoot, name)
    const config = storedConfig(paths)
    const isRunning = lockHolder(paths) !== undefined
    return {
      name,
      state: config === undefined ? 'damaged' : isRunning ? 'running' : 'stopped',
      server: config === undefined ? '' : serverUrl(config),
      nodes: config?.nodes.flatMap(nodeNames).length ?? 0,
      stateDir: paths.dir,
    }
  })
  const { terminal } = context
  if (asJson) terminal.out(`${JSON.stringify(clusters)}\n`)
  else if (clusters.length === 0) terminal.out('There are no clusters\n')
  else {
    const rows = clusters.map((one) => [one.name, one.state, one.server, String(one.nodes)])
    terminal.out(table([['NAME', 'STATE', 'SERVER', 'NODES'], ...rows]))
  }
  return exitCodes.ok
}

function membersText(members: readonly MemberState[] | undefined): string {
  if (members === undefined) return ''
  const rows = members.map(({ name, url, state }) => [name, url, state])
  return `\n${table([['ETCD MEMBER', 'SERVER', 'STATE'], ...rows])}`
}

export const status = defineCommand({
  name: 'status',
  summary: 'Show the components of a cluster',
  description:
    'Exits with 0 when every component is ready, and with 1 otherwise. A component that runs but does not respond is stuck;\n' +
    'the output says since when.',
  flags,
  examples: [
    ['skiff status', 'The cluster "default"'],
    ['skiff status --all', 'All clusters'],
    ['skiff status -o json', 'For scripts'],
  ],
  run: async (context, { flags: given }) => {
    if (given.all) return listAll(context, given.output === 'json')
    return await withCluster(context, given.name, async (cluster) => {
      const { terminal, clock } = context
      const askedMs = clock.now()
      const [states, members] = await Promise.all([
        nodeStates(cluster),
        memberStates({ ...cluster, clock }),
      ])
      const { components: seen, ends } = await cluster.control.call('status', {})
      const components = withSilence(seen, { states, askedMs, front: frontOf(cluster.config) })
      const isReady = components.every((one) => one.state === 'ready')
      const { name, dialect } = cluster.config
      if (given.output === 'json') {
        const nodes = Object.fromEntries(states instanceof Map ? states : [])
        const stuck = components
          .filter(({ state }) => state === 'stuck')
          .map((one) => ({ name: one.name, since: timestamp(one.sinceMs) }))
        const all = {
          name,
          server: cluster.server,
          dialect,
          ready: isReady,
          stuck,
          components,
          nodes,
          etcdMembers: members,
          ends,
        }
        terminal.out(`${JSON.stringify(all)}\n`)
      } else {
        terminal.out(`${name}: ${cluster.server}\n\n`)
        const more = { states, nowMs: clock.now(), colors: terminal.outColors }
        terminal.out(describe(cluster, components, more))
        terminal.out(membersText(members))
        const stuck = stuckText(components, nameFlagOf(name), clock.now())
        terminal.out(asTyped(stuck, context.program))
        if (ends !== undefined) terminal.out(`\n${endText(ends, clock.now())}\n`)
      }
      return isReady ? exitCodes.ok : exitCodes.failed
    })
  },
})
