/**
 * Drill: three members of etcd, API servers and clients on hosts of their own, and faults by plan; then every rule is held
 * against what the clients saw.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Commits } from '../histories/commits.ts'
import { judgeHistory } from '../histories/judge-history.ts'
import { isWrite } from '../histories/operation.ts'
import { eventually } from '../support/eventually.ts'
import { CommitFeed } from './commit-feed.ts'
import { Connections } from './connections.ts'
import { clientsHost, startFault, type Place } from './faults.ts'
import { Members } from './members.ts'
import { Network } from './network.ts'
import { eachFault, manyFaults, type Fault } from './plan.ts'
import { namespace, Recorder } from './recorder.ts'
import type { DrillOptions, DrillReport } from './report.ts'
import { Servers } from './servers.ts'
import { startTraffic, type Traffic } from './traffic.ts'

/** Everything works again by then, or never. */
const recoveryMs = 60_000

/** `note` gets a line about each fault. */
export async function runDrill(
  options: DrillOptions,
  note: (line: string) => void,
): Promise<DrillReport> {
  const { seed, servers: count, program, writers, faultsMs } = options
  const network = new Network(clientsHost)
  const members = new Members(network, '/run/etcd')
  const names = Array.from({ length: count }, (_, at) => `a${at + 1}`)
  const { urls } = members
  const servers = new Servers({ network, names, program, folder: '/run/pki', urls })
  await members.start()
  const feed = new CommitFeed(urls, namespace)
  try {
    await servers.start()
    await createNamespace(servers)
    const recorder = new Recorder()
    await using traffic = startTraffic({ seed, writers, servers, recorder })
    const plan = faultsMs === undefined ? eachFault(seed) : manyFaults(seed, faultsMs)
    const place = { network, members, servers, feed }
    await runFaults(place, plan, note)
    const healedMs = performance.now()
    await eventually(async () => await traffic.writeEverywhere(), recoveryMs)
    const recoveredMs = performance.now() - healedMs
    return {
      ...{ seed, faults: plan.length, replacements: members.replacements },
      recoveryMs: Math.round(recoveredMs),
      ...(await judgeTraffic(place, { recorder, traffic })),
    }
  } finally {
    await Promise.all([servers.stop(), members.stop(), feed.stop()])
  }
}

async function createNamespace(servers: Servers): Promise<void> {
  using connections = new Connections(servers)
  await eventually(async () => {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }
    const { api } = connections.to(0)
    const { status, text } = await api.request('POST', '/api/v1/namespaces', { body })
    if (status !== 201 && status !== 409) throw new Error(`no namespace: ${text}`)
  })
}

async function runFaults(
  place: Place,
  plan: readonly Fault[],
  note: (line: string) => void,
): Promise<void> {
  const { members, servers } = place
  const undone: Promise<void>[] = []
  for (const fault of plan) {
    const began = performance.now()
    const undo = await startFault(place, fault)
    note(`${fault.kind} (${fault.which}) for ${fault.forMs} ms`)
    undone.push(delay(fault.forMs).then(async () => void (await undo())))
    await delay(Math.max(0, fault.nextAfterMs - (performance.now() - began)))
  }
  await Promise.all(undone)
  // The last stop of a slow member ends later.
  await delay(300)
  for (const part of [members, servers]) {
    for (const name of part.names) {
      part.signal(name, 'SIGCONT')
      await part.ensure(name)
    }
  }
}

/** Stops the traffic when all has come through, and judges it. */
async function judgeTraffic(
  { members, servers, feed }: Place,
  { recorder, traffic }: { recorder: Recorder; traffic: Traffic },
): Promise<Omit<DrillReport, 'seed' | 'faults' | 'replacements' | 'recoveryMs'>> {
  await traffic.stopClients()
  const newest = await traffic.readEverywhere()
  const all = await feed.upTo(newest)
  const lastRevision = all.at(-1)?.revision ?? 0
  const violations: string[] = [...servers.faults, ...recorder.oddities]
  await traffic.stopWatchers(lastRevision).catch((error: unknown) => violations.push(String(error)))
  const hashes = await eventually(async () => {
    // A member that joins while it is cut off from the others ends.
    for (const name of members.names) members.ensure(name)
    return await members.hashes(newest)
  })
  if (new Set(hashes).size > 1) violations.push(`the members of etcd differ: ${hashes.join(', ')}`)
  const commits = new Commits(all)
  const { operations, lists, watches } = recorder
  const judgement = judgeHistory({ operations, lists, watches, commits })
  violations.push(...judgement.violations)
  const items = watches.flatMap((watch) => watch.items)
  const bookmarks = items.filter(({ type }) => type === 'BOOKMARK').length
  const unknown = operations.filter((one) => isWrite(one) && one.outcome.result === 'unknown')
  const values = new Set(all.map(({ value }) => value))
  return {
    operations: operations.length,
    acknowledgedWrites: operations.filter(({ outcome: { result } }) => {
      return result === 'written' || result === 'deleted'
    }).length,
    unknownWrites: unknown.length,
    committedUnknowns: unknown.filter(({ request }) => {
      return 'value' in request && values.has(request.value)
    }).length,
    lists: lists.length,
    watches: watches.length,
    watchEvents: items.length - bookmarks,
    bookmarks,
    commits: all.length,
    relists: traffic.relists,
    violations,
    undecided: judgement.undecided,
  }
}
